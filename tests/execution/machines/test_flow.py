"""Order, conditions, choices, joins, parallels: what the canonical model promises, run for real."""

from __future__ import annotations

from typing import Any

import pytest

from infra.local.progress import Status
from tests.execution.support import Skills, run_text, status_of


def test_when_false_skips_one_step_and_its_dependents_run() -> None:
    result = run_text("""
        steps:
          - {id: a, type: transform, when: "false", config: {expression: "1"}}
          - {id: b, type: transform, depends_on: [a], config: {data: {v: "{{ steps.a.output }}", d: "{{ steps.a.output ?? 'none' }}", st: "{{ steps.a.status }}"}}}
    """)
    assert result.status == "completed"
    assert result.output == {"b": {"v": None, "d": "none", "st": "skipped"}}
    assert status_of(result, "a") == "skipped"


CHOICE = """
    inputs: {n: {type: integer, required: true}}
    steps:
      - id: route
        type: choice
        cases: [{name: big, when: "input.n >= 10"}, {name: mid, when: "input.n >= 5"}]
        default: small
      - {id: a, type: transform, depends_on: [{step: route, on: [big]}], config: {expression: "'A'"}}
      - {id: a2, type: transform, depends_on: [a], config: {expression: "steps.a.output ~ '2'"}}
      - {id: b, type: transform, depends_on: [{step: route, on: [mid]}], config: {expression: "'B'"}}
      - id: join
        type: transform
        depends_on: [a2, b, {step: route, on: [small]}]
        config: {data: {a: "{{ steps.a2.output }}", b: "{{ steps.b.output }}", r: "{{ steps.route.output.branch }}", st: "{{ steps.a2.status }}"}}
"""


@pytest.mark.parametrize(("n", "expected"), [
    (12, {"a": "A2", "b": None, "r": "big", "st": "completed"}),
    (7, {"a": None, "b": "B", "r": "mid", "st": "skipped"}),
    (1, {"a": None, "b": None, "r": "small", "st": "skipped"}),
])
def test_a_join_after_a_choice_runs_once_whichever_way_was_taken(n: int, expected: dict[str, Any]) -> None:
    result = run_text(CHOICE, input={"n": n})
    assert result.output == {"join": expected}


@pytest.mark.parametrize(("n", "ran"), [(12, {"a", "a2"}), (7, {"b"}), (1, set())])
def test_a_choice_without_a_join_leaves_the_other_ways_out(n: int, ran: set[str]) -> None:
    text = CHOICE[: CHOICE.index("      - id: join")]
    result = run_text(text, input={"n": n})
    assert {one.step for one in result.steps if one.status == "completed"} - {"route"} == ran


def test_a_choice_beside_a_step_that_always_runs() -> None:
    text = """
        inputs: {go: {type: boolean, required: true}}
        steps:
          - {id: start, type: transform, config: {expression: "1"}}
          - {id: r, type: choice, depends_on: [start], cases: [{name: "yes", when: "input.go"}], default: "no"}
          - {id: y, type: transform, depends_on: [{step: r, on: ["yes"]}], config: {expression: "'y'"}}
          - {id: n, type: transform, depends_on: [{step: r, on: ["no"]}], config: {expression: "'n'"}}
          - {id: always, type: transform, depends_on: [r], config: {expression: "'always'"}}
          - {id: end, type: transform, depends_on: [y, n, always], config: {data: ["{{ steps.y.output }}", "{{ steps.n.output }}", "{{ steps.always.output }}"]}}
    """
    assert run_text(text, input={"go": True}).output == {"end": ["y", None, "always"]}
    assert run_text(text, input={"go": False}).output == {"end": [None, "n", "always"]}


@pytest.mark.parametrize(("a", "b", "expected"), [
    (True, True, ["ax", "bx", "j"]), (True, False, ["ax", None, "j"]), (False, True, [None, "bx", "j"]),
    (False, False, [None, None, None]),
])
def test_a_join_of_two_choices_runs_when_one_of_its_edges_is_live(a: bool, b: bool, expected: list[Any]) -> None:
    result = run_text("""
        inputs: {a: {type: boolean, required: true}, b: {type: boolean, required: true}}
        outputs: {all: ["{{ steps.ax.output }}", "{{ steps.bx.output }}", "{{ steps.j.output }}"]}
        steps:
          - {id: ca, type: choice, cases: [{name: t, when: "input.a"}]}
          - {id: cb, type: choice, cases: [{name: t, when: "input.b"}]}
          - {id: ax, type: transform, depends_on: [{step: ca, on: [t]}], config: {expression: "'ax'"}}
          - {id: bx, type: transform, depends_on: [{step: cb, on: [t]}], config: {expression: "'bx'"}}
          - {id: j, type: transform, depends_on: [ax, bx], config: {expression: "'j'"}}
    """, input={"a": a, "b": b})
    assert result.output == {"all": expected}


