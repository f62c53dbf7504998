"""What each field of the dialect means in canonical data."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.unit.dialects.common.reading import canonical, problems, read_all, steps_by_id
from translator.diagnostics import Findings
from translator.dialects.registry import read
from translator.source import load

LOANS = """
name: library loans
description: Tells readers about books that are due.
version: 4
triggers:
  - {type: schedule, config: {cron_expression: "0 6 * * 1-5", timezone: Europe/Paris}}
  - {type: webhook, config: {path: /loans}}
  - type: manual
error_handling:
  on_error: retry
  max_retries: 2
  retry_delay: 1500
steps:
  - id: step_fetch
    name: Fetch loans
    type: http
    config:
      method: GET
      url: "https://catalogue.example/loans?branch={{ input.branch }}"
      headers: {Accept: application/json}
      timeout: 20
    timeout: 45000
    retry: {max_attempts: 4, backoff: linear, initial_delay: 2000}
  - id: step_late
    name: Late ones
    type: transform
    config:
      expression: "[loan for loan in steps.step_fetch.body.loans if loan.days > 28]"
      output_key: late
  - id: step_any
    name: Any at all?
    type: conditional
    config:
      condition: "len(steps.step_late.late) > 0"
      branches:
        true: {target_step: step_write}
        false: {target_step: step_quiet}
  - id: step_write
    name: Write the letter
    type: agent
    config:
      agent_id: librarian
      input: "A letter to ${{ input.branch }} about {{ len(steps.step_late.late) }} books"
      parameters: {tone: "{{ input.tone }}"}
  - id: step_tell
    name: Tell everybody
    type: parallel
    depends_on: step_write
    config:
      wait_for_all: false
      steps:
        - {name: By mail, type: notification, config: {channel: email, message: "{{ steps.step_write.output }}"}}
        - {name: By webhook, type: http, config: {method: POST, url: "https://hooks.example/l", body: {n: 1}}}
  - id: step_quiet
    name: Wait a little
    type: delay
    config: {duration_ms: 2500}
  - id: step_done
    name: Done
    type: notification
    config: {channel: sns, message: done}
