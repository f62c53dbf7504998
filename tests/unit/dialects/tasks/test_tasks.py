"""The tasks dialect: what each of its words means in canonical data."""

from __future__ import annotations

import json

import pytest

from tests.unit.dialects.tasks.reading import Data, attempted, data_file, lowered, places, steps

ROLLOUT = data_file(__file__, "rollout.yaml")


@pytest.fixture(scope="module")
def rollout() -> Data:
    return lowered(ROLLOUT, "tasks")[0]


def one(task: str, more: str = "") -> tuple[Data, list[tuple[str, int, int]]]:
    """The only step of a definition with one task, and the findings."""
    data, found = lowered(f"name: w\n{more}tasks:\n  - {task}\n", "tasks")
    return data["steps"][0], places(found)


def test_the_workflow(rollout: Data) -> None:
    assert {key: rollout[key] for key in ("id", "name", "version", "labels")} == {
        "id": "rollout-with-signoff", "name": "Search index rollout", "version": "2.1.0", "labels": {"team": "search"}}
    assert rollout["settings"] == {
        "max_parallel": 3, "timeout": 5400, "checkpoint": {"policy": "interval", "interval": 30}}
    assert rollout["variables"] == {"cluster": "blue", "revision": "{{env.BUILD_REVISION}}", "copies": 4}


def test_notifications(rollout: Data) -> None:
    said = [(item["on"], item["config"]["channel"], item["config"].get("to", item["config"].get("url")))
        for item in rollout["notifications"]]
    assert said == [
        (["completed"], "email", ["search@example.org"]),
        (["failed"], "email", ["duty@example.org", "lead@example.org"]),
        (["completed", "failed"], "webhook", "https://hooks.example.org/rollouts"),
    ]


def test_order_is_depends_on_alone(rollout: Data) -> None:
    assert {name: step.get("depends_on", []) for name, step in steps(rollout).items()} == {
        "lint-manifest": [], "replay-queries": [], "pack": ["replay-queries"], "signoff": ["lint-manifest", "pack"],
        "ship": ["signoff"], "grow": ["ship"], "watch-rollout": ["ship"], "probe": ["watch-rollout"],
        "count-documents": ["watch-rollout"], "announce": ["probe"],
    }


def test_types_and_their_configuration(rollout: Data) -> None:
    said = {name: (step["type"], step["config"]) for name, step in steps(rollout).items()}
    assert said["lint-manifest"] == ("command", {"command": "kubectl",
        "args": ["apply", "--dry-run=server", "-f", "index.yaml"], "env": {"CLUSTER": "{{cluster}}"}})
    assert said["pack"][1]["args"] == ["-cf", "index-{{revision}}.tar", "."]
    assert said["ship"] == ("deploy", {"manifest": "index.yaml", "namespace": "{{cluster}}", "dry_run": False})
    assert said["grow"] == ("scale", {"resource": "deployment/search", "replicas": "{{copies}}"})
    assert said["probe"] == ("http", {
        "method": "GET", "url": "https://search.example.org/ready", "headers": {"User-Agent": "rollout/2"}})
    assert said["count-documents"] == ("query", {"query_type": "sql",
        "query": "select count(*) from documents where revision = :revision", "parameters": {"revision": "{{revision}}"}})
    assert said["announce"][1]["body"] == '{"text": "Revision {{revision}} answers queries"}\n'


def test_an_approval_that_nobody_answers_cancels(rollout: Data) -> None:
    step = steps(rollout)["signoff"]
    assert (step["type"], step["timeout"]) == ("approval", 7200)
    assert step["config"] == {
        "approvers": ["ana@example.org", "ben@example.org"], "auto_approve": False, "on_timeout": "cancel"}


def test_times_are_seconds_and_policies_are_complete(rollout: Data) -> None:
    by_id = steps(rollout)
    assert by_id["ship"]["timeout"] == 20 * 60
    assert by_id["replay-queries"]["retry"] == {
        "max_attempts": 3, "strategy": "exponential", "delay": 2.5, "max_delay": 30, "multiplier": 2}
    assert by_id["watch-rollout"]["retry"] == {"max_attempts": 6, "strategy": "exponential", "delay": 8,
        "max_delay": 64, "multiplier": 1.5, "on": ["NetworkError"]}
    assert "retry" not in by_id["pack"]


def test_failure_and_checkpoint(rollout: Data) -> None:
    said = {name: (step.get("on_failure"), step.get("checkpoint")) for name, step in steps(rollout).items()}
    assert said["lint-manifest"] == ("fail", False)
    assert said["ship"] == ("rollback", True)
    assert said["announce"] == ("continue", None)
    assert said["pack"] == (None, None)


