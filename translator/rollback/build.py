"""The workflow that undoes what an execution did, made of the compensations and rollback steps of another.

It is compiled like any other: a plan of what to undo (from the step records), a loop over it in which a choice leads to the
compensation of each step, the rollback steps, and an end that says what could not be undone. A machine that is stopped
does not come to its `finally`: those steps run here as well, when an execution was cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from aslant.error_names import ALL
from aslant.step_types import STEP_TYPES
from translator.diagnostics import Findings, Position
from translator.expressions.tree import Attribute, Compare, Index, ListOf, Literal, Logic, Node, Slot
from translator.findings import graph as rules
from translator.model.workflow import UNDO_LOOP, Case, Edge, OnFailure, Retry, Settings, Step, Workflow
from translator.passes.policies import undoes

KIND = "compensate"  # the type of the steps that this module adds
PLAN = "rollback plan"
READ = "rollback values"  # what rollback steps read of the execution
FINISH = "rollback end"
PICK = "undo which"
VALUES = "undo values"  # what a compensation reads of the execution
DONE = "undo done"
ENDING = "rollback finally"  # whether `finally` runs
LATE = "finally values"  # what `finally` reads of the execution
ASKED = "finally"  # the key of the request that asks for `finally`
OURS = frozenset({PLAN, READ, FINISH, PICK, VALUES, DONE, ENDING, LATE, UNDO_LOOP})
_ATTEMPTS = 3
_LIMIT = 60.0  # seconds
_WAITING = 900.0  # seconds at most until what is still done has come to rest: no function runs longer
_UNSAID = 300.0  # seconds for an attempt to undo where nothing says how long it may take
_COMPOSITE = frozenset({"parallel", "foreach", "choice", "wait"})


@dataclass(slots=True)
class Undoing:
    """`workflow` undoes; `renamed` has the ids of steps inside of compensations, by the step that is undone."""

    workflow: Workflow
    undone: Mapping[str, Step]  # steps with a compensation
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    children: frozenset[str] = frozenset()  # steps that call a workflow, undone by that workflow's own rollback
    late: frozenset[str] = frozenset()  # ids of the steps of `finally`, those inside of others too

    def is_ours(self, step: Step) -> bool:
        """Whether this module made the step: its expressions have their meaning already."""
        return step.type == KIND or self.is_ours_id(step.id)

    def is_ours_id(self, step: str) -> bool:
        return step in OURS


def undo_id(step: str) -> str:
    """The id under which the undo of a step is recorded."""
    return f"undo {step}"


def has_undoing(workflow: Workflow) -> bool:
    """Whether the workflow has something to undo, or a policy that would."""
    return bool(workflow.rollback) or undoes(workflow) or any(
        step.compensation is not None for step in workflow.all_steps()
    )


def has_ending(workflow: Workflow) -> bool:
    """Whether something runs when an execution was cancelled. Express executions cannot be stopped."""
    return bool(workflow.finally_) and workflow.settings.execution != "express"


def build_undoing(workflow: Workflow, children: Mapping[str, Workflow], findings: Findings) -> Undoing | None:
    """The workflow that undoes `workflow`; None when there is nothing to undo and no `finally`."""
    ending = _ending(workflow) if has_ending(workflow) else ()
    late = frozenset(step.id for step in _with_inner(ending))
    if not has_undoing(workflow):
        made = _made(workflow, (_own(LATE, workflow.at), *_after(ending, Edge(LATE))))
        return Undoing(made, {}, late=late) if ending else None
    called = frozenset(step.id for step in workflow.all_steps() if _undoes_itself(step, children))
    undone = {step.id: step for step in workflow.all_steps() if step.compensation is not None or step.id in called}
    taken = {step.id: step for step in workflow.all_steps()}
    compensations = [step.compensation for step in workflow.all_steps() if step.compensation is not None]
    for step in (*_with_inner(tuple(compensations)), *_with_inner(workflow.rollback)):
        if step.id in taken and step.at != taken[step.id].at:  # one compensation may be written once, for several steps
            findings.add(
                rules.DUPLICATE_ID, f"the step id {step.id!r} is used twice in this workflow", step.at,
                hint="rename one of the steps", related=(("first used here", taken[step.id].at),),
            )
        taken.setdefault(step.id, step)
    renamed: dict[str, dict[str, str]] = {}
    undos: list[Step] = []
    for step in undone.values():
        compensation = _child_rollback(step) if step.compensation is None else step.compensation
        limit = _UNSAID if step.timeout is None else max(_LIMIT, step.timeout)
        inner = {one.id: f"{undo_id(step.id)}: {one.id}" for part in compensation.inner() for one in _with_inner(part)}
        renamed[step.id] = inner
        undos.append(replace(
            _limited(_with_ids(compensation, inner), limit), id=undo_id(step.id),
            name=compensation.name or f"undo {step.label}",
            depends_on=(Edge(PICK, (step.id,), at=compensation.at),), retry=_retry(compensation), output_key="",
        ))
    at = workflow.at
    rollback = [
        replace(
            _limited(step), depends_on=step.depends_on or (Edge(READ, at=step.at),), retry=_retry(step),
            on_failure=step.on_failure or OnFailure("continue", at=step.at), when=_when(step),
        )
        for step in workflow.rollback
    ]
    loop = Step(
        UNDO_LOOP, "foreach", at, items=Attribute(Slot("output", PLAN), "undo"), max_parallel=1, on_item_error="continue",
        depends_on=(Edge(PLAN),), steps=(
            _own(VALUES, at),
            Step(
                PICK, "choice", at, depends_on=(Edge(VALUES),),
                cases=tuple(Case(step, _is(step), at) for step in undone),
            ),
            *undos,
            Step(
                DONE, "transform", at, config={"value": Literal(True)},
                depends_on=(Edge(PICK), *(Edge(undo.id) for undo in undos)),
            ),
        ),
    )  # fmt: skip
    loops = [loop] if undone else []
    undoing = (
        _own(PLAN, at, limit=_WAITING if undone else _LIMIT), *loops,
        _own(READ, at, depends_on=(Edge(UNDO_LOOP if undone else PLAN),)), *rollback,
    )  # fmt: skip
    last = [step.id for step in rollback] or [READ]
    if ending:
        asked = Compare(Attribute(Slot("rollback", ""), ASKED), (("==", Literal(True)),))
        undoing += (
            Step(
                ENDING, "choice", at, depends_on=tuple(map(Edge, last)), cases=(Case(ASKED, asked, at),), default="none"
            ),
            _own(LATE, at, depends_on=(Edge(ENDING, (ASKED,)),)),
            *_after(ending, Edge(LATE)),
        )  # fmt: skip
        last = [ENDING, *(step.id for step in ending)]
    made = _made(workflow, (*undoing, _own(FINISH, at, depends_on=tuple(map(Edge, last)))))
    return Undoing(made, undone, renamed, called, late)


def _made(workflow: Workflow, steps: tuple[Step, ...]) -> Workflow:
    return Workflow(
        id=workflow.id, name=workflow.name, version=workflow.version, description=workflow.description, steps=steps,
        inputs=workflow.inputs, variables=workflow.variables, output_types={},
        settings=Settings(max_parallel=workflow.settings.max_parallel), at=workflow.at, source=workflow.source,
    )


def _own(id: str, at: Position, depends_on: tuple[Edge, ...] = (), limit: float = _LIMIT) -> Step:
    """A step of this module's: it takes moments, and a function that is killed or hangs must not end the rollback."""
    return Step(id, KIND, at, depends_on=depends_on, timeout=limit, retry=Retry(max_attempts=4, at=at))