"""


def step(fields: str) -> dict[str, Any]:
    result: dict[str, Any] = canonical(f"name: one\nsteps:\n  - {{id: s, {fields}}}\n")["steps"][0]
    return result


def test_a_whole_definition() -> None:
    data = canonical(LOANS)
    steps = steps_by_id(data)
    assert data["version"] == "4.0.0"
    assert data["triggers"][0] == {"type": "schedule",
        "config": {"cron_expression": "0 6 * * 1-5", "timezone": "Europe/Paris"}}
    assert data["settings"] == {"on_error": "fail",
        "retry": {"max_attempts": 3, "strategy": "fixed", "delay": 1.5}}
    assert steps["step_fetch"] == {
        "id": "step_fetch", "name": "Fetch loans", "type": "http", "timeout": 45,
        "retry": {"max_attempts": 4, "strategy": "linear", "delay": 2},
        "config": {"method": "GET", "url": "https://catalogue.example/loans?branch={{ input.branch }}",
            "headers": {"Accept": "application/json"}, "timeout": 20},
    }
    assert steps["step_late"]["config"] == {
        "expression": '{"late": ([loan for loan in steps.step_fetch.body.loans if loan.days > 28])}'}
    assert steps["step_any"]["type"] == "choice"
    assert steps["step_any"]["cases"] == [{"name": "true", "when": "len(steps.step_late.late) > 0"}]
    assert steps["step_any"]["default"] == "false"
    assert steps["step_write"]["config"]["input"] == (
        "A letter to {{  input.branch }} about {{ len(steps.step_late.late) }} books")
    assert steps["step_tell"]["wait_for_all"] is False
    assert [branch["steps"][0]["id"] for branch in steps["step_tell"]["branches"]] == [
        "step_tell_parallel_0", "step_tell_parallel_1"]
    assert steps["step_tell"]["branches"][0]["steps"][0]["type"] == "notify"
    assert steps["step_quiet"] == {"id": "step_quiet", "name": "Wait a little", "type": "wait", "seconds": 2.5,
        "depends_on": [{"step": "step_any", "on": ["false"]}]}
    assert steps["step_done"]["depends_on"] == ["step_any", "step_tell", "step_quiet"]


def test_no_retry_unless_it_is_written() -> None:
    assert "retry" not in step("type: skill, config: {skill: x}")
    assert "settings" not in canonical("name: x\nsteps:\n  - {id: s, type: skill, config: {skill: x}}\n")


@pytest.mark.parametrize(("handling", "settings"), [
    ("on_error: continue", {"on_error": "continue"}),
    ("on_error: skip", {"on_error": "continue"}),
    ("on_error: fail", {"on_error": "fail"}),
    ("on_error: retry", {"on_error": "fail", "retry": {"max_attempts": 4, "strategy": "fixed", "delay": 1}}),
    ("{on_error: continue, max_retries: 1, retry_delay: 3s}",
        {"on_error": "continue", "retry": {"max_attempts": 2, "strategy": "fixed", "delay": 3}}),
    ("{on_error: fail, max_retries: 0}", {"on_error": "fail"}),
])
def test_error_handling(handling: str, settings: dict[str, Any]) -> None:
    written = handling if handling.startswith("{") else "{" + handling + "}"
    data = canonical(f"name: x\nerror_handling: {written}\nsteps:\n  - {{id: s, type: skill, config: {{skill: x}}}}\n")
    assert data["settings"] == settings


@pytest.mark.parametrize(("fields", "expected"), [
    ("config: {duration_ms: 1500}", 1.5),
    ("config: {duration: 60000}", 60),
    ("config: {duration: 2m}", 120),
    ("config: {seconds: 7}", 7),
    ("config: {seconds: '{{ input.n }}'}", "{{ input.n }}"),
    ("config: {duration_ms: '{{ input.n }}'}", "{{ (input.n) / 1000 }}"),
])
def test_delays(fields: str, expected: Any) -> None:
    assert step(f"type: delay, {fields}")["seconds"] == expected


def test_a_delay_until_an_instant() -> None:
    assert step("type: delay, config: {until: 2020-01-01T00:00:00+02:00}")["until"] == "2020-01-01T00:00:00+02:00"


@pytest.mark.parametrize(("config", "expected"), [
    ("{expression: input.a}", '{"result": (input.a)}'),
    ("{expression: '{{ input.a }}', output_key: total}", '{"total": (input.a)}'),
    ("{expression: \"{{ input.a }} * 2 + ${{ input.b }}\", output_key: t}", '{"t": (input.a * 2 + input.b)}'),
    ("{expression: \"'Dear {{ input.name }}!'\", output_key: t}", "{\"t\": (('Dear ' ~ input.name ~ '!'))}"),
    ("{expression: input.a, output_key: ''}", "input.a"),
    ("{expression: item.n > 1, operation: filter, data: []}", "item.n > 1"),
])
def test_transform_puts_the_value_under_its_output_key(config: str, expected: str) -> None:
    assert step(f"type: transform, config: {config}")["config"]["expression"] == expected


@pytest.mark.parametrize(("branches", "cases", "default"), [
    ("[{condition: input.n > 9, target_step: s}, {name: mid, condition: '{{ input.n > 5 }}', target_step: s}]",
        [{"name": "branch_1", "when": "input.n > 9"}, {"name": "mid", "when": "input.n > 5"}], None),
    ("[{when: input.n > 9, target_step: s}, {name: rest, default: true, target_step: s}]",
        [{"name": "branch_1", "when": "input.n > 9"}], "rest"),
])
def test_lists_of_branches(branches: str, cases: list[dict[str, str]], default: str | None) -> None:
    data = canonical(f"""
name: x
steps:
  - {{id: r, type: conditional, config: {{branches: {branches}}}}}
  - {{id: s, type: skill, config: {{skill: x}}}}
""")
    assert data["steps"][0]["cases"] == cases
    assert data["steps"][0].get("default") == default


def test_a_list_of_branches_with_a_default_target() -> None:
    data = canonical("""
name: x
steps:
  - id: r
    type: conditional
    config:
      branches:
        - {name: high, condition: input.n > 9, target_step: a}
      default: b
  - {id: a, type: skill, config: {skill: x}}
  - {id: b, type: skill, config: {skill: x}}
""")
    assert data["steps"][0]["default"] == "default"
    assert data["steps"][2]["depends_on"] == [{"step": "r", "on": ["default"]}]


def test_sub_steps_that_depend_on_each_other_share_a_branch() -> None:
    data = canonical("""
