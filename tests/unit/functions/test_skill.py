"""skill steps."""

from __future__ import annotations

import json

import pytest

from aslant import bootstrap, skills
from aslant.errors import NetworkError, StepTimeout, ValidationError, named
from functions.steps.skill import logic
from functions.steps.skill.handler import handler


@pytest.fixture(autouse=True)
def clean_registry():
    yield
    skills.unregister()


@pytest.fixture
def call(invocation):
    return lambda name, parameters=None, **more: handler(
        invocation("skill", {"skill": name, "parameters": parameters or {}}, **more), None)["output"]


@pytest.fixture
def failure(call):
    def fail(*arguments, **more):
        with pytest.raises(Exception) as caught:
            call(*arguments, **more)
        return type(caught.value).__name__, str(caught.value)

    return fail


def test_python_skills(call, failure):
    @skills.skill
    def test_runner(suite, threshold=80):
        return {"suite": suite, "threshold": threshold}

    @skills.skill(name="later-one")
    async def later(x):
        return x + 1

    assert call("test_runner", {"suite": "unit"}) == {"suite": "unit", "threshold": 80}
    assert call("later-one", {"x": 1}) == 2
    name, message = failure("test_runner", {"suit": "unit"})
    assert name == "ValidationError" and "there is no parameter suit; did you mean suite?" in message and "suite is required" in message


def test_a_skill_may_raise_any_class(failure):
    class DeploymentError(Exception):
        pass

    def deploy(n, fail_on):
        if n == fail_on:
            raise DeploymentError(f"item {n}")

    skills.register("fail_if", deploy)
    assert failure("fail_if", {"n": 2, "fail_on": 2}, iteration=[1]) == ("DeploymentError", "step s[1]: item 2")


def test_unknown_skills_list_what_there_is(failure, call, monkeypatch):
    skills.register("deployer", lambda: None)
    skills.register("builder", lambda: None)
    monkeypatch.setenv("ASLANT_SKILLS", json.dumps({"remote": "https://skills.example/x"}))
    name, message = failure("deploiyer")
    assert name == "SkillNotFound"
    assert "did you mean deployer?" in message and message.endswith("registered: builder, deployer, remote")
    monkeypatch.setenv("ASLANT_SIMULATE", "1")
    assert call("deploiyer", {"a": 1}) == {"simulated": True, "skill": "deploiyer", "parameters": {"a": 1}}
    assert call("builder") is None


def test_nothing_registered(failure):
    assert failure("x")[1].endswith("registered: none")


def test_modules_of_skills(call, failure, monkeypatch, tmp_path):
    (tmp_path / "plain.py").write_text(
        "from json import dumps\ndef greet(name): return 'hi ' + name\ndef _hidden(): pass\nclass Not: pass\n")
    (tmp_path / "table.py").write_text("def f(): return 1\ndef g(): return 2\nSKILLS = {'first-skill': f, 'far': 'arn:aws:x'}\n")
    (tmp_path / "deco.py").write_text(
        "from aslant.skills import skill\n@skill(name='named')\ndef a(): return 'a'\n@skill\ndef b(): return 'b'\n")
    (tmp_path / "broken.py").write_text("1/0\n")
    assert skills.load_module(str(tmp_path / "plain.py")) == ["greet"]
    assert skills.load_module(str(tmp_path / "table.py")) == ["far", "first-skill"]
    assert "named" in skills.load_module(str(tmp_path / "deco.py"))
    assert call("greet", {"name": "x"}) == "hi x"
    assert call("first-skill") == 1
    for bad in (str(tmp_path / "none.py"), "no_such_module_here", str(tmp_path / "broken.py")):
        with pytest.raises(Exception) as caught:
            skills.load_module(bad)
        assert type(caught.value).__name__ == "ValidationError"
    skills.unregister()
    monkeypatch.setenv("ASLANT_SKILL_MODULES", str(tmp_path / "plain.py"))
    assert call("greet", {"name": "y"}) == "hi y"