def test_a_choice_inside_of_a_way_of_a_choice() -> None:
    text = """
        inputs: {n: {type: integer, required: true}}
        steps:
          - {id: c1, type: choice, cases: [{name: big, when: "input.n > 10"}], default: small}
          - {id: c2, type: choice, depends_on: [{step: c1, on: [big]}], cases: [{name: huge, when: "input.n > 100"}], default: large}
          - {id: h, type: transform, depends_on: [{step: c2, on: [huge]}], config: {expression: "'h'"}}
          - {id: l, type: transform, depends_on: [{step: c2, on: [large]}], config: {expression: "'l'"}}
          - {id: s, type: transform, depends_on: [{step: c1, on: [small]}], config: {expression: "'s'"}}
          - {id: e, type: transform, depends_on: [h, l, s], config: {data: "{{ steps.h.output ?? steps.l.output ?? steps.s.output }}"}}
    """
    assert [run_text(text, input={"n": n}).output for n in (1, 50, 500)] == [{"e": "s"}, {"e": "l"}, {"e": "h"}]


def test_edges_with_conditions_of_their_own_are_independent() -> None:
    text = """
        inputs: {n: {type: integer, required: true}}
        outputs: {o: ["{{ steps.two.output }}", "{{ steps.three.output }}", "{{ steps.end.output }}"]}
        steps:
          - {id: s, type: transform, config: {expression: "input.n"}}
          - {id: two, type: transform, depends_on: [{step: s, when: "steps.s.output % 2 == 0"}], config: {expression: "2"}}
          - {id: three, type: transform, depends_on: [{step: s, when: "steps.s.output % 3 == 0"}], config: {expression: "3"}}
          - {id: end, type: transform, depends_on: [two, three], config: {expression: "'end'"}}
    """
    outputs = {n: run_text(text, input={"n": n}).output["o"] for n in (1, 2, 3, 6)}
    assert outputs == {1: [None, None, None], 2: [2, None, "end"], 3: [None, 3, "end"], 6: [2, 3, "end"]}