name: x
steps:
  - id: p
    type: parallel
    config:
      max_parallel: 2
      steps:
        - {id: a, type: skill, config: {skill: x}}
        - {id: b, type: skill, config: {skill: x}}
        - {id: c, type: skill, config: {skill: x}, depends_on: a}
""")
    branches = data["steps"][0]["branches"]
    assert [[inner["id"] for inner in branch["steps"]] for branch in branches] == [["a", "c"], ["b"]]
    assert branches[0]["steps"][1]["depends_on"] == ["a"]
    assert data["steps"][0]["max_parallel"] == 2


def test_canonical_keys_are_taken() -> None:
    data = canonical("""
name: x
inputs: {country: {type: string, enum: [NO, SE], default: NO}}
settings: {timeout: 1h, max_parallel: 3}
steps:
  - id: ask
    type: approval
    config: {message: Go?, approvers: [ana]}
    timeout: 2d
    on_failure: abort
    output_key: answer
    cache: {ttl: 10m, key: "${{ input.country }}"}
    compensation: {id: undo, type: skill, config: {skill: undo}, timeout: 1000}
  - {id: child, type: workflow, config: {workflow_id: other, input: {a: "${{ input.country }}"}}, when: "{{ input.ok }}"}
finally:
  - {id: end, type: notification, config: {message: bye}}