def _limited(step: Step, limit: float = _UNSAID) -> Step:
    """The step, and those inside of it, with a limit for an attempt. A lease whose function was killed holds up the next
    attempt for no longer than that.
    """

    def inner(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(_limited(one, limit) for one in steps)

    kind = STEP_TYPES.get(step.type)
    free = step.timeout is not None or step.type == "approval" or kind is None or kind.native
    return replace(
        step, timeout=step.timeout if free else limit, branches=tuple(map(inner, step.branches)), steps=inner(step.steps)
    )


def _ending(workflow: Workflow) -> tuple[Step, ...]:
    """The steps of `finally`, which keep their ids: what one of them has done already is not done again."""

    def changed(step: Step) -> Step:
        alone = step.type in (*_COMPOSITE, "workflow")
        return replace(
            step, retry=step.retry or (None if alone else workflow.settings.retry), compensation=None,
            branches=tuple(tuple(map(changed, branch)) for branch in step.branches), steps=tuple(map(changed, step.steps)),
        )

    def goes_on(step: Step) -> Step:
        """Whatever fails, the rest still runs: the execution has its status."""
        policy = step.on_failure or OnFailure("continue", at=step.at)
        asks = policy.action in ("retry", "escalate")
        return replace(step, on_failure=replace(policy, action=policy.action if asks else "continue", then="continue"))

    return tuple(goes_on(changed(step)) for step in workflow.finally_)


def _after(steps: tuple[Step, ...], edge: Edge) -> tuple[Step, ...]:
    """The steps, those that wait for none of them after `edge`."""
    return tuple(step if step.depends_on else replace(step, depends_on=(edge,)) for step in steps)


def _undoes_itself(step: Step, children: Mapping[str, Workflow]) -> bool:
    """Whether a step without a compensation calls a workflow, and waits for it, that knows how to undo what it did."""
    if step.type != "workflow" or not step.wait_for_completion or step.compensation is not None:
        return False
    stack, seen = [step.workflow], set[str]()
    while stack:
        child = children.get(stack.pop())
        if child is None or child.id in seen:
            continue
        seen.add(child.id)
        steps = [*child.all_steps()]
        if child.rollback or any(one.compensation is not None for one in steps):
            return True
        if undoes(child):  # then it undoes the children that it called itself
            stack.extend(one.workflow for one in steps if one.type == "workflow")
    return False


def _child_rollback(step: Step) -> Step:
    """The undo of a child's execution, by its own rollback. Its `input` is what is recorded of the child."""
    about = Index(Attribute(Slot("output", VALUES), "child"), Literal(step.id))
    return Step(
        step.id, "workflow", step.at, source=step.source, workflow=step.workflow, input=about, retry=Retry(max_attempts=1),
        labels={UNDO_LOOP: True},
    )


def _when(step: Step) -> Node:
    """The condition that the rollback step is among those that run: a failure may undo nothing, and so may a cancel."""
    chosen = Compare(Literal(step.id), (("in", Attribute(Slot("output", PLAN), "steps")),))
    return chosen if step.when is None else Logic("and", (chosen, step.when), step.when.at)


def _is(step: str) -> Node:
    return Compare(Attribute(Slot("item", UNDO_LOOP), "step"), (("==", Literal(step)),))


def one_of(steps: list[str]) -> Node:
    """The condition that the current undo is one of these steps'."""
    return Compare(Attribute(Slot("item", UNDO_LOOP), "step"), (("in", ListOf(tuple(map(Literal, steps)))),))


def _retry(step: Step) -> Retry | None:
    """An undo is tried three times, whatever its error, unless it says otherwise."""
    if step.retry is not None or step.type in _COMPOSITE:
        return step.retry
    return Retry(max_attempts=_ATTEMPTS, on=(ALL,), at=step.at)


def _with_inner(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        for part in step.inner():
            yield from _with_inner(part)


def _with_ids(step: Step, ids: Mapping[str, str]) -> Step:
    """The step with the ids of steps inside of it changed."""

    def changed(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(
            _with_ids(replace(
                one, id=ids[one.id],
                depends_on=tuple(replace(edge, step=ids.get(edge.step, edge.step)) for edge in one.depends_on),
            ), ids)
            for one in steps
        )  # fmt: skip

    return replace(step, branches=tuple(map(changed, step.branches)), steps=changed(step.steps))
