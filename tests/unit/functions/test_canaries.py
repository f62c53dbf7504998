"""A secret's value in every place of every step type: it never leaves, in whatever form it comes back."""

from __future__ import annotations

import base64
import html
import importlib
import json
import traceback
import urllib.parse
from pathlib import Path

import pytest

from aslant import bootstrap, skills
from aslant.command_ports import CommandEnd
from aslant.database_ports import QueryResult
from aslant.errors import ServerError
from aslant.http_ports import HttpRequest, HttpResponse
from aslant.kubernetes import Access, Kubernetes
from aslant.model_ports import ModelAnswer, ModelRequest
from aslant.secrets import Redactor

CANARY = 'Can4ry/+ü"\'\\&<x>-4711 tail'
MEMBER = "m3mber-of-JSON"
SHORT = "pw+7"
TEXT = {"canary": CANARY, "short": SHORT, "lines": f"first-line-of-it\n{MEMBER}\n",
        "object": json.dumps({"user": "ada", "password": [SHORT], "deep": {"token": {"value": MEMBER}}, "pin": 987_654_321})}
DSN = "postgresql://ada:m3mber-of-JSON@db.example.com/orders"
VALUES = {"dsn": [MEMBER], "canary": [CANARY], "short": [SHORT], "lines": [MEMBER], "object": [SHORT, MEMBER, "987654321"]}
WHOLE = (CANARY, SHORT, MEMBER, "987654321")
PIECE = 8  # characters of a secret that may not be seen together


def forms(secret: str) -> list[str]:
    """Spellings, each made by what the world writes with."""
    data = secret.encode()
    plain = [secret, urllib.parse.quote(secret), urllib.parse.quote_plus(secret), json.dumps(secret)[1:-1], repr(secret),
             data.hex(), base64.b64encode(data).decode()]
    return plain if len(secret) < PIECE else [
        *plain, secret.upper(), secret.lower(), urllib.parse.quote(secret, safe=""), urllib.parse.quote(secret, safe="").lower(),
        json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(json.dumps({"k": secret})), html.escape(secret),
        data.hex().upper(), base64.urlsafe_b64encode(data).decode().rstrip("="),
        base64.b64encode(b"user:" + data).decode(), base64.b64encode(b"u:" + data + b":more").decode(),
        base64.b64encode(b"abc" + data + b"!").decode(),
    ]


def pieces(secret: str) -> set[str]:
    return {secret[at:at + PIECE] for at in range(len(secret) - PIECE + 1)} or {secret}


def clean(text: str) -> None:
    """Nothing of a secret is in a text, in no spelling that is tried here."""
    low = text.lower()
    for secret in WHOLE:
        for piece in pieces(secret):
            assert piece.lower() not in low, (piece, text)
        for form in forms(secret):
            if len(form) >= PIECE:
                assert form.lower().strip("'\"{}") not in low, (form, text)


@pytest.mark.parametrize("secret", [CANARY, MEMBER, "p@ss w0rd", "Ünïcödé-käse", "ab%20cd%2Fef", "-----BEGIN KEY-----", "\U0001f511" * 4])
def test_every_spelling_is_known(secret):
    redactor = Redactor()
    redactor.know(secret)
    for form in forms(secret):
        left = redactor.text(f"before {form} after")
        assert left.startswith("before ") and left.endswith(" after") and "***" in left
        assert not any(piece.lower() in left.lower() for piece in pieces(secret)), (form, left)
        assert redactor.json({"k": [form], form: (form,)}) != {"k": [form], form: [form]}


def test_what_is_no_secret_stays():
    redactor = Redactor()
    redactor.know(TEXT["object"])
    value = {"user": "ada", "n": 987_654_320, "b": True, "f": 1.5, "password": "other", 7: None}
    assert redactor.json(value) == value
    assert redactor.json([987_654_321, "987654321", ("x", SHORT)]) == ["***", "***", ["x", "***"]]


def test_the_start_of_a_secret_at_the_end_of_a_cut_text():
    redactor = Redactor()
    redactor.know(CANARY)
    assert redactor.text("it was " + CANARY[:12]) == "it was ***"
    assert redactor.text("it was " + CANARY[:4]) == "it was " + CANARY[:4]


