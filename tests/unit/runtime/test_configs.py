"""Configuration models, with values that are known and values that are not."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aslant.configs.check import UNKNOWN, check_config, config_model, parse
from aslant.errors import ValidationError
from aslant.step_types import STEP_TYPES

MODELLED = [name for name, kind in STEP_TYPES.items() if kind.model]
GOOD = {
    "http": {"url": "https://example.com", "method": "POST", "headers": {"A": "b"}, "query": {"q": [1]}, "body": {"x": 1},
             "auth": {"type": "basic", "username": "u", "password": "p"}, "timeout": 30, "max_response_bytes": 10, "expected_status": [200, "3xx"]},
    "agent": {"agent_id": "a", "model": "gpt-4", "prompt": "p", "input": [1], "parameters": {"x": 1}, "temperature": 0,
              "max_tokens": 100, "output_format": "json", "output_schema": {"type": "object"}},
    "scrape": {"urls": ["https://example.com"], "selector": ".a", "wait_for_load": True, "screenshot": False, "timeout": 30,
               "limit": 100, "extract": ["text", "links"], "fields": {"name": "h2", "link": {"selector": "a", "attribute": "href", "many": True}},
               "delay": 0, "concurrency": 2, "user_agent": "x"},
    "transform": {"operation": "filter", "script": "return data", "input_format": "json", "output_format": "csv", "timeout": 5},
    "aggregate": {"aggregation": "summarize", "format": "markdown_report", "custom_script": "return 1", "results": [1], "timeout": 5},
    "notify": {"channel": ["slack", "email"], "to": ["a@example.com"], "message": "m", "subject": "s"},
    "email": {"to": "a@example.com", "cc": ["b@example.com"], "subject": "s", "body": "b", "attachments": ["r.pdf", {"artifact": "k", "bytes": 5}],
              "from": "c@example.com", "smtp": {"host": "h", "security": "tls", "username": "u", "password": "p"}},
    "query": {"database": "postgresql", "connection_string": "postgres://", "query": "SELECT $1", "parameters": [1, None], "max_rows": 5},
    "command": {"command": "npm", "args": ["test", 1], "env": {"CI": True}},
    "deploy": {"manifest": {"kind": "Deployment"}, "namespace": "prod", "dry_run": False},
    "scale": {"resource": "deployment/app", "replicas": 3},
    "approval": {"message": "m", "approval_type": "multiple_choice", "options": ["a"], "approvers": ["x"], "timeout": 1800,
                 "on_timeout": "escalate", "escalate_to": "boss", "on_reject": "continue"},
    "skill": {"skill": "x", "parameters": {"a": {"b": [1]}}},
}


def test_every_type_has_an_example_here():
    assert sorted(GOOD) == sorted(MODELLED)
    for name in STEP_TYPES:
        assert (config_model(name) is None) == (name not in GOOD)
    assert config_model("nonsense") is None and check_config("wait", {"anything": 1}) == []


@pytest.mark.parametrize("name", MODELLED)
def test_good_configurations(name):
    assert check_config(name, GOOD[name]) == []


def places(value, path=()):
    """Every path in a value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def changed(value, path, new):
    if not path:
        return new
    clone = copy.deepcopy(value)
    here = clone
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = new
    return clone


@pytest.mark.parametrize("name", MODELLED)
def test_an_unknown_value_is_right_everywhere(name):
    for path in places(GOOD[name]):
        assert check_config(name, changed(GOOD[name], path, UNKNOWN)) == [], path
    assert check_config(name, dict.fromkeys(GOOD[name], UNKNOWN)) == []


@pytest.mark.parametrize("name", MODELLED)
def test_unknown_keys_and_wrong_types_are_found_where_they_are(name):
    key = next(iter(GOOD[name]))
    ((path, message),) = check_config(name, {**GOOD[name], key + "z": 1})
    assert path == (key + "z",) and message.startswith(f"unknown key {key}z; did you mean {key}?")
    assert check_config(name, [1]) == [((), "must be a mapping")]
    for field in GOOD[name]:
        found = check_config(name, {**GOOD[name], field: object()})
        assert found == [] or found[0][0][:1] in ((field,), ())


@pytest.mark.parametrize(("name", "config", "found"), [
    ("http", {}, [(("url",), "is missing")]),
    ("http", {"url": None}, [(("url",), "is missing")]),
    ("http", {"url": "x", "auth": {"type": "bearer", "tokn": "y"}}, [(("auth", "tokn"), "unknown key tokn; did you mean token?")]),
    ("http", {"url": "x", "timeout": True}, [(("timeout",), "must be a number")]),
    ("http", {"url": "x", "timeout": "5"}, [(("timeout",), "must be a number")]),
    ("http", {"url": "x", "expected_status": [200, "abc"]},
     [(("expected_status", 1), "must be a status such as 200, 2xx or 200-204")]),
    ("http", {"url": "x", "form": {"a": 1}, "json": 1}, [((), "json and form exclude each other")]),
    ("http", {"url": "x", "auth": {"type": "bearer"}}, [(("auth",), "bearer needs `token`")]),
    ("scale", {"resource": "x", "replicas": 2.5}, [(("replicas",), "must be a whole number")]),
    ("scale", {"resource": "x", "replicas": -1}, [(("replicas",), "must be at least 0")]),
    ("notify", {"channel": ["slack", "pigeon"]}, [(("channel", 1), "must be one of sns, slack, webhook, email, event")]),
    ("email", {"to": "a", "subject": "s"}, [((), "an email needs a `body` or `html`")]),
    ("scrape", {"url": "a", "urls": ["b"]}, [((), "a scrape needs either `url` or `urls`")]),
    ("command", {"command": "x", "args": "y"}, [(("args",), "must be a list")]),
])
def test_findings(name, config, found):
    assert check_config(name, config) == found


def test_case_of_fixed_values_does_not_matter():
    model = config_model("http")
    assert model is not None
    assert parse(model, {"url": "x", "method": "post"}).model_dump()["method"] == "POST"


def test_run_time_errors_name_fields_and_never_values():
    model = config_model("http")
    assert model is not None
    with pytest.raises(ValidationError) as caught:
        parse(model, {"url": 5, "headers": {"A": ["s3cret"]}, "auth": {"type": "basic", "username": "", "password": "s3cret"}})
    message = str(caught.value)
    assert "url: must be a text" in message and "headers.A: " in message and "s3cret" not in message


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(UNKNOWN),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                    max_leaves=6)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from(MODELLED), st.data())
def test_any_data_gives_findings_and_never_an_exception(name, data):
    model = config_model(name)
    assert model is not None
    keys = st.sampled_from([field.alias or key for key, field in model.model_fields.items()]) | st.text(max_size=5)
    found = check_config(name, data.draw(st.dictionaries(keys, JSON, max_size=4) | JSON))
    assert all(isinstance(path, tuple) and message for path, message in found)


def test_a_mapping_where_a_text_is_wanted_is_told_of_quotes():
    ((path, message),) = check_config("transform", {"expression": {"input.x": None}})
    assert path == ("expression",)
    assert message.startswith("must be a text") and message.endswith('stands in quotes: "{input.x}")')
    ((_, message),) = check_config("transform", {"expression": {"k": "s3cret"}})
    assert "in quotes" in message and "s3cret" not in message