def test_branches_overlap_and_a_join_waits_for_all(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: a, type: skill, config: {skill: sleep, parameters: {seconds: 0.4, name: a}}}
          - {id: b, type: skill, config: {skill: sleep, parameters: {seconds: 0.4, name: b}}}
          - {id: c, type: skill, depends_on: [a, b], config: {skill: sleep, parameters: {seconds: 0, name: c}}}
    """)
    assert result.status == "completed"
    assert skills.spans["a"][0] < skills.spans["b"][1] and skills.spans["b"][0] < skills.spans["a"][1]
    assert skills.spans["c"][0] >= max(skills.spans["a"][1], skills.spans["b"][1])


@pytest.mark.parametrize("seed", range(3))
def test_a_graph_that_is_not_series_parallel_keeps_every_edge(skills: Skills, seed: int) -> None:
    import random

    draw = random.Random(seed)
    edges = {"a": [], "b": [], "c": ["a"], "d": ["a", "b"], "e": ["b", "c"]}
    steps = "\n".join(
        f"  - {{id: {name}, type: skill, depends_on: [{', '.join(before)}], config: {{skill: sleep, parameters: "
        f"{{seconds: {draw.choice([0.01, 0.1, 0.2])}, name: {name}}}}}}}"
        for name, before in edges.items()
    )
    assert run_text(f"steps:\n{steps}").status == "completed"
    for name, before in edges.items():
        for source in before:
            assert skills.spans[source][1] <= skills.spans[name][0]


def test_nested_parallels_with_an_empty_branch_and_a_skipped_step(skills: Skills) -> None:
    result = run_text("""
        steps:
          - id: p
            type: parallel
            branches:
              - steps:
                  - {id: x1, type: skill, config: {skill: echo, parameters: {value: 1}}}
                  - id: q
                    type: parallel
                    depends_on: [x1]
                    branches:
                      - steps: [{id: y1, type: skill, config: {skill: sleep, parameters: {seconds: 0.3, name: y1, value: 7}}}]
                      - steps: [{id: y2, type: skill, when: "false", config: {skill: echo}}]
                      - steps: []
              - steps: [{id: z1, type: skill, config: {skill: echo, parameters: {value: 2}}}]
          - {id: done, type: transform, depends_on: [p], config: {data: {y: "{{ steps.y1.output }}", s: "{{ steps.y2.status }}", n: "{{ steps.z1.output }}"}}}
    """)
    assert result.output == {"done": {"y": 7, "s": "skipped", "n": 2}}
    assert sum(1 for one in result.steps if one.step == "done") == 1


@pytest.mark.parametrize("limit", [1, 2])
def test_max_parallel_bounds_how_many_steps_run_at_once(skills: Skills, limit: int) -> None:
    steps = "\n".join(
        f"  - {{id: s{n}, type: skill, config: {{skill: sleep, parameters: {{seconds: 0.15, name: s{n}, value: {n}}}}}}}" for n in range(5)
    )
    text = f"settings: {{max_parallel: {limit}}}\nsteps:\n{steps}\n" + (
        "  - {id: end, type: transform, depends_on: [s0, s1, s2, s3, s4], config: {data: [\"{{ steps.s0.output }}\", \"{{ steps.s4.output }}\"]}}"
    )
    result = run_text(text)
    assert result.output == {"end": [0, 4]}
    assert skills.most == limit


def test_a_parallel_step_with_a_limit(skills: Skills) -> None:
    branches = "\n".join(
        f"      - steps: [{{id: s{n}, type: skill, config: {{skill: sleep, parameters: {{seconds: 0.1, name: s{n}, value: {n}}}}}}}]" for n in range(4)
    )
    result = run_text(f"""
steps:
  - id: p
    type: parallel
    max_parallel: 2
    branches:
{branches}
  - {{id: end, type: transform, depends_on: [p], config: {{data: ["{{{{ steps.s3.output }}}}", "{{{{ steps.p.output.results[1].output }}}}"]}}}}
