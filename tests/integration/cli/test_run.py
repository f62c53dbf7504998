"""`aslant run`: whole runs on the local cloud through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.cli.main import main
from tests.integration.cli.processes import LIMIT, Forked

FLOW = """\
dialect: canonical
name: flow
inputs:
  n: {type: integer, default: 5}
  dry_run: {type: boolean, default: true}
  s: {type: string, default: dflt}
steps:
  - {id: twice, type: skill, config: {skill: double, parameters: {n: "{{ input.n }}"}}}
  - id: route
    type: choice
    depends_on: [twice]
    cases: [{name: big, when: "steps.twice.output > 100"}]
    default: small
  - {id: never, type: skill, depends_on: [{step: route, on: [big]}], config: {skill: double, parameters: {n: 1}}}
  - id: each
    type: foreach
    depends_on: [twice]
    items: [1, 2]
    steps: [{id: one, type: skill, config: {skill: double, parameters: {n: "{{ item }}"}}}]
outputs: {twice: "{{ steps.twice.output }}", each: "{{ steps.each.output }}", given: "{{ input }}"}
"""
SKILLS = """\
def double(n):
    return n * 2

def broken(n=0):
    raise LookupError("nothing there\\x1b[31m")

class Again(Exception):
    pass

def flaky(n=0, seen=[]):
    seen.append(n)
    if len(seen) < 3:
        raise Again("and again")
    return len(seen)
"""
ASK = """\
dialect: canonical
name: ask
steps:
  - id: sign-off
    type: approval
    timeout: {timeout}
    config: {{message: "Really?", approval_type: {kind}{more}}}