class Outside:
    """Every port. Sends back all that it got, and the secrets in every spelling, or fails with it."""

    def __init__(self, fails: bool, secrets: list[str]) -> None:
        self.fails, self.secrets = fails, secrets

    def _answer(self, got: str) -> str:
        text = " | ".join([got, *(form for secret in self.secrets for form in forms(secret))])
        if self.fails:
            raise ServerError("it failed: " + text)
        return text

    def send(self, *arguments):
        if isinstance(arguments[0], HttpRequest):
            request = arguments[0]
            text = self._answer(f"{request.url} {dict(request.headers)} {(request.body or b'').decode('utf-8', 'replace')}")
            return HttpResponse(200, {"x": text, "content-type": "text/plain"}, text.encode(), request.url)
        return self._answer(repr(arguments))

    def publish(self, *arguments):
        return self._answer(repr(arguments))

    def put(self, *arguments):
        return self._answer(repr(arguments))

    def carry(self, envelope, message, timeout):
        return self._answer(repr(envelope)), [self._answer(envelope.sender)]

    def fill(self, *arguments):
        return self._answer(repr(arguments))

    def get(self, tenant, key, limit=None):
        return self._answer(key).encode()

    def read(self, data, content_type, url, query, timeout):
        return {"title": self._answer(f"{data.decode()} {url} {query.xpath}"), "elements": [], "found": 0}

    def permits(self, name):
        return True

    def run(self, request, line=None):
        text = self._answer(repr(request))
        if line is None:
            return [QueryResult([("a", "text")], [[text]], None, True)]
        line("stdout", text)
        return CommandEnd(0, text.encode(), text.encode())

    def ask(self, request: ModelRequest) -> ModelAnswer:
        return ModelAnswer(self._answer(repr(request)), 1, 1)


@pytest.fixture
def places(monkeypatch):
    """Secrets of the tenant, and ports that give away what they get; a function that chooses whether they fail."""

    class Store:
        def get(self, tenant, name):
            return TEXT.get(name, DSN)

    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Store())
    monkeypatch.setenv("ASLANT_EMAIL_FROM", "me@example.com")

    def choose(fails: bool, secrets: list[str]) -> None:
        outside = Outside(fails, secrets)
        for port in ("http", "topics", "mailer", "events", "functions", "post", "template_post", "artifacts", "pages", "commands"):
            monkeypatch.setattr(bootstrap, port, lambda settings: outside, raising=False)
        monkeypatch.setattr(bootstrap, "models", lambda settings, config, endpoint=None: outside)
        monkeypatch.setattr(bootstrap, "smtp_post", lambda settings, smtp: outside)
        for port in ("database", "data_api", "partiql", "athena"):
            monkeypatch.setattr(bootstrap, port, lambda settings, *where: outside)
        monkeypatch.setattr(bootstrap, "cluster", lambda settings, name, tenant, redactor, remaining: Kubernetes(
            Access("https://cluster", "t0ken"), outside, remaining, sleep=lambda seconds: None))

    return choose