""")
    assert result.output == {"end": [3, 1]}
    assert skills.most == 2


def test_max_parallel_keeps_conditions(skills: Skills) -> None:
    result = run_text("""
        settings: {max_parallel: 2}
        outputs: {o: ["{{ steps.a.output }}", "{{ steps.b.output }}", "{{ steps.c.output }}"]}
        steps:
          - {id: r, type: choice, cases: [{name: t, when: "1 == 1"}], default: f}
          - {id: a, type: skill, depends_on: [{step: r, on: [t]}], config: {skill: echo, parameters: {value: a}}}
          - {id: b, type: skill, depends_on: [{step: r, on: [f]}], config: {skill: echo, parameters: {value: b}}}
          - {id: c, type: skill, depends_on: [r], when: "1 == 2", config: {skill: echo, parameters: {value: c}}}
          - {id: d, type: skill, depends_on: [r], config: {skill: echo, parameters: {value: d}}}
    """)
    assert result.output == {"o": ["a", None, None]}
    assert sorted(value for _, value in skills.calls) == ["a", "d"]


def test_output_keys_read_the_last_writer_that_ran() -> None:
    text = """
        inputs: {go: {type: boolean, required: true}}
        steps:
          - {id: a, type: transform, output_key: x, config: {expression: "1"}}
          - {id: b, type: transform, output_key: x, depends_on: [a], when: "input.go", config: {expression: "state.x + 1"}}
          - {id: c, type: transform, depends_on: [b], config: {expression: "state.x"}}
    """
    assert run_text(text, input={"go": True}).output == {"c": 2}
    assert run_text(text, input={"go": False}).output == {"c": 1}


def test_an_edge_that_is_never_live_only_orders(skills: Skills) -> None:
    result = run_text("""
        outputs: {a: "{{ steps.a.output }}", b: "{{ steps.b.output }}"}
        steps:
          - {id: slow, type: skill, config: {skill: sleep, parameters: {seconds: 0.2, name: slow}}}
          - {id: r, type: choice, cases: [{name: t, when: "1 == 1"}], default: f}
          - {id: a, type: skill, depends_on: [{step: r, on: [t]}, {step: slow, when: "false"}], config: {skill: sleep, parameters: {seconds: 0, name: a, value: 1}}}
          - {id: b, type: skill, depends_on: [{step: r, on: [f]}, {step: slow, when: "false"}], config: {skill: echo, parameters: {value: 2}}}
    """)
    assert result.output == {"a": 1, "b": None}
    assert skills.spans["slow"][1] <= skills.spans["a"][0]


def test_the_output_may_need_a_function() -> None:
    result = run_text("""
        outputs: {found: "{{ regex_match(steps.a.output, 'a+b') }}", plain: 1}
        steps: [{id: a, type: transform, config: {expression: "'aaab'"}}]
    """)
    assert result.output == {"found": True, "plain": 1}


def test_items_written_out_with_expressions_keep_lists_apart() -> None:
    result = run_text("""
        steps:
          - {id: a, type: transform, config: {expression: "[1, 2]"}}
          - {id: each, type: foreach, depends_on: [a], items: ["{{ steps.a.output }}", "x {% $y %}"], steps: [{id: one, type: transform, config: {data: "{{ item }}"}}]}
    """)
    assert result.output == {"each": [[1, 2], "x {% $y %}"]}


@pytest.mark.parametrize("value", [[], [1], [[1]], [[], []], None, {}, "", 0, False, [None], {"a": [1]}])
def test_every_json_value_passes_out_of_branches_as_it_is(skills: Skills, value: Any) -> None:
    result = run_text("""
        inputs: {v: {}}
        steps:
          - {id: a, type: skill, config: {skill: echo, parameters: {value: "{{ input.v }}"}}}
          - {id: b, type: skill, config: {skill: echo, parameters: {value: "{{ [input.v] }}"}}}
          - {id: c, type: skill, depends_on: [b], config: {skill: echo, parameters: {value: "{{ steps.b.output[0] }}"}}}
          - {id: d, type: skill, depends_on: [a, c], config: {skill: echo, parameters: {value: {a: "{{ steps.a.output }}", b: "{{ steps.b.output }}", c: "{{ steps.c.output }}"}}}}
    """, input={"v": value})
    assert result.output == {"d": {"a": value, "b": [value], "c": value}}


def test_variables_are_evaluated_once(skills: Skills) -> None:
    result = run_text("""
        variables:
          plain: "{{ input.n + 1 }}"
          about: {name: "{{ workflow.name }}", list: ["{{ vars.plain }}"]}
          stamp: "{{ uuid() }}"
          longer: "{{ vars.stamp ~ '!' }}"
        steps:
          - {id: a, type: transform, config: {data: "{{ vars.stamp }}"}}
          - {id: w, type: wait, depends_on: [a], seconds: 1}
          - {id: b, type: transform, depends_on: [w], config: {data: ["{{ vars.stamp }}", "{{ vars.longer }}", "{{ vars.about }}", "{{ steps.a.output }}"]}}
    """, input={"n": 1})
    stamp, longer, about, first = result.output["b"]
    assert stamp == first
    assert longer == first + "!"
    assert about == {"name": "workflow", "list": [2]}


def test_variables_that_double_each_time_stay_small() -> None:
    rows = "".join(f"  v{n}: \"{{{{ vars.v{n - 1} + vars.v{n - 1} }}}}\"\n" for n in range(1, 41))
    result = run_text(f"variables:\n  v0: 1\n{rows}steps: [{{id: a, type: transform, config: {{expression: vars.v40}}}}]\n")
    assert result.output == {"a": 2**40}


def test_conditions_on_the_last_edges_of_a_branch_are_readable_after_it() -> None:
    """A choice of several outcomes ends its branch, and gives what others read."""
    result = run_text("""
        outputs: {o: ["{{ steps.both.output }}", "{{ steps.both.status }}", "{{ steps.x.status }}"]}
        steps:
          - id: p
            type: parallel
            branches:
              - steps: [{id: both, type: choice, mode: all, cases: [{name: a, when: "true"}, {name: b, when: "false"}]}]
              - steps: [{id: x, type: transform, config: {expression: "1"}}]
    """)
    assert result.output == {"o": [{"branches": ["a"]}, "completed", "completed"]}


@pytest.mark.parametrize(("n", "ran", "taken"), [
    (0, ["d"], ["z"]), (2, ["a"], ["x"]), (3, ["a", "b", "d"], ["x", "y"]), (-1, [], None),
])
def test_a_choice_of_several_outcomes_takes_its_default_when_there_is_no_other(
    n: int, ran: list[str], taken: list[str] | None
) -> None:
    result = run_text("""
        inputs: {n: {type: integer}}
        outputs: {taken: "{{ steps.c.output.branches }}"}
        steps:
          - id: c
            type: choice
            mode: all
            when: input.n >= 0
            cases: [{name: x, when: input.n > 1}, {name: y, when: input.n > 2}]
            default: z
          - {id: a, type: transform, depends_on: [{step: c, on: [x]}], config: {expression: "1"}}
          - {id: b, type: transform, depends_on: [{step: c, on: [y]}], config: {expression: "1"}}
          - {id: d, type: transform, depends_on: [{step: c, on: [z, y]}], config: {expression: "1"}}
    """, input={"n": n})
    assert [step.step for step in result.steps if step.type == "transform" and step.status is Status.COMPLETED] == ran
    assert result.output == {"taken": taken}


@pytest.mark.parametrize("after", ["", "- {id: b, type: transform, depends_on: [a], config: {expression: '1'}}"])
def test_an_expression_that_fails_fails_its_step_though_nobody_reads_its_value(after: str) -> None:
    result = run_text(f"""
        outputs: {{}}
        inputs: {{n: {{type: any}}}}
        steps:
          - {{id: a, type: transform, config: {{expression: "input.n < 1"}}}}
          {after}
    """, input={"n": None})
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.step == "a"


def test_a_condition_of_an_edge_that_fails_is_never_left_out() -> None:
    result = run_text("""
        outputs: {o: "{{ steps.c.output }}"}
        steps:
          - {id: a, type: transform, config: {expression: "1"}}
          - {id: b, type: transform, config: {expression: "2"}}
          - {id: c, type: transform, depends_on: [b, {step: a, when: "input.n + 1"}], config: {expression: "3"}}
    """, input={"n": None})
    assert result.status == "failed"


@pytest.mark.parametrize(("go", "expected"), [(True, [None]), (False, [5])])
def test_an_output_key_reads_null_when_its_last_writer_that_ran_gave_null(skills: Skills, go: bool, expected: Any) -> None:
    result = run_text("""
        steps:
          - {id: a, type: skill, output_key: k, config: {skill: echo, parameters: {value: 5}}}
          - {id: b, type: skill, output_key: k, when: "input.go", depends_on: [a], config: {skill: echo}}
          - {id: c, type: transform, depends_on: [b], config: {data: ["{{ state.k }}"]}}
    """, input={"go": go})
    assert result.output == {"c": expected}


@pytest.mark.parametrize(("instant", "status"), [
    ("2020-01-01T00:00:00+02:00", "completed"), ("2024-02-29T23:00:00-05:00", "completed"),
    ("2020-02-30T00:00:00Z", "failed"), ("2020-01-01T25:00:00Z", "failed"), ("2020-01-01T00:00:00", "failed"), ("soon", "failed"),
    (None, "failed"),
])  # fmt: skip
def test_an_instant_that_is_none_is_an_error_that_the_end_of_the_workflow_can_tell_of(
    skills: Skills, instant: str | None, status: str
) -> None:
    result = run_text("""
        inputs: {t: {type: any}}
        steps: [{id: until, type: wait, until: "{{ input.t }}"}]
        finally: [{id: tell, type: skill, config: {skill: echo, parameters: {value: "{{ errors.until.error }}"}}}]
    """, input={"t": instant})
    assert result.status == status
    assert status_of(result, "tell") == "completed"
    assert result.error is None or (result.error.error, result.error.step) == ("ExpressionError", "until")


@pytest.mark.parametrize(("given", "said"), [(None, "null"), ("5", '"5"'), (True, "true")])
def test_a_wait_takes_a_number_of_seconds(skills: Skills, given: Any, said: str) -> None:
    result = run_text("""
        inputs: {s: {type: any}}
        steps: [{id: pause, type: wait, seconds: "{{ input.s }}"}]
    """, input={"s": given})
    assert result.error is not None
    assert (result.error.error, result.error.message, result.error.step) == (
        "ExpressionError", f"seconds takes a number, not {said}", "pause",
    )  # fmt: skip
