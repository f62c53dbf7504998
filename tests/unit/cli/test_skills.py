"""aslant skills, and findings about calls of skills."""

from __future__ import annotations

import contextlib
import json
from types import SimpleNamespace

import pytest

from aslant import bootstrap, keys, skill_calls, skills
from aslant.settings import Settings
from aslant.skill_specs import SkillSpec
from infra.cli import skill_findings
from infra.cli import skills as command
from infra.cli.main import main
from tests.unit.moto_aws import moto_aws
from translator.pipeline import Source, compile_sources

MODULE = '''
from aslant.skills import skill

@skill(version="1.2.0", owner="ann", rate_limit={"calls": 1})
def count(word: str, times: int = 1) -> dict:
    """Counts words."""
    return {"word": word, "times": times}

@skill(status="deprecated", owner="bob")
def old() -> str:
    raise RuntimeError("worn out")

@skill(name="gone", status="inactive")
def gone() -> None: ...
'''


@pytest.fixture(autouse=True)
def clean():
    yield
    skills.unregister()
    skill_calls.forget()


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "skills.py"
    path.write_text(MODULE)
    return str(path)


def out(capsys, *argv):
    code = main(["skills", *argv])
    return code, capsys.readouterr()


def test_list_and_show(module, capsys):
    code, said = out(capsys, "list", "--skills", module, "--json")
    assert code == 0
    assert [(one["name"], one["version"], one["status"]) for one in json.loads(said.out)] == [
        ("count", "1.2.0", "active"), ("gone", "1.0.0", "inactive"), ("old", "1.0.0", "deprecated")]
    code, said = out(capsys, "list", "--skills", module)
    assert code == 0 and "Counts words." in said.out and "ann" in said.out
    code, said = out(capsys, "show", "count", "--skills", module)
    assert code == 0 and "times:" in said.out and "version: 1.2.0" in said.out


def test_try_a_skill(module, capsys):
    for _ in range(2):  # its limit of one call is not for tries
        code, said = out(capsys, "test", "count", "-i", "word=7", "-i", "times=2", "--skills", module)
        assert (code, json.loads(said.out)) == (0, {"word": "7", "times": 2})
    code, said = out(capsys, "test", "count", "-i", "wrd=7", "--skills", module)
    assert code == 1 and "did you mean word?" in said.err
    code, said = out(capsys, "test", "old", "--skills", module)
    assert code == 3 and "RuntimeError: worn out" in said.err


@pytest.mark.parametrize(("argv", "words"), [
    (["show", "cuont"], "did you mean count?"), (["show", "count", "--version", "3"], "no version 3"),
    (["test", "gone"], "is inactive"), (["show"], "needs the name of a skill"), (["add"], "needs a file"),
])
def test_what_is_not_there(module, capsys, argv, words):
    code, said = out(capsys, *argv, "--skills", module)
    assert code == 2 and words in said.err


def test_register_in_a_catalog(monkeypatch, tmp_path, capsys):
    with moto_aws(monkeypatch):
        from aslant.adapters.clients import client

        client("dynamodb", "us-east-1").create_table(**keys.catalog_table("aslant-catalog"))
        target = SimpleNamespace(settings=Settings())
        monkeypatch.setattr(command, "connected", lambda args: contextlib.nullcontext(target))
        good = tmp_path / "crm.yaml"
        good.write_text("name: crm\ntarget: https://crm.example.com/sync\nowner: sales\nparameters: {properties: {who: {type: string}}}\n")
        bad = tmp_path / "bad.yaml"
        bad.write_text("- {name: a, target: nowhere}\n- {agent_name: d, implementation: {type: docker_container}}\n- {name: b, target: 'https://b', status: lost}\n- 7\n")
        assert out(capsys, "list")[0] == 0
        assert out(capsys, "add", str(good))[1].out == "crm 1.0.0 is registered, active\n"
        code, said = out(capsys, "add", str(bad))
        assert code == 1 and [word in said.err for word in ("target is no", "status must be one of", "skill 4", "d: a container")] == [True] * 4
        assert [one["name"] for one in json.loads(out(capsys, "list", "--json")[1].out)] == ["crm"]
        agent = tmp_path / "agent.json"
        agent.write_text(json.dumps({
            "agent_name": "join", "description": "Joins.", "tool_specification": {
                "parameters": {"left": {"type": "string", "required": True}, "right": {"type": "integer", "default": 10}},
                "returns": {"type": "object", "properties": {"result": {"type": "string"}}}},
            "implementation": {"type": "python_function", "code": "def execute(left, right):\n    return {'result': f'{left}_{right}'}"}}))
        assert out(capsys, "add", str(agent))[0] == 0
        code, said = out(capsys, "test", "join", "-i", "left=a")
        assert (code, json.loads(said.out)) == (0, {"result": "a_10"})
        assert out(capsys, "test", "join", "-i", "right=3")[0] == 1
        assert "who:" in out(capsys, "show", "crm")[1].out