""")
    ask, child = data["steps"]
    assert data["inputs"]["country"]["default"] == "NO"
    assert data["settings"] == {"timeout": 3600, "max_parallel": 3}
    assert (ask["timeout"], ask["on_failure"], ask["output_key"]) == (172_800, "fail", "answer")
    assert ask["cache"] == {"ttl": 600, "key": "{{  input.country }}"}
    assert ask["compensation"] == {"id": "undo", "type": "skill", "config": {"skill": "undo"}, "timeout": 1}
    assert (child["workflow"], child["when"]) == ("other", "input.ok")
    assert data["finally"][0]["type"] == "notify"


def test_retry_may_stand_in_config() -> None:
    found = step("type: http, config: {url: 'https://x.example', retry: {max_attempts: 2, backoff: fixed}}")
    assert found["retry"] == {"max_attempts": 2, "strategy": "fixed"}
    assert found["config"] == {"url": "https://x.example"}


@pytest.mark.parametrize(("fields", "codes"), [
    ("type: ^htp", "D030"),
    ("type: http, ^timeut: 3", "D010"),
    ("type: http, timeout: ^30", "D024"),
    ("type: http, timeout: ^soon", "D022"),
    ("type: http, timeout: ^[1]", "D012"),
    ("type: http, timeout: ^400000", "D023"),
    ("type: http, retry: {max_attempts: ^0}", "D014"),
    ("type: http, retry: {max_attempts: ^9}", "D023"),
    ("type: http, retry: {^backof: fixed}", "D010"),
    ("type: http, retry: {backoff: ^slow}", "D013"),
    ("type: http, retry: {backoff: fixed, ^strategy: linear}", "D033"),
    ("type: http, name: ^7", "D012"),
    ("type: http, depends_on: [^1]", "D012"),
    ("type: http, on_failure: ^explode", "D013"),
    ("type: conditional, config: ^{branches: {true: {target_step: s}}}", "D032"),
    ("type: conditional, config: {condition: a, branches: {^maybe: {target_step: s}}}", "D032"),
    ("type: conditional, config: {condition: a, branches: [^{target_step: s}]}", "D032"),
    ("type: conditional, config: {^conditon: a, condition: a}", "D010"),
    ("type: conditional, config: {condition: a, branches: {true: {target_step: ^other}}}", "D036"),
    ("type: parallel, config: {steps: [{^typ: http}]}", "D010"),
    ("type: parallel, config: {^wait: true}", "D010"),
    ("type: delay, config: {seconds: 1, ^duration: 1000}", "D033"),
    ("type: delay, config: {duration: ^soon}", "D022"),
    ("type: http, config: {url: x, retry: ^3}", "D012"),
    ("type: http, config: {url: x, retry: {^max: 3}}", "D010"),
    ("type: transform, config: {expression: a, output_key: ^[x]}", "D012"),
])
def test_mistakes_are_found_where_they_stand(fields: str, codes: str) -> None:
    """`^` stands before the place."""
    line = f"  - {{id: s, {fields}}}"
    columns = [match.start() + 1 - number for number, match in enumerate(re.finditer(r"\^", line))]
    expected = [(code, 3, column) for code, column in zip(codes.split(), columns, strict=True)]
    assert problems("name: one\nsteps:\n" + line.replace("^", "") + "\n") == expected


@pytest.mark.parametrize("fields", ["name: n", "type: transform"])
def test_what_is_missing_is_reported_at_the_step(fields: str) -> None:
    assert [(line, column) for _, line, column in problems(f"name: one\nsteps:\n  - {{id: s, {fields}}}\n")] == [(3, 5)]


def test_unknown_keys_at_the_top_and_parked_anchors() -> None:
    text = "name: x\nx-retry: &r {max_attempts: 2}\nerorr_handling: {}\nsteps:\n" \
        "  - {id: s, type: skill, config: {skill: x}, retry: *r}\n"
    data, found = read_all(text)
    assert data is not None and "erorr_handling" not in data
    assert [(diagnostic.code, diagnostic.hint) for diagnostic in found] == [("D010", "did you mean `error_handling`?")]
    assert canonical(text.replace("erorr_handling: {}\n", ""))["steps"][0]["retry"] == {"max_attempts": 2}


def test_a_text_and_its_data_twin_mean_the_same() -> None:
    yaml = "name: n\nsteps:\n  - {id: no, type: skill, config: {skill: x, parameters: {on: off}}}\n" \
        "  - {id: yes, type: skill, config: {skill: x}, depends_on: [no]}\n"
    json = '{"name": "n", "steps": [{"id": "no", "type": "skill", "config": {"skill": "x", "parameters": {"on": "off"}}},' \
        ' {"id": "yes", "type": "skill", "config": {"skill": "x"}, "depends_on": ["no"]}]}'
    assert canonical(yaml) == canonical(json)
    assert canonical(yaml)["steps"][1]["depends_on"] == ["no"]
    assert canonical(yaml)["steps"][0]["config"]["parameters"] == {"on": "off"}


def test_two_spellings_of_an_accent_are_one_id() -> None:
    data = canonical("name: x\nsteps:\n  - {id: \"\u00e9tape-1\", type: skill, config: {skill: x}}\n"
        "  - {id: b, type: skill, config: {skill: x}, depends_on: [\"e\u0301tape-1\"]}\n")
    assert data["steps"][1]["depends_on"] == [data["steps"][0]["id"]] == ["\u00e9tape-1"]


def test_dates_stay_texts() -> None:
    data, found = read_all("name: dates\nversion: 2024-01-16\nsteps:\n"
        "  - {id: a, type: skill, config: {skill: x, parameters: {d: 2024-11-01, t: 2024-11-01T00:00:00+02:00}}}\n")
    assert data is not None
    assert data["version"] == "2024-01-16"
    assert data["steps"][0]["config"]["parameters"] == {"d": "2024-11-01", "t": "2024-11-01T00:00:00+02:00"}
    assert [(diagnostic.code, diagnostic.position.line) for diagnostic in found] == [("D021", 2)]


def test_expressions_keep_their_place() -> None:
    lines = ["name: x", "steps:", "  - id: a", "    type: transform", "    when: ${{  ^input.ok }}", "    config:",
        '      expression: "^input.n + 1"', "      output_key: n", "  - id: b", "    type: conditional",
        "    config: {condition: '{{ ^input.ok }}'}"]
    document = load("\n".join(lines).replace("^", ""), Findings())
    assert document is not None
    found = read(document, Findings())
    assert found is not None
    first, second = found[1]["steps"]
    wrapped = first["config"].at("expression").column + len('{"n": (')
    places = [(5, first.at("when").column), (7, wrapped), (11, second["cases"][0].at("when").column)]
    assert places == [(number, line.index("^") + 1) for number, line in enumerate(lines, 1) if "^" in line]


def test_ids_of_any_kind_are_kept_and_repeated_ones_too() -> None:
    names = ["toString", "items", "It's a.b/c", "__class__", "flip-coin", "🚦gate", "dup", "dup"]
    text = "name: x\nsteps:\n" + "".join(
        f"  - {{id: \"{name}\", type: skill, config: {{skill: x}}}}\n" for name in names)
    assert [found["id"] for found in canonical(text)["steps"]] == names
