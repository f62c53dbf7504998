"""email steps: SES and S3 by moto, mail servers by a port in memory."""

from __future__ import annotations

import email
import json
from email.header import decode_header, make_header
from email.policy import default

import boto3
import pytest

from aslant import bootstrap
from aslant.adapters import ses_post
from aslant.configs.check import check_config
from aslant.errors import ServerError
from functions.steps.email.handler import handler
from functions.steps.email.message import mailbox

CONFIG = {"to": "ada@example.com", "subject": "Done", "body": "All is well."}


@pytest.fixture
def run(invocation):
    return lambda config, **more: handler(invocation("email", config, iteration=[1], **more), None)["output"]


@pytest.fixture
def sent(aws, monkeypatch):
    """Messages that SES got: (destinations, parsed message)."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.ses import ses_backends

    boto3.client("ses").verify_email_identity(EmailAddress="bot@example.com")
    boto3.client("s3").create_bucket(Bucket="aslant-artifacts")
    monkeypatch.setenv("ASLANT_EMAIL_FROM", "bot@example.com")

    def read():
        messages = ses_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].sent_messages
        return [(each.destinations, email.message_from_string(each.raw_data, policy=default)) for each in messages]

    return read


def store(key, data):
    boto3.client("s3").put_object(Bucket="aslant-artifacts", Key=key, Body=data)


class Letters:
    """A mail server that keeps what it gets."""

    def __init__(self, error=None, refused=()):
        self.error, self.refused, self.letters = error, refused, []

    def carry(self, envelope, message, timeout):
        self.letters.append((envelope, email.message_from_bytes(message, policy=default), message))
        if self.error:
            raise self.error
        return "", self.refused


@pytest.fixture
def letters(monkeypatch):
    port = Letters()
    monkeypatch.setattr(bootstrap, "smtp_post", lambda settings, smtp: port)
    return port


SMTP = {"from": "me@example.com", "smtp": {"host": "mail.example.com", "username": "me", "password": "pass-word-1"}}


def test_text_html_copies_and_answers(run, sent):
    output = run({**CONFIG, "html": "<p>Grüße</p>", "to": ["Ada Löve <ada@example.com>", "bob@example.com"],
                  "cc": "carl@example.com", "bcc": ["dora@example.com"], "reply_to": "desk@example.com", "subject": "Grüße\n ab"})
    ((destinations, message),) = sent()
    assert {"ada@example.com", "bob@example.com", "carl@example.com", "dora@example.com"} <= set(destinations)
    assert message["To"] == "Ada Löve <ada@example.com>, bob@example.com"
    assert (message["From"], message["Cc"], message["Reply-To"]) == ("bot@example.com", "carl@example.com", "desk@example.com")
    assert message["Bcc"] is None and "dora" not in message.as_string()
    assert message["Subject"] == "Grüße ab"
    assert message.get_content_type() == "multipart/alternative"
    assert message.get_body(("plain",)).get_content().split() == ["All", "is", "well."]
    assert message.get_body(("html",)).get_content().strip() == "<p>Grüße</p>"
    assert output["message_id"] and output["by"] == "ses" and output["bcc"] == ["dora@example.com"]


@pytest.mark.parametrize(("body", "kind"), [
    ("<p>Hello</p>", "text/html"), ("<!DOCTYPE html><p>", "text/html"), ("< 5 items", "text/plain"), ("<3 you", "text/plain"),
])
def test_a_body_that_starts_with_a_tag_is_html(run, sent, body, kind):
    run({**CONFIG, "body": body})
    assert sent()[0][1].get_content_type() == kind


def test_attachments_come_from_the_bucket_of_the_tenant(run, sent, failure):
    store("acme/exec-1/report.csv", b"a,b\n1,2\n")
    store("acme/exec-0/screens/page%201.png", b"\x89PNG")
    store("other/exec-1/report.csv", b"not yours")
    output = run({**CONFIG, "attachments": [
        "report.csv", {"artifact": "acme/exec-0/screens/page%201.png", "name": "../a\r\nb\".png", "bytes": 4},
    ]})
    parts = list(sent()[0][1].iter_attachments())
    assert [(part.get_filename(), part.get_content_type(), part.get_payload(decode=True)) for part in parts] == [
        ("report.csv", "text/csv", b"a,b\n1,2\n"), ("a_b_.png", "image/png", b"\x89PNG")]
    assert output["attachments"][0] == {"name": "report.csv", "content_type": "text/csv", "bytes": 8}
    for key in ("other/exec-1/report.csv", "../other/exec-1/report.csv", "acme/../other/exec-1/report.csv", "/etc/passwd"):
        name, message = failure({**CONFIG, "attachments": key})
        assert name == "NotFoundError" and message.startswith("step s[1]: attachment ")
    assert len(sent()) == 1


def test_attachments_are_bounded(failure, sent, monkeypatch):
    monkeypatch.setattr("functions.steps.email.logic.MOST_BYTES", 10)
    store("acme/exec-1/a", b"123456")
    store("acme/exec-1/b", b"12345")
    assert failure({**CONFIG, "attachments": ["a", "b"]})[0] == "PayloadTooLarge"
    assert "21 attachments" in failure({**CONFIG, "attachments": ["a"] * 21})[1]
    assert failure({**CONFIG, "attachments": [{"artifact": "a", "content_type": "text/plain\r\nX: y"}]})[0] == "ValidationError"
    assert sent() == []


def test_structured_kinds_of_content_are_attached_as_bytes(run, sent):
    store("acme/exec-1/mail.eml", b"From: x\n\n")
    run({**CONFIG, "attachments": [{"artifact": "mail.eml", "content_type": "message/rfc822"}]})
    (part,) = sent()[0][1].iter_attachments()
    assert part.get_content_type() == "application/octet-stream"


@pytest.mark.parametrize("text", [
    "nobody", "a@b@c", "a@example.com\r\nBcc: x@example.com", "a@example.com, b@example.com", "a@-x.com", "a@ex ample.com",
    "x\r\nBcc: y@example.com <a@example.com>", "a@example.com\n", "<a@example.com", "a\0@example.com", "é@example.com",
    "a" * 65 + "@example.com", ".a@example.com", "a@" + "b." * 140 + "c", "a@\u2028.com", "a@b.com <c@d.com>",
])
def test_texts_that_are_no_address(failure, sent, text):
    for field in ("to", "cc", "bcc", "reply_to"):
        assert failure({**CONFIG, field: [text]})[0] == "ValidationError"
    assert failure({**CONFIG, **SMTP, "from": text})[0] == "ValidationError"
    assert sent() == []


def test_texts_that_are_addresses():
    assert mailbox("Ada \"L\" <ada+x@example.co.uk>") == ("Ada \"L", "ada+x@example.co.uk")
    assert mailbox("ada@bücher.example") == ("", "ada@xn--bcher-kva.example")
    assert mailbox("root@localhost") == ("", "root@localhost")


@pytest.mark.parametrize("field", ["subject", "body", "html"])
@pytest.mark.parametrize("text", ["x\r\nBcc: evil@example.com", "x\n\nBcc: evil@example.com", "x\rBcc: evil@example.com",
    "x\u2028Bcc: evil@example.com", "x\x0bBcc: evil@example.com", "x\x00y", "=?utf-8?q?x=0ABcc:_evil?=", "\ud800", "é" * 800])
def test_no_text_becomes_a_header(run, letters, field, text):
    run({**CONFIG, **SMTP, field: text})
    envelope, message, raw = letters.letters[0]
    assert envelope.recipients == ["ada@example.com"]
    assert set(message.keys()) <= {"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Content-Type",
        "Content-Transfer-Encoding", "MIME-Version"}
    head = raw.partition(b"\r\n\r\n")[0]
    assert b"\nBcc" not in head and b"\r" not in raw.replace(b"\r\n", b"") and b"\n" not in raw.replace(b"\r\n", b"")
    assert max(map(len, raw.split(b"\r\n"))) <= 998 and raw.isascii()


def test_a_name_is_no_way_into_the_headers_either(run, letters):
    name = "=?utf-8?q?x=0ABcc=3A_evil=40example.com?="
    run({**CONFIG, **SMTP, "to": f"{name} <ada@example.com>", "from": f"{name} <me@example.com>",
         "reply_to": [f"Ü {name} <r@example.com>"] * 3})
    message = email.message_from_bytes(letters.letters[0][2])  # as it is on the wire, nothing decoded
    assert message["Bcc"] is None and len(message.get_all("To")) == 1
    assert letters.letters[0][0].recipients == ["ada@example.com"]


def test_a_subject_arrives_as_it_was_written(run, letters):
    for subject in ("=?utf-8?q?abc?=", "Grüße " * 100, "a =? b", "x" * 900):
        run({**CONFIG, **SMTP, "subject": subject})
        raw = email.message_from_bytes(letters.letters[-1][2])["Subject"]
        assert str(make_header(decode_header(raw))) == subject.strip()


def test_too_many_recipients_and_too_long_a_subject(failure, sent):
    assert "51 recipients" in failure({**CONFIG, "to": [f"p{n}@example.com" for n in range(51)]})[1]
    assert "901 characters" in failure({**CONFIG, "subject": "x" * 901})[1]
    assert failure({**CONFIG, "to": []})[0] == "ValidationError"


def test_senders(run, failure, sent, monkeypatch):
    name, message = failure({**CONFIG, "from": "boss@example.org"})
    assert name == "AuthorizationError" and "ASLANT_EMAIL_SENDERS" in message
    monkeypatch.setenv("ASLANT_EMAIL_SENDERS", "@example.org, me@example.net")
    boto3.client("ses").verify_email_identity(EmailAddress="boss@example.org")
    run({**CONFIG, "from": "The Boss <boss@example.org>"})
    assert sent()[0][1]["From"] == "The Boss <boss@example.org>"
    assert failure({**CONFIG, "from": "me@example.net"})[0] == "ValidationError"  # SES has not verified it
    assert failure({**CONFIG, "from": "x@sub.example.org"})[0] == "AuthorizationError"
    monkeypatch.delenv("ASLANT_EMAIL_FROM")
    assert "ASLANT_EMAIL_FROM" in failure(CONFIG)[1]


def test_a_template_is_filled_by_ses(run, sent, monkeypatch):
    from botocore.stub import Stubber

    store("acme/exec-1/a.txt", b"hi")
    client = boto3.client("sesv2")
    monkeypatch.setattr(ses_post, "client", lambda *a: client)
    with Stubber(client) as stub:
        stub.add_response("send_email", {"MessageId": "m-1"}, {
            "FromEmailAddress": "bot@example.com", "ReplyToAddresses": ["desk@example.com"],
            "Destination": {"ToAddresses": ["ada@example.com"], "BccAddresses": ["b@example.com"]},
            "Content": {"Template": {"TemplateName": "welcome", "TemplateData": '{"name":"Ada"}', "Attachments": [
                {"FileName": "a.txt", "ContentType": "text/plain", "RawContent": b"hi", "ContentDisposition": "ATTACHMENT",
                 "ContentTransferEncoding": "BASE64"}]}},
        })
        output = run({"to": "ada@example.com", "bcc": "b@example.com", "template": "welcome", "values": {"name": "Ada"},
                      "attachments": "a.txt", "reply_to": "desk@example.com"})
        stub.assert_no_pending_responses()
    assert output["message_id"] == "m-1"


@pytest.mark.parametrize(("code", "status", "name"), [
    ("NotFoundException", 404, "NotFoundError"), ("TooManyRequestsException", 429, "RateLimited"),
    ("MessageRejected", 400, "ValidationError"), ("InternalFailure", 500, "ServerError"),
])
def test_errors_of_ses_have_their_class(failure, sent, monkeypatch, code, status, name):
    from botocore.stub import Stubber

    client = boto3.client("sesv2")
    monkeypatch.setattr(ses_post, "client", lambda *a: client)
    with Stubber(client) as stub:
        stub.add_client_error("send_email", code, "no", status)
        assert failure({"to": "ada@example.com", "template": "welcome"})[0] == name


def test_a_mail_server(run, letters, monkeypatch):
    letters.refused = ["bob@example.com"]
    output = run({**CONFIG, **SMTP, "to": ["ada@example.com", "bob@example.com"], "bcc": "ada@example.com"})
    again = run({**CONFIG, **SMTP})
    (envelope, message, _), _ = letters.letters
    assert envelope.recipients == ["ada@example.com", "bob@example.com"]
    assert output["refused"] == ["bob@example.com"] and output["by"] == "smtp"
    assert output["message_id"] == message["Message-ID"] == again["message_id"]
    assert "pass-word-1" not in json.dumps(output)


def test_what_a_mail_server_says_is_told_without_the_password(failure, letters):
    letters.error = ServerError("the mail server said: try pass-word-1 later")
    name, message = failure({**CONFIG, **SMTP})
    assert (name, message) == ("ServerError", "step s[1]: the mail server said: try *** later")


@pytest.mark.parametrize(("config", "words"), [
    ({**CONFIG, "template": "x"}, "`template` and `subject` exclude each other"),
    ({"to": "a@example.com", "template": "x", "smtp": {"host": "h"}}, "`template` and `smtp` exclude each other"),
    ({**CONFIG, "values": {"a": 1}}, "`values` are for a `template`"),
    ({**CONFIG, "smtp": {"host": "h", "username": "u"}}, "a login needs `username` and `password`"),
    ({**CONFIG, "smtp": {"host": "h", "username": "u", "password": "p", "security": "none"}}, "not sent without encryption"),
    ({**CONFIG, "smtp": {"host": "h", "port": 0}}, "must be at least 1"),
])
def test_configurations_that_make_no_email(config, words):
    ((_, message),) = check_config("email", config)
    assert words in message


def test_a_template_has_a_plain_name(failure, sent):
    assert failure({"to": "a@example.com", "template": "a b"})[0] == "ValidationError"


def test_the_sample(sample, sent):
    store("acme/exec-0001/report.csv", b"a,b\n")
    output = handler(sample("email"), None)["output"]
    assert (output["to"], output["cc"]) == (["ada@example.com"], ["team@example.com"])
    assert [part.get_filename() for part in sent()[0][1].iter_attachments()] == ["report.csv"]
