"""Which inputs the machine itself looks into, read from finished machines."""

from __future__ import annotations

import pytest

from translator.pipeline import Source, compile_sources
from translator.release import inputs_looked_into

SKILL = "{id: s, type: skill, config: {skill: f, parameters: {x: %s}}}"
CHILD = "dialect: canonical\nid: child\nsteps: [{id: c, type: skill, config: {skill: f}}]"


@pytest.mark.parametrize(("steps", "names"), [
    (SKILL % '"{{ input.a }}"', []),
    (SKILL % '"{{ input }}"', []),
    (SKILL % '{y: "{{ input.a }}", z: ["{{ input.b }}"]}', []),
    (SKILL % '"{{ input.a.k }}"', ["/a"]),
    (SKILL % '"about {{ input.a }}"', ["/a"]),
    (SKILL % '"{{ input.b ?? input.a }}"', ["/a", "/b"]),
    (SKILL % '"{{ len(input) }}"', [""]),
    ('{id: c, type: choice, cases: [{name: y, when: "input.a == 1"}]}', ["/a"]),
    ('{id: l, type: foreach, items: "{{ input.b }}", steps: [%s]}' % (SKILL % '"{{ input.a }}"'), ["/b"]),
    ('{id: w, type: workflow, workflow: child, input: {x: "{{ input.a }}"}}', ["/a"]),
    ('{id: w, type: workflow, workflow: child, input: "{{ input }}"}', [""]),
    ('{id: s, type: skill, config: {skill: f}, compensation: {id: u, type: skill, config: {skill: f, parameters: {x: "{{ input.b.k }}"}}}}', ["/b"]),
])
def test_what_is_only_handed_on_is_not_looked_into(steps: str, names: list[str]) -> None:
    text = f"dialect: canonical\nid: w\ninputs: {{a: {{}}, b: {{}}}}\noutputs: {{o: 1}}\nsteps: [{steps}]"
    assert inputs_looked_into(compile_sources([Source(text), Source(CHILD)])[0]) == names


def test_parts_of_a_large_workflow_are_read_too() -> None:
    rows = ", ".join(SKILL.replace("s,", f"s{number}, depends_on: [{f's{number - 1}' if number else ''}],") % '"{{ input.b }}"' for number in range(20))
    last = '{id: z, type: skill, depends_on: [s19], config: {skill: f, parameters: {x: "{{ input.a.k }}"}}}'
    text = f"dialect: canonical\nid: w\ninputs: {{a: {{}}, b: {{}}}}\noutputs: {{o: 1}}\nsteps: [{rows}, {last}]"
    (cut,) = compile_sources([Source(text)], limit=12_000)
    assert cut.parts and inputs_looked_into(cut) == ["/a"]