def test_condition_is_an_expression(rollout: Data) -> None:
    assert steps(rollout)["count-documents"]["when"] == "copies > 2"


@pytest.mark.parametrize(("written", "expected"), [
    ("PT15M", 900), ("PT1H30M", 5400), ("P1DT1S", 86_401), ("90s", 90), ("5m", 300), (45, 45),
    ("{secs: 3, nanos: 500000000}", 3.5),
])
def test_durations(written: object, expected: float) -> None:
    step, found = one(f"{{id: a, type: {{type: Command, command: ls}}, timeout: {written}}}")
    assert (step["timeout"], found) == (expected, [])


def test_a_bad_duration_is_an_error_at_its_place() -> None:
    _, found = attempted("name: w\ntasks:\n  - id: a\n    type: {type: Command, command: ls}\n    timeout: soon\n")
    assert places(found) == [("D022", 5, 14)]


def test_a_wanted_retry_without_policy_is_the_default_one() -> None:
    step, _ = one("{id: a, type: {type: Command, command: ls}, config: {on_failure: Retry}}")
    assert step["retry"] == {
        "max_attempts": 3, "strategy": "exponential", "delay": 1, "max_delay": 30, "multiplier": 2}
    assert "on_failure" not in step


def test_a_written_first_delay_is_not_cut_by_the_default_limit() -> None:
    step, _ = one("{id: a, type: {type: Command, command: ls}, retry_policy: {initial_delay_ms: 60000}}")
    assert (step["retry"]["delay"], step["retry"]["max_delay"]) == (60, 60)


def test_what_is_not_done_is_said() -> None:
    text = """\
name: w
config: {enable_rollback: false}
tasks:
  - id: a
    type: {type: Command, command: ls}
    config:
      stream_output: true
      collect_output: false
      on_failure: Rollback
"""
    data, found = lowered(text)
    assert places(found) == [("D105", 7, 7), ("D040", 8, 7), ("D107", 9, 19)]
    assert data["steps"][0]["on_failure"] == "fail"


CONDITIONAL = """\
name: w
variables: {size: 3}
tasks:
  - {id: build, type: {type: Command, command: make}}
  - id: is-large
    type:
      type: Conditional
      condition: "${size} > 2 and '${tasks.build.output.stdout}' != ''"
      true_branch: [split, both]
      false_branch: [whole, both]
    depends_on: [build]
  - {id: split, type: {type: Plugin, plugin_name: split}}
  - {id: whole, type: {type: Plugin, plugin_name: whole}, depends_on: [is-large, build]}
  - {id: both, type: {type: Plugin, plugin_name: both}}
  - {id: end, type: {type: Plugin, plugin_name: end}, depends_on: [split, whole]}
"""


def test_branches_become_routed_edges() -> None:
    by_id = steps(lowered(CONDITIONAL)[0])
    assert by_id["is-large"]["cases"] == [
        {"name": "true", "when": "size > 2 and ('' ~ tasks.build.output.stdout) != ''"}]
    assert by_id["is-large"]["default"] == "false"
    assert by_id["split"]["depends_on"] == [{"step": "is-large", "on": ["true"]}]
    assert by_id["both"]["depends_on"] == [{"step": "is-large", "on": ["true", "false"]}]
    assert by_id["end"]["depends_on"] == ["split", "whole"]


def test_a_branch_is_entered_by_its_condition_alone() -> None:
    """What else the task depends on has to be settled, but does not let it run when the branch is not taken."""
    edges = steps(lowered(CONDITIONAL)[0])["whole"]["depends_on"]
    assert edges == [{"step": "build", "when": "false"}, {"step": "is-large", "on": ["false"]}]


def test_an_unknown_branch_target_is_an_error_with_a_hint() -> None:
    _, found = attempted(CONDITIONAL.replace("[split, both]", "[spilt, both]"))
    assert [(each.code, each.position.line, each.position.column, each.hint) for each in found] == [
        ("D103", 9, 21, "did you mean `split`?")]


@pytest.mark.parametrize(("items", "expected"), [
    ("regions", "{{ regions }}"), ('"${input.regions}"', "{{input.regions}}"),
    ("'[r for r in regions if r]'", "{{ [r for r in regions if r] }}"), ("[a, b]", ["a", "b"]),
])
def test_loop_items_are_a_name_an_expression_or_a_list(items: str, expected: object) -> None:
    step, _ = one(
        "{id: each, type: {type: Loop, items: " + items + ", parallel: true, task_template: {id: copy,"
        ' type: {type: Plugin, plugin_name: copy, config: {to: "${item}"}}}}}', "variables: {regions: [x]}\n")
    assert (step["type"], step["items"], step.get("max_parallel")) == ("foreach", expected, None)
    assert step["steps"] == [
        {"id": "copy", "type": "skill", "config": {"skill": "copy", "parameters": {"to": "{{item}}"}}}]


