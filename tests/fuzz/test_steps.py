"""Every step function with hostile configurations: an output that is JSON, or an error that the state machine knows."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pydantic import ValidationError as PydanticError

from aslant import bootstrap, errors
from aslant.configs.base import Config
from aslant.configs.check import config_model
from aslant.contracts import MAX_PAYLOAD
from aslant.http_ports import HttpRequest, HttpResponse
from aslant.mail_ports import Envelope
from aslant.model_ports import ModelAnswer, ModelRequest
from aslant.page_ports import PageQuery, PageRequest, RenderedPage
from aslant.values import size
from tests.unit.runtime.fakes import ForgetfulSteps

TYPES = ("http", "transform", "aggregate", "notify", "agent", "skill", "deploy", "scale", "email", "scrape")
EXAMPLES = int(os.environ.get("EXAMPLES", 60))  # the variable asks for more
KNOWN = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.StepError)}


def deep(levels: int) -> Any:
    value: Any = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"": value}
    return value


ODD: list[Any] = [
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, 5e-324, 2**53 + 1, -(2**63), 10**25, 10**400, float("nan"), float("inf"),
    "", " ", "\x00", "\r\nX: y", "\ud800", "\udc00\ud800", "\ud83d\ude00", "é", "🙂" * 50, "a" * 5000, "{{ x }}", "{% x %}", "$",
    "__proto__", "constructor", "../..", "http://example.com/", "https://example.com/a?b=c#d", "http://[::1", "file:///x",
    "arn:aws:sns:us-east-1:1:t", "ada@example.com", "a,b\n1,2\n", "a,b\n1,2,3\n", '"', "[1,2", "[1e400]", "NaN", "[" * 990 + "]" * 990,
    [], {}, [[]], [None], {"": None}, {"__proto__": {"x": 1}}, {"a": {"": [1, "\ud800"]}}, [1, "a", None, {}], [1, 2.5], [10**400, 0.1],
    deep(150), deep(250), deep(800), ["2xx", 500], ["2xx-1"], "600", "python", "javascript", "filter", "map", "csv", "text", "json", "sum", "average", "max",
    "summarize", "concat", "markdown_report", "POST", "item.a", "total + item", "data | length", "((((", "item." * 300 + "a",
    "(" * 500 + "1" + ")" * 500, "sns", ["webhook", "slack", "email", "event", "sns"], "multiple_choice", "text_input", "HEAD",
    {"type": "bearer", "token": "a\nb"}, {"type": "basic", "username": "\ud800"}, {"type": "api_key", "key": "é", "name": ": "},
]
KEYS = st.sampled_from(["", "a", "b", "__proto__", "\ud800", "é", "type", "Content-Type", "host", "a b", "x" * 300, "self", "name"])
VALUES = st.recursive(
    st.sampled_from(ODD) | st.text(max_size=8) | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8,
)
TREES = st.sampled_from([
    ["lit", 1], ["slot", "input", "a"], ["index", ["slot", "input", "a"], ["lit", "b"]], ["call", "upper", ["slot", "env", "HOME"]],
    ["binary", "/", ["lit", 1], ["lit", 0]], ["each", ["name", "x"], "x", ["slot", "input", "a"], None], ["slot", "now", ""], ["lit"],
])
LIKELY: dict[str, Any] = {
    "url": st.sampled_from(["http://example.com/", "https://example.com/a?b=c", "http://exa mple/", "x"]),
    "auth": st.fixed_dictionaries({"type": st.sampled_from(["bearer", "basic", "api_key"])}, optional={
        name: st.sampled_from([each for each in ODD if isinstance(each, str)])
        for name in ("token", "username", "password", "key", "name", "location")}),
    "headers": st.dictionaries(KEYS, st.sampled_from(ODD[:40]), max_size=3),
    "skill": st.sampled_from(["here", "there", "nowhere", "\ud800"]),
    "channel": st.sampled_from(["sns", "slack", "webhook", "email", "event", ["sns", "event"], ["webhook", "email"]]),
    "to": st.sampled_from(["ada@example.com", ["a@b.c", "d@e.f"], "\ud800@x.y", "x"]),
    "topic": st.just("arn:aws:sns:us-east-1:1:t"),
    "operation": st.sampled_from(["filter", "map", "reduce", "aggregate", "transform"]),
    "expression": st.sampled_from(["item", "item.a", "total + item", "data", "index * 2", "item > 1", "data[0].b", "now()", "((", "item." * 400]),
    "aggregation": st.sampled_from(["concat", "sum", "average", "max", "min", "summarize"]),
    "format": st.sampled_from(["json", "text", "markdown_report"]),
    "output_format": st.sampled_from(["json", "csv", "text", "json_array", "markdown"]),
    "input_format": st.sampled_from(["json", "csv", "text"]),
    "method": st.sampled_from(["GET", "post", "HEAD", "DELETE"]),
    "evaluate": st.fixed_dictionaries({"expressions": st.dictionaries(KEYS, TREES | VALUES, max_size=2)},
        optional={"slots": st.dictionaries(st.just("input:a"), VALUES)}),
    "script": st.nothing(), "custom_script": st.nothing(),
    "delay": st.just(0), "subject": st.sampled_from([each for each in ODD if isinstance(each, str)]) | st.text(max_size=80),
    "attachments": st.sampled_from(["a.csv", ["../x", "acme/e/b"], {"artifact": "x", "name": "\ud800\r\n"}, "\x00"]),
    "smtp": st.fixed_dictionaries({"host": st.sampled_from(["mail.example.com", "\ud800"])}),
    "from": st.sampled_from(["me@example.com", "=?utf-8?q?x=0ABcc?= <me@example.com>", "x", "\ud800 <a@b.c>"]),
}


def _fitting(model: type[Config], name: str) -> st.SearchStrategy[Any]:
    """Odd values that the field takes by itself."""
    field = next(field for key, field in model.model_fields.items() if name in (key, field.alias))
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, "", *field.metadata])
    taken = []
    for value in ODD:
        with contextlib.suppress(PydanticError):
            adapter.validate_python(value, strict=True)
            taken.append(value)
    everything = not taken or (None in taken and [] in taken and 1 in taken)
    return VALUES if everything else st.sampled_from(taken)


def configs(step_type: str) -> st.SearchStrategy[Any]:
    model = config_model(step_type)
    fields = {} if model is None else {field.alias or name: field.is_required() for name, field in model.model_fields.items()}
    likely = {name: LIKELY[name] if name in LIKELY else _fitting(model, name) for name in fields} if model else {}
    free = [name for name in likely if not likely[name].is_empty]
    required = {name: likely[name] for name, needed in fields.items() if needed}

    def with_some(names: list[str]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({**required, **{name: likely[name] for name in names}})

    def with_junk(names: list[str]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({**required, **dict.fromkeys(names, VALUES)})

    if not free:
        return st.dictionaries(KEYS, VALUES, max_size=4) | VALUES
    few = st.lists(st.sampled_from(free), max_size=4, unique=True)
    return few.flatmap(with_some) | few.flatmap(with_some) | few.flatmap(with_junk) | VALUES


class Outside:
    """Every port: answers that the hypothesis chooses."""

    def __init__(self, response: HttpResponse, text: str) -> None:
        self.response, self.answer = response, text

    def send(self, *arguments: Any) -> Any:
        if isinstance(arguments[0], HttpRequest):
            for name, value in arguments[0].headers.items():
                assert not any(each in name + value for each in "\r\n\0")
            return self.response
        return self._sent(arguments)

    def _sent(self, arguments: Any) -> str:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()  # what no AWS client could send fails
        return "id"

    def publish(self, *arguments: Any) -> str:
        return self._sent(arguments)

    def put(self, *arguments: Any) -> str:
        return self._sent([each for each in arguments if not isinstance(each, bytes)])

    def ask(self, request: ModelRequest) -> ModelAnswer:
        self._sent([[message.text for message in request.messages], request.system])
        return ModelAnswer(self.answer, 1, 1)

    def request(self, config: Any, **more: Any) -> str:
        return self._sent([config.model_dump(), more["token"], list(more["ref"])])

    def invoke(self, arn: str, payload: Any) -> Any:
        self._sent(payload)
        return self.answer

    def carry(self, envelope: Envelope, message: bytes, timeout: float) -> tuple[str, list[str]]:
        self._sent([envelope.sender, envelope.recipients])
        names = [line.partition(b":")[0].lower() for line in message.partition(b"\r\n\r\n")[0].split(b"\r\n") if line[:1] != b" "]
        assert message.isascii() and len(set(names)) == len(names) and b"bcc" not in names
        assert b"\n" not in message.replace(b"\r\n", b"") and b"\r" not in message.replace(b"\r\n", b"")
        return "", []

    def fill(self, envelope: Envelope, *more: Any) -> str:
        return self._sent([envelope.sender, envelope.recipients, *more[:3]])

    def get(self, tenant: str, key: str, limit: int | None = None) -> bytes:
        self._sent([tenant, key, limit])
        assert key.startswith(tenant + "/")
        return b"file"

    def open(self, timeout: float) -> Any:
        return contextlib.nullcontext(self)

    def render(self, request: PageRequest) -> RenderedPage:
        return RenderedPage(self.response.status, self.response.url, self.answer, b"png")

    def read(self, data: bytes, content_type: str, url: str, query: PageQuery, timeout: float) -> Any:
        self._sent([content_type, url, query.css, query.xpath, list(query.parts), dict(query.fields), query.limit])
        return {"title": self.answer, "elements": [{"text": self.answer}], "found": 1}


RESPONSES = st.builds(
    HttpResponse, st.sampled_from([200, 200, 200, 204, 301, 404, 429, 503, 999]),
    st.fixed_dictionaries({}, optional={
        "content-type": st.sampled_from([
            "application/json", "text/html; charset=punycode", "x; charset=idna", "a/b; charset=undefined", ";;;", "é",
            "a; charset*=utf-8''x", "a/b; charset=utf-16", "a; charset=zlib", "a; charset=utf\x00", "application/json; charset=x",
            "multipart/x; charset=unicode_escape", "a/x+json",
        ]),
        "retry-after": st.sampled_from(["1", "9" * 500, "-1", "x", "Wed, 31 Dec 9999 23:59:59 -2400", "1 Jan 0 0:0:0", "²", "\x00"]),
    }),
    st.binary(max_size=40) | st.sampled_from([
        b"[1e400]", b"NaN", b'"\\ud800"', b"[" * 990 + b"]" * 990, b"[" * 100_000, b"9" * 5000, b'{"a":1,"a":2,"":3}', b"\xff\xfe",
        b"xn--" * 500, b"x" * 300_000, b'{"n": 356686000032329832}',
    ]), st.just("http://example.com/"),
)


@pytest.mark.parametrize("step_type", TYPES)
def test_hostile_configurations(step_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = importlib.import_module(f"functions.steps.{step_type}.handler").handler
    for name, value in {"ASLANT_EMAIL_FROM": "me@example.com", "ASLANT_SLACK_WEBHOOK": "https://hooks.example.com/a/b",
                        "ASLANT_SKILLS": '{"here": "https://example.com/skill", "there": "arn:aws:lambda:x"}',
                        "ASLANT_SIMULATE": "1", "ASLANT_HTTP_ALLOW": ""}.items():
        monkeypatch.setenv(name, value)

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(config=configs(step_type), response=RESPONSES, text=st.sampled_from([each for each in ODD if isinstance(each, str)]),
           token=st.sampled_from([None, "t"]))
    def run(config: Any, response: HttpResponse, text: str, token: str | None) -> None:
        outside = Outside(response, text)
        for port in ("http", "topics", "mailer", "events", "functions", "approvals", "post", "template_post", "artifacts", "browser",
                     "pages"):
            monkeypatch.setattr(bootstrap, port, lambda settings: outside)
        monkeypatch.setattr(bootstrap, "smtp_post", lambda settings, smtp: outside)
        monkeypatch.setattr(bootstrap, "models", lambda settings, config, endpoint=None: outside)
        monkeypatch.setattr(bootstrap, "steps", lambda settings: ForgetfulSteps())
        payload = {"step": "s", "type": step_type, "execution": {"id": "e", "tenant": "acme"}, "config": config, "token": token,
                   "timeout": 20, "part": "fuzz"}
        try:
            result = handler(payload, None)
        except Exception as error:  # noqa: BLE001 - which one it is is the question
            assert type(error).__name__ in KNOWN, config
            assert str(error).startswith("step s: ")
            str(error).encode()
        else:
            json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
            assert size(result) <= MAX_PAYLOAD

    run()