STEPS = """\
name: w
steps:
  - {id: a, type: skill, config: {skill: count, parameters: {wrd: x}}}
  - {id: b, type: skill, config: {skill: count, parameters: {word: "{{ input.w }}", times: two}}}
  - {id: c, type: skill, config: {skill: gone}}
  - {id: d, type: skill, config: {skill: old}}
  - {id: e, type: skill, config: {skill: "{{ input.any }}", parameters: {x: 1}}}
  - {id: f, type: skill, config: {skill: count, parameters: "{{ input.all }}"}}
  - {id: h, type: agent, config: {prompt: Go, tools: [{skill: old}, gone, count, "{{ input.any }}"]}}
  - {id: g, type: skill, config: {skill: unknown}, compensation: {id: u, type: skill, config: {skill: count, parameters: {word: 1}}}}
"""


def test_calls_are_checked_before_a_run(module, tmp_path, capsys):
    path = tmp_path / "w.yaml"
    path.write_text(STEPS)
    assert main(["validate", str(path), "--skills", module, "--format", "json"]) == 1
    found = [(each["code"], each["line"]) for each in json.loads(capsys.readouterr().out)["findings"] if each["code"][0] == "R"]
    assert sorted(found) == sorted([("R004", 3), ("R004", 3), ("R004", 4), ("R003", 5), ("R005", 6), ("R005", 9), ("R003", 9),
                                   ("R004", 10)])


def test_a_text_where_a_number_is_wanted_tells_how_to_compute_it():
    skills.register("pay", pay)
    text = '''
dialect: agents
metadata: {name: w}
nodes:
  - {id: a, agent: pay, parameters: {amount: "{sum([g.gross for g in state.gross])}", nme: 1}}
  - {id: b, agent: pay, parameters: {amount: "much"}}
edges: [{from: a, to: b}]
'''
    found = skill_findings.of_process(compile_sources([Source(text, "w.yaml")]), Settings())
    assert [(each.position.line, "${{ sum([g.gross for g in state.gross]) }}" in each.hint) for each in found] == [
        (5, True), (5, False), (6, False)]
    assert text.split("\n")[4][found[1].position.column - 1 :].startswith("1}}")


def pay(amount: float) -> None: ...


def test_what_a_tenant_has_is_checked_before_it_is_published(monkeypatch):
    stored = {"acme": [SkillSpec(name="crm", target="https://crm", status="deprecated", version="1.0.0"),
                       SkillSpec(name="off", target="https://off", status="inactive")]}
    monkeypatch.setattr(bootstrap, "skill_store", lambda settings: SimpleNamespace(all=lambda tenant: stored.get(tenant, [])))
    skills.register("here", lambda: 1)
    names = ("crm", "off", "here", "there", "nowhere")
    compiled = compile_sources([Source(json.dumps({"dialect": "canonical", "id": "w", "steps": [
        {"id": name, "type": "skill", "config": {"skill": name}} for name in names]}), "w.json")])
    found = skill_findings.of_registry(compiled, Settings(), "acme", {"there": []})
    assert {(each.code, str(each.severity), each.message.split("'")[1]) for each in found} == {
        ("R005", "warning", "crm"), ("R003", "error", "off"), ("R007", "warning", "nowhere")}
    other = skill_findings.of_registry(compiled, Settings(), "other", {"there": []})
    assert sorted((each.code, each.message.split("'")[1]) for each in other) == [("R007", "crm"), ("R007", "nowhere"), ("R007", "off")]
    # Modules that this process does not have hide nothing, and break nothing.
    assert skill_findings.of_registry(compiled, Settings(skill_modules=("not_in_this_process",)), "acme", {"there": []}) == found
    # What the functions of another process say of themselves has come with the address.
    skills.register("here", lambda width: 1)
    told = json.loads(json.dumps(skills.specifications()))
    there = {name: [SkillSpec(**each) for each in specs] for name, specs in told.items()}
    skills.unregister()
    assert [(each.code, each.message.split(": ", 2)[2]) for each in skill_findings.of_registry(compiled[:1], Settings(), "acme", there)
            if "'here'" in each.message] == [("R004", "width is required")]
    # Whose functions are not known says nothing about skills that may be some.
    assert [each.code for each in skill_findings.of_registry(compiled, Settings(), "other", None)] == []
