"""What skills say of themselves, and what is made of it."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from aslant import bootstrap, keys, skill_calls, skills
from aslant.adapters.dynamo_skills import DynamoSkills
from aslant.errors import ConflictError
from aslant.skill_specs import SkillSpec, argument_problems, pick
from functions.steps.skill.handler import handler
from tests.unit.moto_aws import moto_aws


@pytest.fixture(autouse=True)
def clean():
    yield
    skills.unregister()
    skill_calls.forget()


@pytest.fixture
def call(invocation):
    return lambda name, **config: handler(
        invocation("skill", {"skill": name, **config}), None)["output"]


@pytest.fixture
def failure(call):
    def fail(name, **config):
        with pytest.raises(Exception) as caught:
            call(name, **config)
        return type(caught.value).__name__, str(caught.value)

    return fail


def resize(width: int, unit: Literal["px", "mm"] = "px", tags: list[str] | None = None, note: str = None) -> dict:  # type: ignore[assignment]  # noqa: RUF013
    """Makes a picture smaller.

    And more.
    """
    return {"width": width, "unit": unit}


def spec(function: Any, **given: Any) -> SkillSpec:
    skills.register(function.__name__, function, **given)
    (found,) = [entry.spec for name, _, entry in skills.entries() if name == function.__name__]
    assert found is not None
    return found


def test_a_signature_is_a_specification():
    found = spec(resize)
    assert (found.version, found.status, found.description) == ("1.0.0", "active", "Makes a picture smaller.")
    assert found.parameters == {
        "type": "object", "required": ["width"], "additionalProperties": False,
        "properties": {
            "width": {"type": "integer"},
            "unit": {"enum": ["px", "mm"], "type": "string", "default": "px"},
            "tags": {"anyOf": [{"anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}]}, {"type": "null"}]},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    }
    assert found.returns is not None and found.returns["type"] == "object"


@pytest.mark.parametrize(("given", "late", "wanted"), [
    ({"width": 3}, (), []), ({}, ("width",), []), ({"width": 3, "tags": None}, (), []),
    ({"width": "3"}, (), ["width is a text"]), ({"width": 3, "unit": "em"}, (), ["none of"]),
    ({"width": 3, "unti": "px"}, (), ["there is no parameter unti; did you mean unit?"]), ({}, (), ["width is required"]),
    ({"width": 3}, ("unti",), ["there is no parameter unti; did you mean unit?"]),
])
def test_arguments_are_checked(given, late, wanted):
    found = argument_problems(spec(resize), given, late)
    assert len(found) == len(wanted) and all(part in each.message for part, each in zip(wanted, found, strict=True)), found


def test_calls_and_results_are_checked(call, failure):
    @skills.skill(returns={"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}})
    def make(good: bool):
        return {"id": "a"} if good else {"id": 1}

    assert call("make", parameters={"good": True}) == {"id": "a"}
    assert failure("make", parameters={"good": "yes"}) == ("ValidationError", "step s: skill make: good is a text (\"yes\"), a boolean is wanted")
    name, message = failure("make", parameters={"good": False})
    assert name == "ValidationError" and "its result.id" in message


def test_versions_and_statuses(call, failure):
    for version, status in (("1.0.0", "active"), ("1.2.0", "active"), ("2.0.0", "deprecated"), ("3.0.0", "inactive")):
        skills.register("v", lambda version=version: version, version=version, status=status, owner="ann")
    assert call("v") == "1.2.0"
    assert [call("v", version=version) for version in ("1", "1.0", "2", "1.2.0")] == ["1.2.0", "1.0.0", "2.0.0", "1.2.0"]
    assert failure("v", version="3") == ("SkillNotFound", "step s: the skill v 3.0.0 is inactive; ann answers for it")
    assert failure("v", version="4")[1].endswith("has no version 4; there are 3.0.0, 2.0.0, 1.2.0, 1.0.0")
    assert pick("none", []) is None


@pytest.mark.parametrize("wrong", [
    {"version": "1"}, {"status": "gone"}, {"parameters": {"type": "string"}}, {"parameters": {"properties": {"a": 1}}},
    {"ownr": "x"}, {"returns": {"required": "a"}}, {"parameters": {"properties": {"a": {"pattern": "("}}}},
    {"rate_limit": {"calls": 0}},
])
def test_what_cannot_be_used_is_refused_when_it_is_registered(wrong):
    with pytest.raises(ValueError, match="the skill f"):
        skills.skill(name="f", **wrong)(lambda: 1)


def test_the_registry_of_a_tenant(monkeypatch, call, failure):
    with moto_aws(monkeypatch):
        from aslant.adapters.clients import client

        client("dynamodb", "us-east-1").create_table(**keys.catalog_table("aslant-catalog"))
        store = DynamoSkills("us-east-1", "aslant-catalog")
        monkeypatch.setattr(bootstrap, "skill_store", lambda settings: store)
        asked: list[Any] = []

        class Functions:
            def invoke(self, arn, arguments):
                asked.append((arn, arguments))
                return {"sent": True}

        monkeypatch.setattr(bootstrap, "functions", lambda settings: Functions())
        first = SkillSpec(
            name="crm/sync", target="arn:aws:lambda:us-east-1:123456789012:function:crm", owner="sales",
            parameters={"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]},
        )
        store.put("acme", first)
        store.put("acme", first.model_copy(update={"version": "1.10.0"}))
        store.put("acme", first.model_copy(update={"version": "1.9.0"}))
        store.put("other", first.model_copy(update={"version": "9.0.0"}))
        assert [one.version for one in store.of("acme", "crm/sync")] == ["1.0.0", "1.9.0", "1.10.0"]
        assert store.of("acme", "crm") == [] and len(store.all("acme")) == 3
        assert call("crm/sync", parameters={"who": "ann"}) == {"sent": True}
        assert failure("crm/sync", parameters={"who": 1})[0] == "ValidationError"
        assert asked == [(first.target, {"who": "ann"})]
        with pytest.raises(ConflictError, match="a version of its own"):
            store.put("acme", first.model_copy(update={"returns": {"type": "object"}}))
        store.put("acme", first.model_copy(update={"status": "inactive", "owner": "ops"}))
        skill_calls.forget()
        assert failure("crm/sync", version="1.0")[1].endswith("is inactive; ops answers for it")
        store.put("acme", SkillSpec(name="local"))
        assert "none of that name" in failure("local")[1]


def test_code_of_a_tenant_runs_in_the_sandbox(monkeypatch, call, failure):
    class Store:
        specs = {
            "join": SkillSpec(name="join", code="def execute(left, right):\n    return f'{left}_{right}'", parameters={
                "type": "object", "properties": {"left": {"type": "string", "required": True}, "right": {"default": 10}}}),
            "spy": SkillSpec(name="spy", code="def execute():\n    import os\n    return dict(os.environ)"),
            "read": SkillSpec(name="read", code="def execute():\n    return open('/etc/hostname').read()"),
        }

        def of(self, tenant, name):
            return [self.specs[name]] if name in self.specs else []

    monkeypatch.setattr(bootstrap, "skill_store", lambda settings: Store())
    assert call("join", parameters={"left": "a"}) == "a_10"
    assert failure("join", parameters={"left": 1})[0] == "ValidationError"
    assert call("spy") == {}
    name, message = failure("read")
    assert name == "SandboxError" and "PermissionError" in message