ALL = [{"secret": name} for name in TEXT]
MIXED = ["pre ", *[part for each in ALL for part in (each, " and ")]]
CASES = [
    ("http", {"url": "https://example.com/"}, {"/headers/X-Key": [{"secret": "short"}], "/json": [{"secret": "object"}]}),
    ("http", {"url": "", "auth": {"type": "basic", "username": "ada"}},
     {"/url": ["https://example.com/", {"secret": "canary"}], "/auth/password": [{"secret": "canary"}]}),
    ("http", {"url": "https://example.com/", "auth": {"type": "bearer"}}, {"/auth/token": [{"secret": "short"}], "/body": MIXED}),
    ("http", {"url": "https://example.com/"}, {"/auth": [{"secret": "object"}]}),
    ("http", {"url": "https://example.com/", "query": {}}, {"/query/q": [{"secret": "canary"}]}),
    ("http", {}, {"/url": MIXED}),
    ("http", {"url": "https://example.com/", "headers": {}}, {"/headers/X": [{"secret": "lines"}]}),
    ("transform", {}, {"/data": MIXED}),
    ("transform", {"output_format": "csv"}, {"/data": [{"secret": "object"}]}),
    ("transform", {"expression": "upper(data)"}, {"/data": [{"secret": "canary"}]}),
    ("transform", {"script": "return [data, data[::-1][::-1], {'k': data}]"}, {"/data": [{"secret": "canary"}]}),
    ("transform", {"script": "raise ValueError(data)"}, {"/data": [{"secret": "canary"}]}),
    ("transform", {"script": "raise ValueError('x' * 1980 + data)"}, {"/data": [{"secret": "canary"}]}),
    ("transform", {}, {"/script": ["x = ((", {"secret": "canary"}]}),
    ("transform", {"data": 1}, {"/expression": [{"secret": "canary"}]}),
    ("transform", {"data": 1}, {"/operation": [{"secret": "canary"}]}),
    ("aggregate", {"aggregation": "summarize", "results": ["", "", {}]},
     {"/results/0": ["x" * 190, {"secret": "canary"}], "/results/1": [{"secret": "object"}], "/results/2": MIXED}),
    ("aggregate", {"format": "markdown_report", "results": [{}, {}]},
     {"/results/0/a": [{"secret": "canary"}], "/results/1/b": [{"secret": "object"}], "/title": MIXED}),
    ("aggregate", {"aggregation": "sum", "results": [1, 2]}, {"/results/0": [{"secret": "canary"}]}),
    ("agent", {"prompt": "x"}, {"/prompt": ["x " * 55, *MIXED], "/system": MIXED}),
    ("agent", {"prompt": "x", "output_format": "json", "parameters": {}}, {"/parameters/p": [{"secret": "object"}]}),
    ("agent", {"prompt": "x"}, {"/model": [{"secret": "canary"}]}),
    ("skill", {"skill": "canary_echo", "parameters": {}}, {"/parameters/a": [{"secret": "object"}], "/parameters/b": MIXED}),
    ("skill", {"skill": "canary_echo", "parameters": {"fail": True}}, {"/parameters/b": MIXED, "/parameters/c": [{"secret": "object"}]}),
    ("skill", {"parameters": {}}, {"/skill": [{"secret": "canary"}]}),
    ("skill", {"skill": "canary_echo"}, {"/parameters": [{"secret": "canary"}]}),
    ("notify", {"channel": "webhook"}, {"/url": ["https://hooks.example.com/", {"secret": "canary"}], "/message": MIXED}),
    ("notify", {"channel": "webhook", "data": {}, "headers": {}},
     {"/url": ["https://hooks.example.com?", {"secret": "short"}], "/data/d": [{"secret": "object"}], "/headers/X": [{"secret": "short"}]}),
    ("notify", {"channel": ["email", "sns"], "to": ["a@b.example"], "topic": "arn:aws:sns:us-east-1:1:t"},
     {"/subject": [{"secret": "canary"}], "/message": MIXED}),
    ("notify", {"channel": "email"}, {"/to": ["x" * 90, {"secret": "canary"}]}),
    ("email", {"to": "a@b.example", "html": ""}, {"/subject": [{"secret": "short"}], "/body": MIXED, "/html": MIXED}),
    ("email", {"to": "a@b.example", "body": "x"}, {"/attachments": [{"secret": "canary"}]}),
    ("email", {"to": "a@b.example", "template": "t", "values": {}}, {"/values/v": [{"secret": "object"}]}),
    ("email", {"body": "x"}, {"/to": [{"secret": "canary"}, "@example.com"]}),
    ("email", {"to": "a@b.example", "body": "x", "smtp": {"host": "mail.example.com", "username": "u"}},
     {"/smtp/password": [{"secret": "canary"}]}),
    ("scrape", {"robots": False, "selector": "p"}, {"/url": ["https://example.com/?key=", {"secret": "canary"}]}),
    ("scrape", {"robots": False, "urls": ["", "https://example.com/"], "skip_failed": True, "delay": 0},
     {"/urls/0": ["https://example.com/", {"secret": "short"}], "/xpath": [{"secret": "canary"}]}),
    ("command", {"command": "say", "args": ["-x", ""]}, {"/args/1": [{"secret": "canary"}], "/stdin": MIXED}),
    ("command", {"command": "say", "files": {"a": ""}, "env": {}, "expected_exit_codes": [1]},
     {"/env/KEY": [{"secret": "short"}], "/files/a": [{"secret": "canary"}]}),
    ("query", {"database": "postgresql", "connection": "dsn", "query": "select $1", "parameters": [""]}, {"/parameters/0": MIXED}),
    ("query", {"database": "postgresql", "connection": "dsn"}, {"/query": ["select '", {"secret": "canary"}, "'"]}),
    ("query", {"database": "postgresql", "query": "select 1"}, {"/connection_string": [{"secret": "dsn"}]}),
    ("deploy", {"manifest": {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "stringData": {}}},
     {"/manifest/stringData/key": MIXED}),
    ("deploy", {}, {"/manifest": ["a: [", {"secret": "canary"}]}),
    ("scale", {"replicas": 2}, {"/resource": ["deployment/", {"secret": "canary"}]}),
    ("scale", {"replicas": 2, "resource": "deployment/web"}, {"/namespace": [{"secret": "short"}]}),
]


