"""The http step's handler against nginx: what a real server does with connections, bodies, redirects and TLS."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from aslant.errors import (
    AuthenticationError,
    AuthorizationError,
    HttpError,
    NetworkError,
    NotFoundError,
    PayloadTooLarge,
    RateLimited,
    ServerError,
    StepTimeout,
)
from tests.services.conftest import Call
from tests.services.servers import Authority, Nginx, ended, free_ports, nginx

BIG = 3_000_000  # bytes of a file beyond the limits that the tests set


def servers(root: Path, plain: int, other: int, tls: int, wrong_name: int, expired: int) -> str:
    def secure(port: int, name: str) -> str:
        return (f"server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {root}/{name}.pem; "
            f"ssl_certificate_key {root}/{name}.key; location / {{ default_type text/plain; return 200 secure; }} "
            f"location /down {{ return 302 http://127.0.0.1:{other}/landed; }} }}")

    return f"""
  server {{
    listen 127.0.0.1:{plain};
    location /json {{ default_type application/json; return 200 '{{"port": "$server_port", "query": "$args"}}'; }}
    location /packed/ {{ gzip on; gzip_types *; gzip_min_length 1; }}
    location /static/ {{ gzip_static off; add_header Content-Encoding gzip; default_type application/json; }}
    location /chunked/ {{ ssi on; ssi_types *; }}
    location /unframed/ {{ ssi on; ssi_types *; chunked_transfer_encoding off; }}
    location /one-each {{ keepalive_requests 1; default_type text/plain; return 200 "$connection_requests"; }}
    location /at-once {{ keepalive_timeout 0; default_type text/plain; return 200 "$connection_requests"; }}
    location /empty {{ return 204; }}
    location /busy {{ add_header Retry-After 7 always; return 503 "come back"; }}
    location /limited {{ add_header Retry-After "Fri, 01 Jan 2100 00:00:00 GMT" always; return 429; }}
    location /slow/ {{ limit_rate 1k; }}
    location /hang-up {{ return 444; }}
    location /members/ {{
      auth_basic members; auth_basic_user_file {root}/users; default_type text/plain;
      try_files /nothing @welcome;
    }}
    location @welcome {{ default_type text/plain; return 200 "welcome $remote_user"; }}
    location /relative {{ return 302 /json?from=relative; }}
    location /deep/up {{ return 301 ../json; }}
    location /across {{ return 307 http://127.0.0.1:{other}/landed; }}
    location /see-other {{ return 303 http://127.0.0.1:{other}/landed; }}
    location /inward {{ return 302 http://127.0.0.2:{other}/landed; }}
    location /for-ever {{ return 302 /for-ever; }}
    location /no-file {{ return 302 file:///etc/hostname; }}
  }}
  server {{ listen 127.0.0.1:{other}; listen 127.0.0.2:{other};
    location /landed {{ default_type text/plain; return 200 "$request_method $server_port"; }} }}
  {secure(tls, "good")}
  {secure(wrong_name, "other")}
  {secure(expired, "expired")}
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    authority = Authority(tmp_path_factory.mktemp("http"))
    authority.issue("good", "127.0.0.1", "localhost")
    authority.issue("other", "shop.example")
    authority.issue("expired", "127.0.0.1", days=-1)
    return authority


@pytest.fixture(scope="module")
def web(authority: Authority) -> Iterator[Nginx]:
    root = authority.folder
    (root / "users").write_text("ann:{PLAIN}s3cret-word\n")
    for folder in ("packed", "static", "chunked", "unframed", "slow"):
        (root / "www" / folder).mkdir(parents=True)
    for folder in ("packed", "chunked", "unframed"):
        (root / "www" / folder / "list.json").write_text(json.dumps({"rows": [1] * 2000}))
    (root / "www" / "static" / "bomb").write_bytes(gzip.compress(bytes(BIG)))
    (root / "www" / "static" / "two-members").write_bytes(gzip.compress(b'{"a": ') + gzip.compress(b"1}"))
    (root / "www" / "static" / "cut").write_bytes(gzip.compress(b'{"a": 1}' * 99)[:-9])
    (root / "www" / "static" / "not-gzip").write_bytes(b'{"a": 1}')
    (root / "www" / "big.txt").write_bytes(b"x" * BIG)
    (root / "www" / "slow" / "file.txt").write_bytes(b"x" * 100_000)
    with nginx(root, 5, servers) as server:
        yield server


def test_a_body_in_one_piece(web: Nginx, call: Call) -> None:
    output = call(f"{web.url}/json", query={"a": "x y", "b": [1, 2]})
    assert (output["status_code"], output["body"]) == (200, {"port": str(web.ports[0]), "query": "a=x+y&b=1&b=2"})
    assert output["headers"]["server"].startswith("nginx/")


def test_a_body_that_nginx_compresses_while_it_sends(web: Nginx, call: Call) -> None:
    output = call(f"{web.url}/packed/list.json")
    assert (output["headers"]["content-encoding"], output["headers"]["transfer-encoding"]) == ("gzip", "chunked")
    assert output["body"] == {"rows": [1] * 2000}


def test_compressed_bodies_in_two_members_cut_short_and_not_compressed_at_all(web: Nginx, call: Call) -> None:
    assert call(f"{web.url}/static/two-members")["body"] == {"a": 1}
    for name in ("cut", "not-gzip"):
        with pytest.raises(NetworkError, match="cannot be decompressed"):
            call(f"{web.url}/static/{name}")


def test_a_body_in_chunks(web: Nginx, call: Call) -> None:
    output = call(f"{web.url}/chunked/list.json")
    assert output["headers"]["transfer-encoding"] == "chunked"
    assert "content-encoding" not in output["headers"]
    assert output["body"] == {"rows": [1] * 2000}


def test_a_body_that_ends_with_the_connection(web: Nginx, call: Call) -> None:
    output = call(f"{web.url}/unframed/list.json")
    assert not {"transfer-encoding", "content-length", "content-encoding"} & set(output["headers"])
    assert output["headers"]["connection"] == "close"
    assert output["body"] == {"rows": [1] * 2000}


def test_a_server_that_speaks_http_1_0(tmp_path: Path, call: Call) -> None:
    (tmp_path / "old.json").write_text('{"old": true}')
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--protocol", "HTTP/1.0", "0"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    try:
        assert process.stdout is not None
        announced = re.search(r"port (\d+)", process.stdout.readline())
        assert announced is not None
        port = int(announced[1])
        with socket.create_connection(("127.0.0.1", port), 5) as raw:
            raw.sendall(b"HEAD /old.json HTTP/1.0\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.0 200")
        assert call(f"http://127.0.0.1:{port}/old.json")["body"] == {"old": True}
        with pytest.raises(NotFoundError):
            call(f"http://127.0.0.1:{port}/new.json")
    finally:
        ended(process)
        if process.stdout is not None:
            process.stdout.close()


def test_connections_that_nginx_closes_after_each_answer_or_keeps(web: Nginx, call: Call) -> None:
    for path, connection in (("/one-each", "close"), ("/at-once", "close"), ("/json", "keep-alive")):
        for _ in range(2):
            assert call(web.url + path)["headers"]["connection"] == connection
        assert [row["nth_of_connection"] for row in web.logged(path, 2)[-2:]] == [1, 1], "nothing is kept in between"


def test_no_content_and_head(web: Nginx, call: Call) -> None:
    nothing = call(f"{web.url}/empty", method="DELETE")
    assert (nothing["status_code"], nothing["body"]) == (204, None)
    head = call(f"{web.url}/big.txt", method="HEAD", max_response_bytes=10)
    assert (head["status_code"], head["headers"]["content-length"], head["body"]) == (200, str(BIG), None)
    assert call(f"{web.url}/packed/list.json", method="HEAD")["headers"]["content-encoding"] == "gzip"


def test_statuses_become_errors_with_what_the_server_asks_for(web: Nginx, call: Call) -> None:
    with pytest.raises(NotFoundError, match=r"step fetch: GET http://127\.0\.0\.1:\d+/nowhere answered 404"):
        call(f"{web.url}/nowhere?token=abc")
    with pytest.raises(ServerError, match="answered 503: come back") as busy:
        call(f"{web.url}/busy")
    assert busy.value.retry_after == 7
    with pytest.raises(RateLimited) as limited:
        call(f"{web.url}/limited")
    assert limited.value.retry_after == 86_400, "a date too far away is cut to a day"
    assert call(f"{web.url}/nowhere", expected_status=["2xx", 404])["status_code"] == 404


def test_basic_auth(web: Nginx, call: Call) -> None:
    address = f"{web.url}/members/list"
    known = {"type": "basic", "username": "ann", "password": "s3cret-word"}
    assert call(address, auth=known)["body"] == "welcome ann"
    for auth in (None, {**known, "password": "s3cret-wort"}, {**known, "username": "bob"}):
        with pytest.raises(AuthenticationError) as refused:
            call(address, auth=auth)
        assert "s3cret" not in str(refused.value)
        assert base64.b64encode(b"ann:").decode()[:4] not in str(refused.value)


def test_relative_redirects(web: Nginx, call: Call) -> None:
    assert call(f"{web.url}/relative")["body"]["query"] == "from=relative"
    assert call(f"{web.url}/deep/up")["body"]["query"] == ""
    stays = call(f"{web.url}/relative", follow_redirects=False, expected_status=302)
    assert stays["headers"]["location"] == "/json?from=relative"
    with pytest.raises(HttpError, match="answered 302"):
        call(f"{web.url}/relative", follow_redirects=False)


def test_a_redirect_to_another_port_keeps_method_and_body_but_no_secrets(web: Nginx, call: Call) -> None:
    before = len(web.seen("/landed"))
    output = call(f"{web.url}/across", method="POST", json={"a": 1}, headers={"X-Secret": "hush"},
        auth={"type": "bearer", "token": "t0ken"})
    assert output["body"] == f"POST {web.ports[1]}"
    first, landed = web.logged("/across")[-1], web.logged("/landed", before + 1)[-1]
    assert (first["authorization"], first["secret"], first["length"]) == ("Bearer t0ken", "hush", "7")
    assert (landed["authorization"], landed["secret"], landed["length"]) == ("", "", "7")
    assert landed["content_type"] == "application/json"


def test_see_other_becomes_a_get_without_body(web: Nginx, call: Call) -> None:
    before = len(web.seen("/landed"))
    assert call(f"{web.url}/see-other", method="POST", json={"a": 1})["body"] == f"GET {web.ports[1]}"
    landed = web.logged("/landed", before + 1)[-1]
    assert (landed["length"], landed["content_type"]) == ("", "")


def test_redirects_cannot_leave_what_is_allowed(web: Nginx, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuthorizationError, match=r"127\.0\.0\.2:\d+/landed leads to an address that is not public"):
        call(f"{web.url}/inward")
    with pytest.raises(HttpError, match="more than 10 redirects"):
        call(f"{web.url}/for-ever")
    with pytest.raises(Exception, match="must start with http") as refused:
        call(f"{web.url}/no-file")
    assert type(refused.value).__name__ == "ValidationError"
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.0/8")
    assert call(f"{web.url}/inward")["body"] == f"GET {web.ports[1]}"
    monkeypatch.delenv("ASLANT_HTTP_ALLOW")
    with pytest.raises(AuthorizationError, match="ASLANT_HTTP_ALLOW"):
        call(f"{web.url}/json")


def test_bodies_beyond_a_limit(web: Nginx, call: Call) -> None:
    with pytest.raises(PayloadTooLarge, match="sent more than 100,000 bytes"):
        call(f"{web.url}/big.txt", max_response_bytes=100_000)
    with pytest.raises(PayloadTooLarge, match="sent more than 1,000,000 bytes"):
        call(f"{web.url}/static/bomb", max_response_bytes=1_000_000)
    assert (web.www / "static" / "bomb").stat().st_size < 10_000, "the limit counts what a body becomes"
    whole = call(f"{web.url}/big.txt", max_response_bytes=10_000_000)
    assert "$ref" in json.dumps(whole), "what a state cannot hold is stored, and named"


def test_a_slow_body_ends_with_the_time_limit(web: Nginx, call: Call) -> None:
    started = time.monotonic()
    with pytest.raises(StepTimeout, match="did not answer in time"):
        call(f"{web.url}/slow/file.txt", timeout=1.5)
    # At 1 kB each second, the file takes 100 seconds.
    assert 1 <= time.monotonic() - started < 20


def test_connections_that_are_refused_or_closed_without_an_answer(web: Nginx, call: Call) -> None:
    with pytest.raises(NetworkError, match="the connection failed"):
        call(f"{web.url}/hang-up")
    with pytest.raises(NetworkError, match="the connection failed"):
        call(f"http://127.0.0.1:{free_ports(1)[0]}/")


def test_a_body_that_breaks_off_behind_a_proxy(tmp_path: Path, call: Call) -> None:
    """nginx passes on an answer of 1,000 bytes whose sender goes away after 9."""
    with closing(socket.create_server(("127.0.0.1", 0))) as backend:

        def answer_in_part() -> None:
            connection, _ = backend.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"half\": ")

        thread = threading.Thread(target=answer_in_part, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{backend.getsockname()[1]}"
        with nginx(tmp_path, 1, lambda root, port: (
            f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {address}; }} }}"
        )) as proxy, pytest.raises(NetworkError, match="the connection failed"):
            call(f"{proxy.url}/")
        thread.join(20)


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSL's own setting for a file of authorities; the step has no other."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))


@pytest.mark.usefixtures("trusted")
def test_tls_with_a_certificate_of_an_authority_that_is_trusted(web: Nginx, call: Call) -> None:
    for host in ("127.0.0.1", "localhost"):
        assert call(f"https://{host}:{web.ports[2]}/")["body"] == "secure"
    assert call(f"https://127.0.0.1:{web.ports[2]}/down")["body"] == f"GET {web.ports[1]}"


def test_tls_with_a_certificate_that_nobody_vouches_for(web: Nginx, call: Call) -> None:
    with pytest.raises(NetworkError, match="the TLS connection failed: unable to get local issuer certificate"):
        call(f"https://127.0.0.1:{web.ports[2]}/")


@pytest.mark.usefixtures("trusted")
def test_tls_with_a_certificate_of_another_host_or_of_yesterday(web: Nginx, call: Call) -> None:
    for port, cause in zip(web.ports[3:], ("the certificate is not for this host", "certificate has expired"), strict=True):
        with pytest.raises(NetworkError, match=cause):
            call(f"https://127.0.0.1:{port}/")


def test_tls_and_plain_ports_that_are_mixed_up(web: Nginx, call: Call) -> None:
    with pytest.raises(NetworkError, match="the TLS connection failed: .+"):
        call(f"https://127.0.0.1:{web.ports[0]}/json")
    with pytest.raises(HttpError, match="answered 400"):
        call(f"http://127.0.0.1:{web.ports[2]}/")