outputs: {{answer: "{{{{ steps['sign-off'].output }}}}"}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.yaml").write_text(FLOW, encoding="utf-8")
    (tmp_path / "skills.py").write_text(SKILLS, encoding="utf-8")
    return tmp_path


def ran(argv: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert main(["run", "--json", *argv]) == code, capsys.readouterr()
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def states(document: dict[str, Any]) -> dict[str, str]:
    return {
        row["step"] + "".join(f"[{index}]" for index in row["iteration"]): row["status"] for row in document["steps"]
    }


def test_the_output_alone_goes_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "flow.yaml", "--skills", "skills.py", "-i", "n=7"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "twice": 14, "each": [2, 4], "given": {"n": 7, "dry_run": True, "s": "dflt"},
    }
    assert "completed         one[1]" in captured.err and captured.err.splitlines()[-1].startswith("completed in ")


def test_the_document_tells_every_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = ran(["flow.yaml", "--skills", "skills.py"], capsys)
    assert document["status"] == "completed" and document["error"] is None
    assert states(document) == {
        "twice": "completed", "route": "completed", "never": "skipped", "each": "completed",
        "one[0]": "completed", "one[1]": "completed",
    }
    for row in document["steps"]:
        if row["status"] == "completed":
            assert row["attempts"] == 1 and row["duration"] >= 0 and row["started"] >= document["started"][:19]
    assert document["simulated"] == []


@pytest.mark.parametrize(("given", "expected"), [
    ([], {"dry_run": True, "n": 5, "s": "dflt"}),
    (["-i", '{"dry_run": false, "n": 0, "s": ""}'], {"dry_run": False, "n": 0, "s": ""}),
    (["-i", "dry_run=false", "-i", "n=0", "-i", "s="], {"dry_run": False, "n": 0, "s": ""}),
])
def test_explicit_falsy_inputs_stay(
    given: list[str], expected: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = ran(["flow.yaml", "--skills", "skills.py", *given], capsys)
    assert document["output"]["given"] == expected
    assert {name: type(value) for name, value in document["output"]["given"].items()} == {
        name: type(value) for name, value in expected.items()}


@pytest.mark.parametrize("given", [
    '{"dry_run": "false"}', '{"dry_run": null}', '{"n": "7"}', '{"n": true}', '{"n": 356686000032329832}', "m=1",
])
def test_wrong_inputs_start_nothing(given: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = ran(["flow.yaml", "-i", given], capsys, code=2)
    assert document["status"] == "refused" and len(document["input_problems"]) == 1


def test_a_failure_names_step_reason_place_and_what_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = 'skill: double, parameters: {n: "{{ item'
    (folder / "flow.yaml").write_text(FLOW.replace(inner, inner.replace("double", "broken")), encoding="utf-8")
    assert main(["run", "flow.yaml", "--skills", "skills.py"]) == 3
    captured = capsys.readouterr()
    assert captured.out == "" and "\x1b" not in captured.err
    assert "flow.yaml:19:18: step one[" in captured.err
    assert ": LookupError\n  nothing there" in captured.err
    assert "   19 |     steps: [{id: one" in captured.err and "hint:" in captured.err


def test_an_unknown_skill_lists_the_known_ones_and_is_simulated_on_request(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.py").write_text("def dubble(n): return n", encoding="utf-8")
    document = ran(["flow.yaml", "--skills", "other.py"], capsys, code=1)
    assert document["status"] == "refused"
    assert [(row["kind"], row["name"], row["step"], row["line"]) for row in document["missing"]] == [
        ("skill", "double", "twice", 8), ("skill", "double", "never", 14), ("skill", "double", "one", 19)]
    assert "did you mean dubble?" in document["missing"][0]["message"]
    assert [(row["code"], row["line"]) for row in document["findings"]] == [("R001", 8), ("R001", 14), ("R001", 19)]
    (folder / "flow.yaml").write_text(FLOW.replace(
        '"steps.twice.output > 100"', '"input.n > 100"'), encoding="utf-8")
    document = ran(["flow.yaml", "--simulate"], capsys)
    assert document["simulated"] == ["twice", "one"]
    assert document["output"]["twice"]["simulated"] is True


def test_retries_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "r.yaml").write_text("""\
dialect: canonical
name: r
steps:
  - id: shaky
    type: skill
    retry: {max_attempts: 3, delay: 1, on: [Again]}
    config: {skill: flaky, parameters: {}}
outputs: {n: "{{ steps.shaky.output }}"}
""", encoding="utf-8")
    document = ran(["r.yaml", "--skills", "skills.py", "--time-scale", "100"], capsys)
    assert document["output"] == {"n": 3}
    assert document["steps"][0]["attempts"] == 3 and document["steps"][0]["error"] is None


@pytest.mark.parametrize(("kind", "more", "answer", "expected"), [
    ("approve_reject", "", "sign-off", {"approved": True, "answer": None}),
    ("approve_reject", ", on_reject: continue", "sign-off=reject", {"approved": False, "answer": None}),
    ("text_input", "", "sign-off=as=is", {"approved": True, "answer": "as=is"}),
    ("multiple_choice", ", options: [red, blue]", "*=blue", {"approved": True, "answer": "blue"}),
    ("multiple_choice", ", options: [red, blue]", "sign-off=1", {"approved": True, "answer": "red"}),
])
def test_approvals_are_answered_beforehand(
    kind: str, more: str, answer: str, expected: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ask.yaml").write_text(ASK.format(timeout=60, kind=kind, more=more), encoding="utf-8")
    document = ran(["ask.yaml", "--approve", answer], capsys)
    assert {key: document["output"]["answer"][key] for key in expected} == expected
    assert document["approvals"][0]["outcome"] == ("approved" if expected["approved"] else "rejected")
    assert states(document) == {"sign-off": "completed"}


def test_a_no_fails_the_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ask.yaml").write_text(ASK.format(timeout=60, kind="approve_reject", more=""), encoding="utf-8")
    document = ran(["ask.yaml", "--approve", "sign-off=reject"], capsys, code=3)
    assert document["error"]["error"] == "ApprovalRejected" and document["error"]["step"] == "sign-off"


def test_an_answer_that_the_question_does_not_take_is_a_usage_mistake(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ask.yaml").write_text(
        ASK.format(timeout=60, kind="multiple_choice", more=", options: [red, blue]"), encoding="utf-8")
    assert main(["run", "ask.yaml", "--approve", "sign-off=green"]) == 2
    assert "none of red, blue" in capsys.readouterr().err
    assert main(["run", "ask.yaml", "--approve", "sign-of"]) == 2
    assert "did you mean sign-off?" in capsys.readouterr().err


def test_nobody_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ask.yaml").write_text(ASK.format(timeout=90, kind="approve_reject", more=""), encoding="utf-8")
    assert main(["run", "ask.yaml", "--time-scale", "60"]) == 3
    err = capsys.readouterr().err
    assert "sign-off waits for an answer: Really?" in err and "ApprovalExpired" in err
    assert err.index("R006") < err.index("sign-off waits for an answer")
    assert main(["run", "ask.yaml", "--strict"]) == 1
    err = capsys.readouterr().err
    assert "answer it with --approve sign-off\n" in err and "running" not in err
    assert main(["run", "ask.yaml", "--strict", "--approve", "*"]) == 0


PARENT = """\
dialect: canonical
name: parent
steps:
  - {id: call, type: workflow, workflow: child, input: {x: 4}}
outputs: {got: "{{ steps.call.output }}"}
"""
CHILD = """\
dialect: canonical
id: child
name: The child
inputs: {x: {type: integer}, y: {type: integer, default: 1}}
steps:
  - {id: sum, type: transform, config: {expression: "input.x + input.y"}}
outputs: {sum: "{{ steps.sum.output }}"}
"""


def test_a_sub_workflow_is_found_in_the_folder_by_its_id(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "parent.yaml").write_text(PARENT, encoding="utf-8")
    (folder / "any-name.yaml").write_text(CHILD, encoding="utf-8")
    (folder / "broken.yaml").write_text("a: [", encoding="utf-8")
    assert ran(["parent.yaml"], capsys)["output"] == {"got": {"sum": 5}}
    assert main(["validate", "parent.yaml", "--strict"]) == 0


def test_other_mistakes_do_not_hide_a_sub_workflow(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "parent.yaml").write_text(
        PARENT.replace("outputs:", "  - {id: bad, type: skill, config: {skill: x, nope: 1}}\noutputs:"), encoding="utf-8")
    (folder / "any-name.yaml").write_text(CHILD, encoding="utf-8")
    for command in ("validate", "run", "graph", "compile"):
        assert main([command, "parent.yaml"]) == 1
        captured = capsys.readouterr()
        assert "error G015" in captured.out + captured.err and "G019" not in captured.out + captured.err


def test_a_mistake_in_a_sub_workflow_is_told_where_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "parent.yaml").write_text(PARENT, encoding="utf-8")
    (folder / "any-name.yaml").write_text(CHILD.replace("input.x + input.y", "input.x + input.z"), encoding="utf-8")
    document = ran(["parent.yaml"], capsys, code=1)
    assert {row["file"] for row in document["findings"] if row["severity"] == "error"} == {"any-name.yaml"}


def test_a_missing_sub_workflow_is_an_error_before_the_start(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "parent.yaml").write_text(PARENT, encoding="utf-8")
    document = ran(["parent.yaml"], capsys, code=1)
    assert document["status"] == "refused"
    assert [row["severity"] for row in document["findings"]] == ["error"] and document["findings"][0]["line"] == 4
    document = ran(["parent.yaml", "--simulate"], capsys)
    assert document["output"]["got"]["simulated"] is True and document["simulated"] == ["call"]


def test_findings_keep_a_definition_from_running(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.yaml").write_text("name: x\nsteps: [{id: a, type: nope}]\n", encoding="utf-8")
    assert main(["run", "bad.yaml"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "bad.yaml:2:" in captured.err


def test_a_run_is_stopped_after_its_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flow = "dialect: canonical\nname: w\nsteps: [{id: nap, type: wait, seconds: 600}]\n"
    (folder / "w.yaml").write_text(flow, encoding="utf-8")
    document = ran(["w.yaml", "--timeout", "0.3"], capsys, code=3)
    assert document["status"] == "timed_out" and states(document) == {"nap": "cancelled"}
    document = ran(["w.yaml", "--time-scale", "6000"], capsys)
    assert document["status"] == "completed" and document["duration"] >= 600


def test_skills_that_cannot_be_loaded_are_a_usage_mistake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "flow.yaml", "--skills", "none.py"]) == 2
    assert "none.py" in capsys.readouterr().err


def test_secrets_reach_the_step_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "s.yaml").write_text("""\
dialect: canonical
name: s
steps:
  - {id: use, type: skill, config: {skill: size, parameters: {text: "{{ secrets.api_key }}"}}}
outputs: {n: "{{ steps.use.output }}"}
""", encoding="utf-8")
    (folder / "size.py").write_text("def size(text): return len(text)", encoding="utf-8")
    monkeypatch.setenv("api_key", "hush-hush")
    assert ran(["s.yaml", "--skills", "size.py", "--secret", "api_key"], capsys)["output"] == {"n": 9}
    assert ran(["s.yaml", "--skills", "size.py", "--secret", "api_key=abc"], capsys)["output"] == {"n": 3}
    assert main(["run", "s.yaml", "--secret", "no_such_variable"]) == 2


def test_the_timeline_has_a_bar_for_each_step_that_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW, encoding="utf-8")
    (tmp_path / "own.py").write_text(SKILLS, encoding="utf-8")
    assert main(["run", str(tmp_path / "flow.yaml"), "--skills", str(tmp_path / "own.py"), "--timeline", "--no-watch"]) == 0
    shown = capsys.readouterr().err
    rows = [line.split()[0] for line in shown.splitlines() if "█" in line]
    assert sorted(rows) == ["each", "one[0]", "one[1]", "route", "twice"]
    assert "not taken: never" in shown


LACKING = """\
dialect: canonical
name: lacking
steps:
  - {id: one, type: skill, config: {skill: double, parameters: {n: 1}}}
  - {id: two, type: skill, config: {skill: nowhere, parameters: {text: "for {{ secrets.door }}"}}}
  - {id: any, type: skill, config: {skill: "{{ input.which }}", parameters: {}}, when: "input.which != null"}
  - {id: model, type: agent, config: {prompt: hi, tools: [{skill: missing_tool}]}}
inputs: {which: {type: string, required: false}}
"""


def test_what_a_run_lacks_is_told_at_once_and_starts_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "lacking.yaml").write_text(LACKING, encoding="utf-8")
    (folder / "own.py").write_text("def double(n): open('started', 'w').close()", encoding="utf-8")
    assert main(["run", "lacking.yaml", "--skills", "own.py"]) == 1
    shown = capsys.readouterr().err
    assert "lacking.yaml:5:44: error R001 step two: no skill 'nowhere' is registered" in shown
    assert "lacking.yaml:5:" in shown and "the secret 'door' is not given" in shown and "--secret door=VALUE" in shown
    assert "lacking.yaml:7:67: error R001 step model: no skill 'missing_tool' is registered" in shown
    assert "double" not in shown.replace("registered: double", "") and "step any" not in shown
    assert not (folder / "started").exists()


def test_under_simulation_what_is_lacking_has_a_marked_stand_in(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "lacking.yaml").write_text(LACKING, encoding="utf-8")
    (folder / "own.py").write_text("def double(n): return n", encoding="utf-8")
    document = ran(["lacking.yaml", "--skills", "own.py", "--simulate"], capsys)
    assert document["status"] == "completed" and document["simulated"][:1] == ["two"]
    assert "secrets that were not given had a stand-in: door" in document["notes"]


def test_a_secret_that_nothing_uses_is_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = ran(["flow.yaml", "--skills", "skills.py", "--secret", "spare=tyre"], capsys)
    assert document["notes"] == ["no step uses the secret spare"]


FAILING = """\
dialect: canonical
name: failing
steps:
  - id: bench
    type: skill
    on_failure: continue
    retry: {max_attempts: 3, delay: 1, on: [Again]}
    config: {skill: broken, parameters: {}}
  - {id: each, type: foreach, items: [1, 2], on_item_error: continue, depends_on: [bench],
     steps: [{id: one, type: skill, config: {skill: broken, parameters: {}}}]}
"""


def test_failures_that_the_run_goes_on_after_say_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "failing.yaml").write_text(FAILING, encoding="utf-8")
    assert main(["run", "failing.yaml", "--skills", "skills.py"]) == 0
    shown = capsys.readouterr().err.splitlines()
    ends = shown[-4:-1]
    assert [line[:35] for line in ends] == [
        "failed bench: LookupError: nothing ", "failed one[0]: LookupError: nothing", "failed one[1]: LookupError: nothing"]
    assert any("failed            bench (" in line and "LookupError: nothing there" in line for line in shown)


