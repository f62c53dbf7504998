"""Keys that outputs never have are told, as far as these are known before a run."""

from __future__ import annotations

import pytest

from aslant.approvals.rules import decided
from tests.golden.step_types import STRUCTURE, WORDS
from translator.passes.check_outputs import CLOSED
from translator.pipeline import Source, check_sources

FLOW = """\
dialect: canonical
id: w
steps:
  - {{id: t, type: transform, config: {{expression: "{{'result': 1, 'n': {{'k': input.k}}, 'any': input.a}}"}}}}
  - {{id: b, type: approval, depends_on: [t], config: {{message: hi}}}}
  - {{id: s, type: skill, depends_on: [b], config: {{skill: x}}}}
  - {{id: e, type: transform, depends_on: [s], config: {{expression: "{read}"}}}}
"""


@pytest.mark.parametrize(("read", "hint"), [
    ("steps.b.output.status", ""), ("steps.b.output.answr", "answer"), ("steps.t.output.reslt", "result"),
    ("steps.t.output['reslt'] ?? 1", "result"), ("len(steps.t.output.n.kk)", "k"), ("steps.b.output.answer.text", None),
    ("steps.t.output.n.k.more", None), ("steps.t.output.any.more", None), ("steps.s.output.any", None),
    ("steps.b.output.decisions[0].by", None), ("steps.b.output.simulated", None), ("steps.t.output[input.k]", None),
])
def test_keys_that_an_output_never_has(read: str, hint: str | None) -> None:
    found = check_sources([Source(FLOW.format(read=read))])
    wanted = [] if hint is None else [("E021", "warning", f"did you mean {hint}?" if hint else "")]
    assert [(one.code, str(one.severity), one.hint) for one in found] == wanted


def test_what_is_written_of_outputs_is_what_they_are() -> None:
    made = decided({}, "approve", by="ann", comment="", answer=None, now=0)
    assert {*made, "decisions"} == {*CLOSED["approval"]}
    for name, keys in CLOSED.items():
        said = (WORDS if name in WORDS else STRUCTURE)[name]["output"]
        assert [key for key in keys if f"`{key}`" not in said] == []