def test_loading_a_module_again_takes_its_new_functions(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text("def greet(): return 1\n")
    skills.load_module(str(file))
    file.write_text("def greet(): return 2  # longer\n")
    assert skills.load_module(str(file)) == ["greet"]
    target = skills.find("greet", {})
    assert callable(target) and target() == 2


@pytest.mark.parametrize("target", ["nothing", "ftp://x", ""])
def test_targets_that_are_none(target):
    with pytest.raises(ValueError, match="neither callable"):
        skills.register("x", target)


def test_skills_over_http(call, failure, server, monkeypatch, invocation):
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    monkeypatch.setenv("ASLANT_SKILLS", json.dumps({"far": f"{server.url}/far", "gone": f"{server.url}/gone",
                                                    "text": f"{server.url}/text", "empty": f"{server.url}/empty"}))
    server.json("/far", {"n": [1]})
    server.answer("/text", 200, b"hello")
    server.answer("/empty", 204)
    assert call("far", {"a": "é"}) == {"n": [1]}
    assert json.loads(server.seen[0].body) == {"a": "é"}
    handler(invocation("skill", {"skill": "far", "parameters": {"a": 1}, "input": [2]}), None)
    assert json.loads(server.seen[1].body) == {"a": 1, "input": [2]}
    assert server.seen[0].headers["idempotency-key"]
    assert call("empty") is None
    assert failure("text")[0] == "ValidationError"
    assert failure("gone") == ("NotFoundError", "step s: skill gone answered 404: nothing here")


def test_skills_that_are_lambda_functions(call, failure, monkeypatch):
    class Functions:
        def invoke(self, arn, payload):
            if payload.get("fail") == "slow":
                raise StepTimeout("slow")
            if payload.get("fail"):
                raise named("DeploymentError", f"{arn}: no")
            return [arn, payload]

    monkeypatch.setattr(bootstrap, "functions", lambda settings: Functions())
    arn = "arn:aws:lambda:us-east-1:123456789012:function:deployer"
    monkeypatch.setenv("ASLANT_SKILLS", json.dumps({"deployer": arn}))
    assert call("deployer", {"a": 1}) == [arn, {"a": 1}]
    assert failure("deployer", {"fail": "yes"}) == ("DeploymentError", f"step s: {arn}: no")
    assert failure("deployer", {"fail": "slow"})[0] == "StepTimeout"


def test_the_environment_of_an_installation_is_checked(failure, monkeypatch):
    monkeypatch.setenv("ASLANT_SKILLS", "{not json")
    name, message = failure("x")
    assert name == "SettingsError" and "ASLANT_SKILLS is not JSON" in message


def test_logic_asks_for_no_port_that_it_does_not_need(invocation):
    from aslant.configs.skill import SkillConfig
    from aslant.step import read_run

    skills.register("local", lambda: 5)
    run = read_run("skill", invocation("skill", {}), None)

    def never():
        raise AssertionError("not needed")

    assert logic.call(SkillConfig(skill="local"), run, never, never) == {"output": 5}


@pytest.mark.parametrize(("target", "expected"), [
    (lambda n: ["nothing", n], ["nothing", 1]),
    (lambda n, input: [input, n], [{"x": 2}, 1]),
    (lambda n, *, input=None: [input, n], [{"x": 2}, 1]),
    (lambda **given: given, {"n": 1, "input": {"x": 2}}),
])
def test_the_input_is_for_skills_that_take_it(invocation, target, expected):
    skills.register("takes", target)
    run = handler(invocation("skill", {"skill": "takes", "parameters": {"n": 1}, "input": {"x": 2}}), None)
    assert run["output"] == expected


def test_an_input_of_null_is_an_input_and_a_parameter_goes_before_it(invocation):
    skills.register("takes", lambda input: [input])
    assert handler(invocation("skill", {"skill": "takes", "input": None}), None)["output"] == [None]
    assert handler(invocation("skill", {"skill": "takes", "parameters": {"input": 1}, "input": 2}), None)["output"] == [1]
    with pytest.raises(ValidationError):
        handler(invocation("skill", {"skill": "takes"}), None)


def test_a_skill_that_asks_for_it_gets_the_same_key_whenever_the_step_is_called(invocation):
    keys = []

    def charge(amount, idempotency_key):
        keys.append(idempotency_key)
        return amount

    skills.register("charge", charge)
    try:
        for more in ({}, {"execution": {"id": "exec-1", "tenant": "acme", "workflow": "wf", "run": 2}}, {"iteration": [1]}):
            handler(invocation("skill", {"skill": "charge", "parameters": {"amount": 3}}, **more), None)
    finally:
        skills.unregister("charge")
    first, later_run, iteration = keys
    assert first == later_run != iteration


@pytest.mark.parametrize(("raised", "known"), [
    (ConnectionRefusedError("no"), NetworkError), (ConnectionError(), NetworkError), (TimeoutError("late"), StepTimeout),
])  # fmt: skip
def test_errors_of_python_have_the_names_that_retries_know(invocation, raised, known):
    def fails():
        raise raised

    skills.register("fails", fails)
    with pytest.raises(known) as caught:
        handler(invocation("skill", {"skill": "fails"}), None)
    assert caught.value.retryable and str(caught.value)
