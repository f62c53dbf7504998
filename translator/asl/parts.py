"""Machines that are too large for AWS are cut: parts of the body become state machines of their own, run by the first one.

A part is a branch whose states are elsewhere. It belongs to the same execution: its input is that of the execution, with the
values of the states around that it reads; what its branch hands on is its output; and a failure leaves it as it came.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from translator.asl.block import Block, Machine, Origin, State
from translator.asl.distribution import events_of
from translator.asl.failures import CAUSE
from translator.asl.limits import MAX_BYTES, MAX_EVENTS
from translator.asl.plan import Body
from translator.asl.values import query
from translator.expressions.jsonata import text_literal
from translator.expressions.tree import Literal, walk
from translator.graph.scope import Scope
from translator.graph.strategies.layout import Tree, leaves
from translator.model.values import is_node
from translator.model.workflow import Step, Workflow

_START = 1_300  # bytes of the states that start a part, about
_GATE = (1_200, 6)  # bytes and events of a gate, about
AIM = 0.45  # the share of a limit that a part is cut to: below what is warned of
_LONGEST = 31_536_000  # seconds that an execution runs at most: a year
_STARTING = ("StepFunctions.ExecutionLimitExceededException", "StepFunctions.SdkClientException")
_CALLED = '$states.context.Execution.([Input.execution,{"id":Id}][0])'
# The cause of a failed execution is its description as JSON; a long one may be cut off.
_FAILED = query(
    f'($_c:={CAUSE[3:-3]};$contains($_c,\'"ExecutionArn"\') and $substring($_c,-1)="}}"?($_d:=$parse($_c);'
    '{"error":$exists($_d.Error)?$_d.Error:$_d.Status="TIMED_OUT"?"States.Timeout":"Cancelled",'
    '"cause":$exists($_d.Cause)?$_d.Cause:""}):{"error":$states.errorOutput.Error,"cause":$_c})'
)


@dataclass(slots=True)
class Cut:
    """How large the parts of a machine may be, in bytes and in events."""

    workflow: Workflow
    distributed: dict[str, Any]
    bytes: float = AIM * MAX_BYTES
    events: float = AIM * MAX_EVENTS
    _known: dict[int, tuple[int, int]] = field(default_factory=dict)
    _steps: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)  # by scope and index, whatever the aim is

    def weight(self, scope: Scope, tree: Tree) -> tuple[int, int]:
        """About how many bytes and events a region makes."""
        key = id(tree)
        if key not in self._known:
            found = [self._step(scope, index) for index in leaves(tree)]
            self._known[key] = sum(size for size, _ in found), sum(events for _, events in found)
        return self._known[key]

    def whole(self, scope: Scope) -> tuple[int, int]:
        found = [self._step(scope, index) for index in range(len(scope.steps))]
        return sum(size for size, _ in found), sum(events for _, events in found)

    def exceeded(self, weight: tuple[int, int]) -> bool:
        return weight[0] > self.bytes or weight[1] > self.events

    def groups(self, scope: Scope, trees: Sequence[Tree]) -> list[list[Tree]]:
        """Neighbours put together as long as they keep below the aim; one group when all of them do. Each has a step: a place
        where tokens begin or end is no part by itself.
        """
        found: list[list[Tree]] = []
        size, events = 0, 0
        whole = False  # whether the last group has a step
        for tree in trees:
            weight, steps = self.weight(scope, tree), any(leaf < len(scope.steps) for leaf in leaves(tree))
            if not found or steps and whole and self.exceeded((size + weight[0], events + weight[1])):
                found.append([])
                size, events, whole = 0, 0, False
            whole |= steps
            found[-1].append(tree)
            size, events = size + weight[0], events + weight[1]
        return found

    def apart(self, groups: list[list[Tree]]) -> list[list[list[Tree]]]:
        """The groups in as many lists as one machine has room to start, each of which is cut further; in lists of one if it has
        room for all.
        """
        room = max(2, int(self.bytes // _START))
        if len(groups) <= room:
            return [[group] for group in groups]
        size = math.ceil(len(groups) / min(room, math.ceil(len(groups) / room)))
        return [groups[start : start + size] for start in range(0, len(groups), size)]

    def _step(self, scope: Scope, index: int) -> tuple[int, int]:
        if index >= len(scope.steps):
            return _GATE  # a place where tokens begin or end, without a step
        key = id(scope), index
        if key not in self._steps:
            size = _size(scope.steps[index])
            for inner in scope.inner.get(index, ()):
                size += self.whole(inner)[0]
            self._steps[key] = size, events_of(scope, index, self.workflow, self.distributed)[0]
        return self._steps[key]


def _size(step: Step) -> int:
    """About how many bytes the states of a step have."""
    values = (step.config, step.items, step.when, step.input, *(case.when for case in step.cases))
    return 520 + sum(8 if value is None else _bytes(value) for value in values)


def _bytes(value: Any) -> int:
    if isinstance(value, Literal):
        return 20 + (len(value.value) if isinstance(value.value, str) else 0)
    if isinstance(value, dict):
        return sum([len(key) + 6 + _bytes(item) for key, item in value.items()])
    if isinstance(value, list):
        return sum([2 + _bytes(item) for item in value])
    if is_node(value):
        return sum([20 + (len(here.value) if isinstance(here, Literal) and isinstance(here.value, str) else 0)
            for here in walk(value)])
    return len(value) if isinstance(value, str) else 8


def part(machine: Machine, block: Block, body: Body, states: State, label: str) -> State:
    """The branch in whose place a part runs. `states` is the finished map of the part."""
    placeholder = f"part_{len(machine.parts) + 1}"
    machine.parts[placeholder] = {"Comment": f"{machine.workflow.name}: {label}"[:200], "QueryLanguage": "JSONata", **states}
    first = next((run for run in _steps(body)), None)
    at = first.at if first is not None else machine.workflow.at
    name, failed = machine.states.new(label, "part"), machine.states.new(label, "part failed")
    variable = machine.variables.new_name.new("part_failure")
    iteration = machine.iteration(machine.writer(block, Step(label, "parallel", at)), block.frame)
    counted = f"[$states.context.Execution.Id,{text_literal(placeholder)},{iteration},$states.context.State.RetryCount]"
    state: State = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {
            "StateMachineArn": "${" + placeholder + "}",
            "Name": query(f'"part-"&$hash($string({counted}),"MD5")'),
            "Input": {"execution": query(_CALLED), **machine.given(body.frame)},
        },
        "TimeoutSeconds": _LONGEST,
        "Retry": [{"ErrorEquals": [*_STARTING], "IntervalSeconds": 2, "MaxAttempts": 5, "BackoffRate": 2}],
        "Catch": [{"ErrorEquals": ["States.TaskFailed"], "Assign": {variable: _FAILED}, "Next": failed}],
        "Output": query("$states.result.Output"),
        "End": True,
    }
    fail: State = {"Type": "Fail", "Error": query(f"${variable}.error"), "Cause": query(f"${variable}.cause")}
    for one in (name, failed):
        machine.origins[one] = Origin("", "part", at)
    return {"StartAt": name, "States": {name: state, failed: fail}}


def _steps(body: Body) -> list[Step]:
    from translator.asl.plan import runs

    return [run.step for run in runs(body.plan)[:1]]

