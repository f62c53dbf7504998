"""Which values become variables, and in which frames. A value that nobody reads is not kept.

A value is defined in the frame of its step. Every frame between that one and the frame of a reader hands it on: the inner
frame's output holds it, and the state around (Parallel) assigns it again under a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from aslant.step_types import INTERNAL, STEP_TYPES
from translator.asl.names import VariableNames
from translator.asl.ordering import Ordering, Token
from translator.asl.plan import Arms, Body, Fork, Frame, Gate, Guarded, Plan, Run, Sequence, first_step, runs
from translator.expressions.jsonata import is_native
from translator.expressions.tree import Slot
from translator.model.values import expressions_of, reads_of
from translator.model.workflow import UNDO_LOOP

# The kinds of values that a step leaves behind; `began` is when its state was entered.
DEFINED = ("output", "status", "error", "route", "child", "began")


def follows(part: Plan, following: Plan) -> bool:
    """Whether `following` holds the arms of the choice that `part` is, so that both are one Choice state."""
    return (
        isinstance(part, Run)
        and isinstance(following, Arms)
        and part.step is following.choice
        and part.step.mode != "all"
    )


@dataclass(slots=True)
class Variables:
    """The variables of a machine. `names` maps a value and a frame to the variable that holds it there."""

    frame_of: dict[str, Frame]
    loop_frame: dict[str, Frame]
    new_name: VariableNames = field(default_factory=VariableNames)
    names: dict[tuple[Slot, Frame], str] = field(default_factory=dict)
    kept: dict[tuple[str, Frame], dict[str, str]] = field(default_factory=dict)  # the same of a step's results, by their kinds
    exports: dict[Frame, list[Slot]] = field(default_factory=dict)  # what a frame hands to the one around it
    direct: dict[Frame, Run] = field(default_factory=dict)  # loop body -> its first step, which reads its input
    ordering: Ordering | None = None
    waited_in: dict[Token, Frame] = field(default_factory=dict)
    sent: dict[Token, list[Slot]] = field(default_factory=dict)  # what comes with a signal, for the branch that waits for it

    def read(self, slot: Slot, reader: Frame, step: str = "") -> None:
        """Make sure that `slot` can be read in frame `reader`, by `step`; without one after all that gives it."""
        home = self.home(slot)
        if home is None:
            return
        along = self.ordering.between(slot.name, step) if self.ordering is not None and step else None
        if along is not None:
            wired, tokens = along
            for token in tokens:
                self._hand_on(slot, home, wired.sent_in[token])
                home = self.waited_in[token] = wired.waited_in[token]
                brings = self.sent.setdefault(token, [])
                if slot not in brings:
                    brings.append(slot)
                self._keep(slot, home)
        self._hand_on(slot, home, reader)

    def _hand_on(self, slot: Slot, home: Frame, reader: Frame) -> None:
        """Out of the frame where the value is, up to the first one around the reader."""
        around = set(reader.chain())
        path: list[Frame] = []
        for frame in home.chain():
            path.append(frame)
            if frame in around:
                break
        for number in range(len(path) - 1, -1, -1):  # outermost first: it gets the plain name
            frame = path[number]
            self._keep(slot, frame)
            if number and slot not in self.exports.setdefault(path[number - 1], []):
                self.exports[path[number - 1]].append(slot)

    def _keep(self, slot: Slot, frame: Frame) -> None:
        if (slot, frame) not in self.names:
            name = self.names[slot, frame] = self.new_name.new(_base(slot))
            if slot.kind in DEFINED:
                self.kept.setdefault((slot.name, frame), {})[slot.kind] = name

    def home(self, slot: Slot) -> Frame | None:
        """The frame in which a value comes to be; None for values that are no variables."""
        if slot.kind in ("item", "index"):
            return self.loop_frame.get(slot.name)
        return self.frame_of.get(slot.name) if slot.kind in DEFINED else None

    def found(self, slot: Slot, frame: Frame) -> tuple[str, Frame] | None:
        """The variable that holds `slot` for a reader in `frame`, and the frame that it belongs to."""
        for around in frame.chain():
            if (slot, around) in self.names:
                return self.names[slot, around], around
        return None

    def own(self, step_id: str, frame: Frame) -> list[tuple[Slot, str]]:
        """The variables of `frame` that hold something of the step."""
        kept = self.kept.get((step_id, frame), {})
        return [(Slot(kind, step_id), kept[kind]) for kind in DEFINED if kind in kept]

    def skipped(self, plan: Plan | None, frame: Frame) -> dict[str, object]:
        """The assignments in `frame` for steps of `plan` that do not run."""
        return {
            name: unset(slot) for run in runs(plan) for slot, name in self.own(run.step.id, frame)
        }


def unset(slot: Slot) -> object:
    """What a step that did not run leaves behind."""
    return "skipped" if slot.kind == "status" else None


def indexes_of(run: Run) -> set[Slot]:
    """The indexes of the loops around a step that calls something or waits, which tell its iterations apart."""
    kind = STEP_TYPES.get(run.step.type) or INTERNAL.get(run.step.type)
    calls = kind is not None and not kind.native or run.step.type in ("workflow", "wait")
    return _indexes(run.frame) if calls or any(not is_native(node) for node in expressions_of(run.step)) else set()


def _indexes(frame: Frame) -> set[Slot]:
    return {Slot("item" if loop == UNDO_LOOP else "index", loop) for loop in frame.loops}


def find_direct(plan: Plan | None, variables: Variables) -> None:
    """Notes for each loop the first step of its body, if that is one state: it needs no variable for the item."""
    for run in runs(plan):
        for body in run.bodies:
            first = body.plan
            while isinstance(first, Sequence):
                first = first.parts[0]
            if body.frame.loop and isinstance(first, Run) and not first.bodies and not (body.inner and body.frame.apart):
                variables.direct[body.inner or body.frame] = first


def collect_reads(plan: Plan | None, variables: Variables) -> None:
    """Notes every value that the plan's expressions and conditions read."""
    stack: list[Plan | None] = [plan]
    while stack:
        here = stack.pop()
        if isinstance(here, Run):
            for slot in _sorted(reads_of(here.step) | indexes_of(here)):
                if not (slot.kind in ("item", "index") and variables.direct.get(variables.loop_frame[slot.name]) is here):
                    variables.read(slot, here.frame, here.step.id)
            stack.extend(body.plan for body in here.bodies)
        elif isinstance(here, Sequence):
            for position, part in enumerate(here.parts):
                if isinstance(part, Arms) and not (position and follows(here.parts[position - 1], part)):
                    variables.read(Slot("route", part.choice.id), part.frame, _first(part))
            stack.extend(here.parts)
        elif isinstance(here, Fork):
            for body in here.bodies:
                _read_first(body, variables)
                if body.frame.apart:  # the name of the execution that runs it tells iterations apart
                    for slot in _sorted(_indexes(here.frame)):
                        variables.read(slot, here.frame)
            stack.extend(body.plan for body in here.bodies)
        elif isinstance(here, Arms):
            for _, arm in here.arms:
                _read_arm(arm, variables)
            stack.extend(arm for _, arm in here.arms)
        elif isinstance(here, Guarded):
            for choice, _ in here.outcomes:
                variables.read(Slot("route", choice.id), here.frame, _first(here))
            _read_arm(here.plan, variables)
            stack.append(here.plan)
        elif isinstance(here, Gate):
            for slot in _sorted(_indexes(here.frame)):
                variables.read(slot, here.frame)


def _read_first(body: Body, variables: Variables) -> None:
    _read_arm(body.plan, variables)


def _read_arm(plan: Plan | None, variables: Variables) -> None:
    """A plan that is nothing but the arms of a choice elsewhere reads that choice's outcome."""
    if isinstance(plan, Arms):
        variables.read(Slot("route", plan.choice.id), plan.frame, _first(plan))


def _first(plan: Plan) -> str:
    return first_step(plan).id


def _sorted(slots: Iterable[Slot]) -> list[Slot]:
    return sorted(slots, key=lambda slot: (slot.kind, slot.name))


def _base(slot: Slot) -> str:
    return slot.name if slot.kind == "output" else f"{slot.name}_{slot.kind}"


def collect_results(plan: Plan | None, variables: Variables) -> None:
    """Notes what the bodies of loops and parallels must keep, for those whose output somebody reads."""
    for run in runs(plan):
        slot = Slot("output", run.step.id)
        if not any((slot, frame) in variables.names for frame in run.frame.chain()):
            continue
        for body in run.bodies:
            for step in body.last:
                variables.read(Slot("output", step.id), body.frame)