def test_a_loop_goes_one_by_one_unless_it_is_parallel() -> None:
    step, _ = one("{id: each, type: {type: Loop, items: [1], task_template: {type: {type: Command, command: ls}}}}")
    assert step["max_parallel"] == 1
    assert step["steps"][0]["id"] == "each-task"


def test_a_loop_inside_of_a_loop() -> None:
    step, _ = one("{id: a, type: {type: Loop, items: rows, task_template: {id: b, type: {type: Loop, items: item,"
        ' item_name: cell, task_template: {id: c, type: {type: Command, command: "${cell}"}}}}}}',
        "variables: {rows: []}\n")
    inner = step["steps"][0]
    assert (inner["items"], inner["item_name"], inner["steps"][0]["config"]) == (
        "{{ item }}", "cell", {"command": "{{cell}}"})


def test_subworkflow_and_plugin() -> None:
    step, _ = one('{id: a, type: {type: Subworkflow, workflow_id: child, inputs: {who: "${input.who}"}}}')
    assert (step["type"], step["workflow"], step["input"]) == ("workflow", "child", {"who": "{{input.who}}"})
    step, _ = one("{id: a, type: {type: Plugin, plugin_name: greet, config: {times: 2}}}")
    assert step["config"] == {"skill": "greet", "parameters": {"times": 2}}


@pytest.mark.parametrize(("written", "expected"), [
    ("${HOME_REGION}", "{{env.HOME_REGION}}"),
    ("${STAGE}", "{{STAGE}}"),  # declared below
    ("${outputs.build.stdout}", "{{tasks.build.stdout}}"),
    ("${environment.PATH}", "{{env.PATH}}"),
    ("${'HOME' ~ HOME_DIR}", "{{'HOME' ~ env.HOME_DIR}}"),
    ("a ${{ size + 1 }} b", "a {{ size + 1 }} b"),
    (r"\${size}", "${size}"),
    ("--format {{.Names}}", r"--format \{{.Names}}"),
    ("$${size}", '{{ "$" }}{{size}}'),
    ("$HOME $(ls) {x}", "$HOME $(ls) {x}"),
])
def test_holes(written: str, expected: str) -> None:
    step, found = one(f"{{id: a, type: {{type: Command, command: {json.dumps(written)}}}}}",
        "variables: {STAGE: x, size: 1}\n")
    assert (step["config"]["command"], found) == (expected, [])


def test_canonical_types_and_keys_are_reachable() -> None:
    text = """\
name: w
inputs: {n: {type: integer, required: true}}
settings: {sla: 60, on_error: continue}
outputs: {total: "${tasks.sum.output}"}
tasks:
  - id: sum
    type: {type: transform, expression: "input.n + 1"}
    cache: {ttl: 60, key: "${input.n}"}
    compensation: {id: undo, type: {type: Plugin, plugin_name: undo}}
  - id: ask
    type: {type: agent, prompt: "Explain ${input.n}"}
    on_failure: {action: retry, max_retries: 2, then: continue}
  - id: pause
    type: {type: wait, seconds: 5}
    depends_on: [{step: sum, when: "${input.n} > 1"}]
  - id: fork
    type:
      type: parallel
      branches:
        - steps: [{id: one, type: {type: Command, command: ls}}]
        - steps: [{id: two, type: transform}]
finally:
  - {id: bye, type: {type: notify, channel: event, message: "${execution.id}"}}
rollback:
  - {id: back, type: {type: Plugin, plugin_name: back}}
"""
    data, found = lowered(text)
    assert found == []
    by_id = steps(data)
    assert data["outputs"] == {"total": "{{tasks.sum.output}}"}
    assert data["settings"] == {"sla": 60, "on_error": "continue"}
    assert by_id["sum"]["cache"] == {"ttl": 60, "key": "{{input.n}}"}
    assert by_id["sum"]["compensation"] == {"id": "undo", "type": "skill", "config": {"skill": "undo"}}
    assert by_id["ask"]["on_failure"] == {"action": "retry", "max_retries": 2, "then": "continue"}
    assert by_id["pause"]["depends_on"] == [{"step": "sum", "when": "input.n > 1"}]
    assert by_id["fork"]["branches"][1]["steps"] == [{"id": "two", "type": "transform"}]
    assert data["finally"][0]["config"]["message"] == "{{execution.id}}"
    assert data["rollback"] == [{"id": "back", "type": "skill", "config": {"skill": "back"}}]


