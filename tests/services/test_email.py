"""email steps against a real mail server."""

from __future__ import annotations

import email
import socket
import textwrap
import threading
from collections.abc import Callable, Iterator
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap
from functions.steps.email.handler import handler
from infra.local.runner import run
from tests.services.mail import PASSWORD, USER, MailServer, mail_server
from tests.services.servers import Authority
from tests.unit.runtime.fakes import ForgetfulSteps, MemoryArtifacts
from translator.pipeline import Source, compile_sources

Send = Callable[..., dict[str, Any]]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A certificate for 127.0.0.1 and localhost, of an authority that the steps trust."""
    authority = Authority(tmp_path)
    authority.issue("mail", "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1,localhost")
    return str(tmp_path / "mail.pem"), str(tmp_path / "mail.key")


@pytest.fixture
def server(files: tuple[str, str]) -> Iterator[MailServer]:
    with mail_server(*files) as each:
        yield each


@pytest.fixture
def send(monkeypatch: pytest.MonkeyPatch) -> Send:
    """Calls the handler as Lambda does: `send(port, to=…)` -> the output. A file `report.csv` is in the bucket."""
    store = MemoryArtifacts()
    store.put("t", "e-1", "report.csv", b"a,b\n")
    monkeypatch.setattr(bootstrap, "artifacts", lambda settings: store)
    steps = ForgetfulSteps()
    monkeypatch.setattr(bootstrap, "steps", lambda settings: steps)

    def call(port: int, smtp: dict[str, Any] | None = None, limit: float = 30, **config: Any) -> dict[str, Any]:
        login = {"username": USER, "password": PASSWORD}
        event = {"step": "tell", "type": "email", "execution": {"id": "e-1", "tenant": "t", "workflow": "w"}, "attempt": 0,
            "timeout": limit, "config": {"to": "ada@example.com", "from": "Bot <bot@example.com>", "subject": "Grüße",
                "body": "All is well.", "smtp": {"host": "127.0.0.1", "port": port, **login, **(smtp or {})}, **config}}
        output = handler(event, None)["output"]
        assert isinstance(output, dict)
        return output

    return call


def failed(send: Send, *arguments: Any, **more: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        send(*arguments, **more)
    assert PASSWORD not in str(caught.value)
    return type(caught.value).__name__, str(caught.value)


def test_a_letter_arrives_encrypted_and_complete(server: MailServer, send: Send) -> None:
    output = send(server.port, cc="Bob <bob@example.com>", bcc="carl@example.com", html="<p>All is <b>well</b>.</p>",
        attachments="report.csv", body="First\r\n.\r\nMAIL FROM:<evil@example.com>\n..two dots")
    (letter,) = server.letters
    assert letter.mail_from == "bot@example.com"
    assert letter.rcpt_tos == ["ada@example.com", "bob@example.com", "carl@example.com"]
    assert isinstance(letter.content, bytes) and b"carl" not in letter.content
    message = email.message_from_bytes(letter.content, policy=default)
    assert (message["From"], message["Subject"], message["Cc"]) == ("Bot <bot@example.com>", "Grüße", "Bob <bob@example.com>")
    plain = message.get_body(("plain",))
    assert plain is not None
    assert plain.get_content().splitlines() == ["First", ".", "MAIL FROM:<evil@example.com>", "..two dots"]
    assert [part.get_filename() for part in message.iter_attachments()] == ["report.csv"]
    assert output["message_id"] == message["Message-ID"]
    assert (server.users, server.encrypted, output["refused"]) == ([USER], [True], [])


def test_tls_from_the_start(files: tuple[str, str], send: Send) -> None:
    with mail_server(*files, tls=True) as server:
        send(server.port, {"security": "tls"})
        assert len(server.letters) == 1


def test_a_relay_without_login_and_encryption(files: tuple[str, str], send: Send) -> None:
    with mail_server(*files, starttls=False, login=False) as server:
        send(server.port, {"security": "none", "username": "", "password": ""})
        name, message = failed(send, server.port)
        assert len(server.letters) == 1 and server.users == []
    assert name == "ValidationError" and "STARTTLS" in message


def test_a_wrong_password(server: MailServer, send: Send) -> None:
    name, _ = failed(send, server.port, {"password": "wrong-word"})
    assert (name, server.letters) == ("AuthenticationError", [])


def test_nothing_is_said_to_a_server_whose_certificate_is_not_trusted(
    server: MailServer, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert failed(send, server.port, {"host": "localhost"})[0] == "NetworkError"  # the certificate is for 127.0.0.1
    monkeypatch.delenv("SSL_CERT_FILE")
    name, message = failed(send, server.port)
    assert name == "NetworkError" and "certificate" in message
    assert (server.users, server.letters) == ([], [])


def test_private_addresses_are_refused(server: MailServer, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "")
    for host in ("127.0.0.1", "localhost", "::1", "0x7f.1"):
        assert failed(send, server.port, {"host": host})[0] == "AuthorizationError"


@pytest.mark.parametrize(("answers", "name"), [
    ({"RCPT": "550 no such user"}, "ValidationError"), ({"RCPT": "451 later"}, "ServerError"),
    ({"DATA": "554 spam"}, "ValidationError"), ({"DATA": "552 too much"}, "PayloadTooLarge"), ({"DATA": "421 busy"}, "ServerError"),
])
def test_refusals_have_their_class(server: MailServer, send: Send, answers: dict[str, str], name: str) -> None:
    server.answers.update(answers)
    kind, message = failed(send, server.port)
    assert kind == name and next(iter(answers.values())) in message


def test_one_recipient_of_two_is_refused(server: MailServer, send: Send) -> None:
    server.answers["bob@example.com"] = "550 gone"
    assert send(server.port, to=["ada@example.com", "bob@example.com"])["refused"] == ["bob@example.com"]
    assert server.letters[0].rcpt_tos == ["ada@example.com"]


def test_a_letter_that_the_server_finds_too_large(server: MailServer, send: Send) -> None:
    assert failed(send, server.port, body="x" * 200_000)[0] == "PayloadTooLarge"


def test_servers_that_do_not_talk(files: tuple[str, str], send: Send) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert failed(send, port, limit=1)[0] == "StepTimeout"

        def drip() -> None:
            connection, _ = listener.accept()  # of the first call
            connection.close()
            connection, _ = listener.accept()
            with connection:
                for _ in range(200):
                    try:
                        connection.sendall(b"2")
                    except OSError:
                        return
                    if stop.wait(0.1):
                        return

        stop = threading.Event()
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        assert failed(send, port, limit=1)[0] == "StepTimeout"
        stop.set()
        thread.join(10)
    assert failed(send, port)[0] == "NetworkError"


def test_a_workflow_sends_a_letter_with_a_secret_password(server: MailServer) -> None:
    text = textwrap.dedent("""
        dialect: canonical
        name: report
        inputs: {port: {type: integer, required: true}, who: {type: string, required: true}}
        steps:
          - id: tell
            type: email
            config:
              to: "{{ input.who }}"
              from: bot@example.com
              subject: "Report for {{ input.who }}"
              body: "All is well, {{ input.who }}."
              smtp: {host: 127.0.0.1, port: "{{ input.port }}", username: robot, password: "{{ secrets.mail }}"}
        outputs: {sent: "{{ steps.tell.output.sent }}", refused: "{{ steps.tell.output.refused }}"}
    """)
    compilations = compile_sources([Source(text, "report.yaml")])
    result = run(compilations, {"port": server.port, "who": "ada@example.com"}, secrets={"mail": PASSWORD}, timeout=60)
    assert (result.status, result.error) == ("completed", None)
    assert result.output == {"sent": True, "refused": []}
    assert server.letters[0].rcpt_tos == ["ada@example.com"]