def test_no_step_type_is_left_out():
    folders = {path.parent.name for path in (Path(__file__).parents[3] / "functions" / "steps").glob("*/handler.py")}
    assert {step_type for step_type, _, _ in CASES} == folders - {"approval"}  # which is shown to people: tests/faults


def test_parts_of_secret_addresses():
    redactor = Redactor()
    redactor.know("https://hooks.example.com:443/services/T1/tokenXYZ?key=abc#top")
    redactor.know('{"dsn": "postgres://ada:hunter22@db.example.com/orders"}')
    assert redactor.text("https://hooks.example.com/services/T1/tokenXYZ did not answer") == "https://hooks.example.com/*** did not answer"
    assert redactor.text("login of ada with hunter22 at db.example.com failed") == "login of ada with *** at db.example.com failed"


@pytest.mark.parametrize("fails", [False, True], ids=["answers", "fails"])
@pytest.mark.parametrize("retried", [False, True], ids=["once", "retried"])
@pytest.mark.parametrize(("step_type", "config", "where"), CASES)
def test_no_step_gives_a_secret_away(step_type, config, where, fails, retried, places, invocation, capfd, caplog):
    names = sorted({part["secret"] for parts in where.values() for part in parts if isinstance(part, dict)})
    known = [value for name in names for value in VALUES[name]]
    places(fails, known)

    def echo(**parameters):
        if parameters.get("fail"):
            raise RuntimeError(f"failed with {parameters}")
        return {"got": parameters, "tuple": (parameters,), **dict.fromkeys(known, 1), "forms": [forms(each) for each in known]}

    skills.register("canary_echo", echo)
    handler = importlib.import_module(f"functions.steps.{step_type}.handler").handler
    payload = invocation(step_type, config, secrets=where)
    if retried:
        payload["retry"] = {"max_attempts": 4, "delays": [1, 2, 4], "on": ["States.ALL"]}
    caplog.set_level("DEBUG")
    try:
        try:
            seen = json.dumps(handler(payload, None), ensure_ascii=False)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
            seen = "".join(traceback.format_exception(error)) + type(error).__name__ + repr(error.__dict__)
            assert error.__cause__ is None and error.__context__ is None
    finally:
        skills.unregister("canary_echo")
    clean(seen)
    clean(caplog.text)
    clean("".join(capfd.readouterr()))


def test_a_webhook_of_the_installation_is_hidden_too(places, invocation, monkeypatch):
    from functions.steps.notify.handler import handler

    places(True, [])
    monkeypatch.setenv("ASLANT_SLACK_WEBHOOK", "https://hooks.example.com/services/T1234/B5678/tokenXYZ")
    with pytest.raises(ServerError) as caught:
        handler(invocation("notify", {"channel": "slack", "message": "hi"}), None)
    assert "hooks.example.com" in str(caught.value) and "tokenXYZ" not in str(caught.value)


def test_an_excerpt_is_cut_after_secrets_are_gone(places, invocation, monkeypatch):
    from functions.steps.http.handler import handler

    places(False, [])
    for before in range(250, 300, 3):
        answer = HttpResponse(500, {}, b"x" * before + CANARY.encode(), "https://example.com/")

        class Fixed:
            def send(self, request, answer=answer):
                return answer

        monkeypatch.setattr(bootstrap, "http", lambda settings, fixed=Fixed: fixed())
        payload = invocation("http", {"url": "https://example.com/", "query": {}}, secrets={"/query/q": [{"secret": "canary"}]})
        with pytest.raises(ServerError) as caught:
            handler(payload, None)
        clean(str(caught.value))