def test_an_error_that_the_retry_does_not_list_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = FAILING.replace("    on_failure: continue\n", "")
    (folder / "failing.yaml").write_text(text, encoding="utf-8")
    document = ran(["failing.yaml", "--skills", "skills.py"], capsys, code=3)
    assert document["error"]["hints"] == [
        "LookupError is not retried unless the retry lists it (`on: [Again, LookupError]`)"]


def test_real_work_keeps_its_time_limit_when_time_runs_faster(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "slow.py").write_text("import time\ndef double(n): time.sleep(n); return n", encoding="utf-8")
    (folder / "slow.yaml").write_text("""\
dialect: canonical
name: slow
inputs: {n: {type: number}}
steps: [{id: work, type: skill, timeout: 2, config: {skill: double, parameters: {n: "{{ input.n }}"}}}]
""", encoding="utf-8")
    assert ran(["slow.yaml", "--skills", "slow.py", "--time-scale", "20", "-i", "n=0.5"], capsys)["status"] == "completed"
    document = ran(["slow.yaml", "--skills", "slow.py", "--time-scale", "20", "-i", "n=4"], capsys, code=3)
    assert (document["error"]["error"], document["error"]["step"]) == ("States.Timeout", "work")
    assert document["error"]["message"] == "the attempt took longer than its 2 s"


