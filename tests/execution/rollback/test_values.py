"""What compensations and rollback steps read, and which of them run."""

from __future__ import annotations

from tests.execution.support import Skills, run_text


def calls(skills: Skills, prefix: str) -> list[tuple[str, object]]:
    return [(name, value) for name, value in skills.calls if name.startswith(prefix)]


def test_an_undo_in_a_loop_reads_its_own_item_and_output(skills: Skills) -> None:
    run_text("""
        id: loops
        inputs: {names: {type: array}}
        settings: {on_error: compensate}
        steps:
          - id: l
            type: foreach
            items: "{{ input.names }}"
            max_parallel: 1
            steps:
              - id: book
                type: skill
                config: {skill: echo, parameters: {name: book, value: "ref-{{ item }}"}}
                compensation:
                  id: c
                  type: skill
                  config:
                    skill: echo
                    parameters:
                      name: undo
                      value: ["{{ steps.book.output }}", "{{ item }}", "{{ index }}", "{{ steps.sum.output }}",
                        "{{ input.names[0] }}"]
          - {id: sum, type: transform, depends_on: [l], config: {expression: "len(input.names) * 10"}}
          - {id: x, type: skill, depends_on: [sum], config: {skill: fail}}
    """, input={"names": ["a", "b"]})
    assert calls(skills, "undo") == [("undo", ["ref-b", "b", 1, 20, "a"]), ("undo", ["ref-a", "a", 0, 20, "a"])]


def test_rollback_steps_run_after_the_undos_and_before_finally_and_notifications(skills: Skills) -> None:
    result = run_text("""
        id: everything
        settings: {on_error: rollback}
        variables: {who: "{{ upper('ann') }}"}
        steps:
          - id: a
            type: skill
            output_key: first
            config: {skill: echo, parameters: {name: a, value: 7}}
            compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: undo a}}}
          - {id: x, type: skill, depends_on: [a], config: {skill: fail, parameters: {message: broken}}}
        rollback:
          - {id: r1, type: skill, config: {skill: fail, parameters: {name: undo r1}}}
          - id: r2
            type: skill
            depends_on: [r1]
            config: {skill: echo, parameters: {name: undo r2, value: ["{{ state.first }}", "{{ vars.who }}",
              "{{ execution.error.step }}", "{{ errors.r1.error }}", "{{ steps.x.status }}"]}}
        finally:
          - {id: f, type: skill, config: {skill: echo, parameters: {name: undo finally, value: "{{ execution.error.error }}"}}}
    """)
    assert [name for name, _ in calls(skills, "undo")] == ["undo a", *["undo r1"] * 3, "undo r2", "undo finally"]
    assert calls(skills, "undo r2") == [("undo r2", [7, "ANN", "x", "NoisyError", "failed"])]
    assert calls(skills, "undo finally") == [("undo finally", "NoisyError")]
    assert result.error is not None and result.error.error == "NoisyError"


def test_only_a_failure_whose_policy_asks_for_it_is_undone(skills: Skills) -> None:
    text = """
        id: policies
        inputs: {bad: {type: string}}
        error_handlers:
          - {errors: [ValidationError], action: rollback, steps: [r2]}
          - {errors: [NoisyError], action: compensate}
          - {errors: ["*"], action: fail}
        steps:
          - id: a
            type: skill
            config: {skill: echo, parameters: {name: a}}
            compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: undo a}}}
          - {id: fails, type: skill, depends_on: [a], when: "input.bad == 'skill'", config: {skill: fail}}
          - {id: own, type: skill, depends_on: [a], when: "input.bad == 'own'", on_failure: fail, config: {skill: fail}}
          - {id: http, type: http, depends_on: [a], when: "input.bad == 'http'", config: {url: "{{ 'ftp:' }}//x"}}
          - {id: gone, type: skill, depends_on: [a], when: "input.bad == 'gone'", config: {skill: nowhere}}
        rollback:
          - {id: r1, type: skill, config: {skill: echo, parameters: {name: undo r1}}}
          - {id: r2, type: skill, config: {skill: echo, parameters: {name: undo r2}}}
    """
    found = {}
    for bad in ("skill", "own", "http", "gone"):
        before = len(skills.calls)
        assert run_text(text, input={"bad": bad}).status == "failed"
        found[bad] = [name for name, _ in skills.calls[before:] if name.startswith("undo")]
    assert found == {"skill": ["undo a"], "own": [], "http": ["undo a", "undo r2"], "gone": []}


def test_composite_and_native_steps_are_undone_as_well(skills: Skills) -> None:
    run_text("""
        id: natives
        settings: {on_error: compensate}
        steps:
          - id: p
            type: parallel
            branches:
              - steps: [{id: p1, type: skill, config: {skill: echo, parameters: {value: 1}}}]
              - steps: [{id: p2, type: skill, config: {skill: echo, parameters: {value: 2}}}]
            compensation: {id: c1, type: skill, config: {skill: echo, parameters: {name: undo p, value: "{{ steps.p.output.results[1].output }}"}}}
          - id: t
            type: transform
            depends_on: [p]
            config: {expression: "steps.p1.output + 1"}
            compensation: {id: c2, type: skill, config: {skill: echo, parameters: {name: undo t, value: "{{ steps.t.output }}"}}}
          - id: k
            type: workflow
            workflow: kid
            depends_on: [t]
            compensation:
              {id: c3, type: workflow, workflow: unkid, input: {was: "{{ steps.k.output.v }}"}}
          - {id: x, type: skill, depends_on: [k], config: {skill: fail}}
    """, """
        id: kid
        steps: [{id: v, type: transform, config: {expression: "40 + 2"}}]
    """, """
        id: unkid
        inputs: {was: {type: number}}
        steps: [{id: u, type: skill, config: {skill: echo, parameters: {name: undo k, value: "{{ input.was }}"}}}]
    """)
    assert calls(skills, "undo") == [("undo k", 42), ("undo t", 2), ("undo p", 2)]


def test_a_failed_step_is_undone_only_where_it_says_so(skills: Skills) -> None:
    run_text("""
        id: failed
        settings: {on_error: compensate}
        steps:
          - id: x
            type: skill
            config: {skill: fail}
            undo_failed: true
            compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: undo x, value: "{{ errors.x.message }}"}}}
    """)
    assert [name for name, _ in calls(skills, "undo")] == ["undo x"]
    assert "as asked" in str(calls(skills, "undo")[0][1])


def test_rollback_steps_do_not_run_for_a_failure_that_undoes_nothing(skills: Skills) -> None:
    """The policy of the step that failed counts, whatever others say."""
    result = run_text("""
        id: own_policy
        settings: {on_error: rollback}
        steps:
          - id: a
            type: skill
            config: {skill: echo, parameters: {name: a}}
            compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: undo a}}}
          - {id: x, type: skill, depends_on: [a], on_failure: fail, config: {skill: fail}}
        rollback:
          - {id: r, type: skill, config: {skill: echo, parameters: {name: undo r}}}
    """)
    assert (result.status, calls(skills, "undo")) == ("failed", [])