@pytest.mark.parametrize(("text", "expected"), [
    ("name: w\ntasks:\n  - id: a\n    typ: {type: Command, command: ls}\n", ("D010", 4, 5)),
    ("name: w\ntasks:\n  - id: a\n", ("D011", 3, 5)),
    ("name: w\ntasks:\n  - id: a\n    type: {type: Comand, command: ls}\n", ("D030", 4, 18)),
    ("name: w\ntasks:\n  - id: a\n    type: {type: Command}\n", ("D011", 4, 11)),
    ("name: w\ntasks:\n  - id: a\n    type: {type: Command, command: 7}\n", ("D012", 4, 36)),
    ("name: w\ntasks:\n  - id: a\n    type: {type: Scale, resource: x, replicas: 1.5}\n", ("D012", 4, 48)),
    ("name: w\ntasks:\n  - id: a\n    type: {type: Loop, items: [], task_tmplate: {}}\n", ("D010", 4, 35)),
    ("name: w\ntasks:\n  - id: a\n    type: {type: wait, second: 5}\n", ("D010", 4, 24)),
    ("name: w\ntasks:\n  - id: a\n    type: {type: Command, command: ls}\n    config: {on_failure: Ignore}\n",
        ("D013", 5, 26)),
    ("name: w\ntasks:\n  - id: a\n    type: {type: Command, command: ls}\n    retry_policy: {max_attempts: 0}\n",
        ("D014", 5, 34)),
    ("name: w\nconfig: {timeout_second: 5}\ntasks: []\n", ("D010", 2, 10)),
    ("name: w\nversion: 1.10\ntasks: []\n", ("D020", 2, 10)),
    ("name: w\nretires: {}\ntasks: []\n", ("D010", 2, 1)),
    ("name: w\nconfig: {timeout_seconds: 5}\nsettings: {timeout: 6}\ntasks: []\n", ("D033", 2, 10)),
])
def test_mistakes_are_reported_where_they_are(text: str, expected: tuple[str, int, int]) -> None:
    _, found = attempted(text)
    assert expected in places(found)


def test_an_unknown_type_says_what_was_meant() -> None:
    _, found = attempted("name: w\ntasks:\n  - {id: a, type: {type: Comand, command: ls}}\n")
    assert [each.hint for each in found] == ["did you mean `Command`?"]
    _, found = attempted("name: w\ntasks:\n  - {id: a, type: {type: fetch, url: x}}\n")
    assert all(name in found[0].hint for name in ("Command", "Http", "Loop", "choice", "parallel", "foreach", "wait"))


def test_an_approval_has_one_time_to_wait() -> None:
    step, found = one("{id: a, type: {type: Approval, timeout_seconds: 60}, timeout: PT5M}")
    assert (step["timeout"], [code for code, _, _ in found]) == (60, ["D118"])


def test_keys_that_start_with_x_are_left_alone() -> None:
    step, found = one("{id: a, type: {type: Command, command: ls}, retry_policy: *r}",
        "x-retry: &r {max_attempts: 2}\n")
    assert (step["retry"]["max_attempts"], found) == (2, [])


def test_yaml_words_and_dates_stay_text() -> None:
    text = """\
name: norway
version: 2024-01-16
inputs: {country: {type: string, enum: [NO, SE], default: NO}}
tasks:
  - {id: no, type: {type: Plugin, plugin_name: echo, config: {on: off, d: 2024-11-01}}}
  - {id: yes, type: {type: Plugin, plugin_name: echo}, depends_on: [no]}
"""
    data, found = lowered(text)
    assert [each.code for each in found] == ["D021"]
    assert data["version"] == "2024-01-16"
    assert data["inputs"]["country"]["default"] == "NO"
    assert data["steps"][0]["config"]["parameters"] == {"on": "off", "d": "2024-11-01"}
    assert data["steps"][1]["depends_on"] == ["no"]


def test_ids_of_any_kind() -> None:
    """Quotes, dots and emoji are part of an id; both spellings of an accent are the same id."""
    by_id = steps(lowered(data_file(__file__, "names.yaml"))[0])
    assert by_id["étape-1"]["depends_on"] == ["It's a.b/c"]
    assert by_id["🚦"]["depends_on"] == ["étape-1"]
    assert by_id["🚦"]["config"]["parameters"] == {"v": '{{tasks["It\'s a.b/c"].output}}'}
