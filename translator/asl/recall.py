"""What runs after a body that failed reads of its steps: their outputs, which the variables of a failed frame do not hold.

A step that a function ran has its output in its record. The others that are read so are recorded for it (`Machine.recorded`);
after the failure one state reads the records, as the machine that undoes an execution does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aslant.error_names import ALL
from aslant.step_types import STEP_TYPES
from translator.asl.block import Block, Machine, Origin, State
from translator.asl.native import is_computed
from translator.asl.plan import Frame, Plan, Run, runs
from translator.asl.tasks import DATA_LIMIT, invoke
from translator.asl.values import literal, query
from translator.diagnostics import Findings, Position
from translator.expressions.jsonata import text_literal
from translator.expressions.references import slots
from translator.expressions.tree import Slot
from translator.findings import asl as rules
from translator.graph.scope import Graph
from translator.model.values import expressions_of, nodes_of, reads_of
from translator.model.workflow import OnFailure, Retry, Step, Workflow
from translator.passes.fold import is_late

_LIMIT = 60.0  # seconds


def leaves_none(step: Step) -> bool:
    """Whether nothing records that the step completed, and its output, while the execution runs."""
    return STEP_TYPES[step.type].native or step.type == "approval" or is_computed(step)


def unrecorded(workflow: Workflow, graph: Graph) -> frozenset[str]:
    """The steps that must leave a record because `finally`, or a notification of a failure, reads their outputs."""
    return frozenset(
        name for name in _read_late(workflow, graph)
        if leaves_none(step := _step(graph, name)) and step.type not in ("choice", "wait")
    )  # fmt: skip


def report_choices(workflow: Workflow, graph: Graph, findings: Findings) -> None:
    """A choice has no output that outlives a failure: whoever reads it is told."""
    for name, at in _read_late(workflow, graph).items():
        if _step(graph, name).type == "choice":
            findings.add(
                rules.NOT_CARRIED_OUT, f"the choice {name!r} is not recorded while an execution runs: after a failure its"
                " output reads as null here", at, hint=f"read steps.{name}.status, or the steps that it leads to",
            )


def _step(graph: Graph, name: str) -> Step:
    scope, index = graph.where[name]
    return scope.steps[index]


def _read_late(workflow: Workflow, graph: Graph) -> dict[str, Position]:
    """The steps of the body whose outputs are read when it may have failed, and where."""
    nodes = [
        node for scope in graph.scopes() if is_late(scope, graph) for step in scope.steps for node in expressions_of(step)
    ]
    nodes += [node for note in workflow.notifications if "failed" in note.on for node in nodes_of(note.config)]
    found: dict[str, Position] = {}
    for node in nodes:
        for slot in sorted(slots(node), key=lambda slot: (slot.kind, slot.name)):
            where = graph.where.get(slot.name)
            if slot.kind == "output" and where is not None and not is_late(where[0], graph):
                found.setdefault(slot.name, slot.at)
    return found


def recall(machine: Machine, block: Block, body: Frame, ending: Sequence[Plan], following: str) -> str:
    """The state that reads what `ending` does, before `following`; that one itself where nothing is read.

    Whatever becomes of it, the ending runs: what cannot be read stays null.
    """
    left = set(machine.variables.exports.get(body, ()))
    read = {
        slot for part in ending for run in runs(part) for slot in reads_of(run.step) if slot.kind == "output" and slot in left
    }
    names = sorted(slot.name for slot in read)
    if not names:
        return following
    step = Step(
        f"{machine.workflow.id} values", "compensate", machine.workflow.at, retry=Retry(max_attempts=4), timeout=_LIMIT,
        on_failure=OnFailure("fail"),
    )  # fmt: skip
    table: dict[str, Any] = {"steps": dict.fromkeys(names, 0)}
    if wrapped := [name for name in names if name in machine.recorded]:
        table["wrapped"] = [literal(name) for name in wrapped]
    config = {"action": "values", "reads": {"": table}, "step": "", "iteration": []}
    state: State = invoke(machine, machine.writer(block, step), Run(step, block.frame), config, {}, "compensate")
    state["Arguments"]["Payload"]["claims"] = _rules(machine, names)
    state["Assign"] = {
        machine.variables.names[Slot("output", name), block.frame]: query(
            f"$lookup($states.result.Payload.output.output,{text_literal(name)})"
        )
        for name in names
    }
    state["Catch"] = [{"ErrorEquals": [kind], "Next": following} for kind in (DATA_LIMIT, ALL)]
    state["Next"] = following
    full = machine.states.new(machine.workflow.id, "values")
    block.states[full] = state
    machine.origins[full] = Origin("", "end", machine.workflow.at)
    return full


def _rules(machine: Machine, names: Sequence[str]) -> dict[str, Any]:
    """What of the outputs must stay in the machine: what is said of each step's result, at its place in the whole."""
    found: dict[str, Any] = {"open": ["", "/output"]}
    for name in names:
        place = literal("/output/" + name.replace("~", "~0").replace("/", "~1"))
        for key in ("keep", "open"):
            found.setdefault(key, []).extend(f"{place}{path}" for path in machine.claims.get(name, {}).get(key, ()))
    return {key: paths for key, paths in found.items() if paths}