def test_the_time_of_the_whole_run_goes_by_the_clock(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flow = "dialect: canonical\nname: w\nsettings: {timeout: 20}\nsteps: [{id: nap, type: wait, seconds: 600}]\n"
    (folder / "w.yaml").write_text(flow, encoding="utf-8")
    document = ran(["w.yaml", "--time-scale", "100"], capsys, code=3)
    assert document["status"] == "timed_out"
    assert document["error"]["message"] == "the run took longer than its 20 s"
    assert "time ran 100 times as fast" in document["error"]["hints"][0]


@pytest.mark.parametrize("steps", [
    """  - {id: each, type: foreach, items: "{{ steps.fetch.output.rows }}", depends_on: [fetch],
     steps: [{id: one, type: transform, config: {expression: "item"}}]}""",
    """  - {id: each, type: foreach, items: "{{ steps.fetch.output }}", depends_on: [fetch],
     steps: [{id: one, type: transform, config: {expression: "item"}}]}""",
    """  - {id: sum, type: transform, depends_on: [fetch], config: {expression: "steps.fetch.output.n + 1"}}""",
])
def test_a_failure_over_simulated_data_says_so(
    steps: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sim.yaml").write_text(
        "dialect: canonical\nname: sim\nsteps:\n  - {id: fetch, type: skill, config: {skill: far, parameters: {}}}\n"
        + steps + "\n", encoding="utf-8")
    document = ran(["sim.yaml", "--simulate"], capsys, code=3)
    assert document["error"]["hints"] == [
        "it works on the result of fetch, which was simulated and is not what a real one would be"]


LOUD = """\
import subprocess, sys

print("imported")

def double(n):
    print("hello from", n, "psst: open-sesame")
    sys.stdout.buffer.write(b"bytes\\n")
    sys.stdout.flush()
    subprocess.run(["echo", "a program says open-sesame"])
    return n * 2
"""


def test_what_skills_print_goes_to_standard_error_without_secrets(folder: Path) -> None:
    (folder / "loud.py").write_text(LOUD, encoding="utf-8")
    for extra in ([], ["--json"]):
        process = Forked(["run", "flow.yaml", "--skills", "loud.py", "--secret", "word=open-sesame", *extra], folder)
        out, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, err
        assert set(json.loads(out)) > {"output"} if extra else json.loads(out)["twice"] == 10
        for text in ("imported", "hello from 5 psst: ***", "bytes", "a program says ***"):
            assert text in err
        assert "open-sesame" not in err


def test_a_command_in_this_process_prints_its_result_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "loud.py").write_text('def double(n):\n    print("loud", n)\n    return n * 2', encoding="utf-8")
    assert main(["run", "flow.yaml", "--skills", "loud.py"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["each"] == [2, 4] and "loud 5" in captured.err and "loud" not in captured.out


def test_what_a_run_lacks_has_codes_in_every_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.yaml").write_text("""\
dialect: canonical
name: s
steps:
  - {id: a, type: skill, config: {skill: nobody, parameters: {key: "{{ secrets.key }}"}}}
""", encoding="utf-8")
    assert main(["run", "s.yaml"]) == 1
    text = capsys.readouterr().err
    assert "s.yaml:4:42: error R001 step a:" in text and ": error R002 step a: the secret 'key'" in text
    assert text.endswith("2 errors\n")
    assert main(["run", "s.yaml", "--format", "json"]) == 1
    rows = json.loads(capsys.readouterr().err)["findings"]
    assert [(row["code"], row["severity"], row["line"]) for row in rows] == [("R001", "error", 4), ("R002", "error", 4)]
    assert main(["run", "s.yaml", "--format", "sarif"]) == 1
    results = json.loads(capsys.readouterr().err)["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["R001", "R002"]
    assert main(["explain", "R001", "r002"]) == 0
    explained = capsys.readouterr().out
    assert "--skills" in explained and "--secret NAME=VALUE" in explained


@pytest.mark.parametrize("option", ["=1", "="])
def test_an_input_without_a_name_is_a_usage_mistake(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(["flow.yaml", "-i", option], capsys, code=2)["status"] == "refused"
    (folder / "free.yaml").write_text(  # declares no inputs, so it takes any
        "dialect: canonical\nname: free\nsteps: [{id: w, type: wait, seconds: 1}]\n", encoding="utf-8")
    assert main(["run", "free.yaml", "-i", option]) == 2
    assert "has no name" in capsys.readouterr().err
