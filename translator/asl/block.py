"""One `States` map while it is made, and what the states of a machine have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from translator.asl.distribution import Distribution
from translator.asl.names import StateNames
from translator.asl.plan import Frame, Plan, runs
from translator.asl.values import CONTEXT, META, Bind, Deferred, Writer, query
from translator.asl.variables import Variables
from translator.diagnostics import Findings, Position
from translator.expressions.jsonata import MAX_CODE, NotNative
from translator.expressions.tree import Slot
from translator.expressions.types import TypeOf
from translator.findings import asl as rules
from translator.model.inputs import required_inputs, type_of_inputs
from translator.model.workflow import UNDO_LOOP, Step, Workflow

State = dict[str, Any]
APART = "$states.context.Execution.Input"  # what an execution inside of another one was started with
Finish = Callable[[Bind], Any]


class Origin(NamedTuple):
    """What a state is there for: `role` is step, condition, evaluate, record, join, bind, expired, lapsed, failed or end."""

    step: str
    role: str
    position: Position


@dataclass(slots=True)
class Block:
    """A `States` map. `finish` gives the output at its end, `fail` is where failures of its states go, if they are
    collected: a state name and the variable that holds the error; with `kept` the block's values are handed on there too."""

    frame: Frame
    finish: Finish
    states: dict[str, State] = field(default_factory=dict)
    fail: tuple[str, str] | None = None
    kept: bool = False
    end_state: str = ""
    label: str = ""
    bare: bool = False  # the output is the one value that the frame hands on, not an object with it
    plan: Plan | None = None
    # States are made from the end to the start. Steps already made when a state is made come after it, or run instead of it.
    emitted: dict[str, int] = field(default_factory=dict)  # step id -> how many had been made before
    places: dict[str, int] = field(default_factory=dict)  # state -> how many steps had been made before


@dataclass(slots=True)
class Machine:
    """What the emitter of one machine works with."""

    workflow: Workflow
    variables: Variables
    findings: Findings
    states: StateNames = field(default_factory=StateNames)
    origins: dict[str, Origin] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    workflows: dict[str, str] = field(default_factory=dict)
    children: Mapping[str, Workflow] = field(default_factory=dict)
    own_steps: frozenset[str] = frozenset()  # ids of the workflow's steps; choices for edges with conditions have others
    failure: str = ""  # the variable that holds the body's failure, for what runs at the end
    # Steps that no function runs and that leave a record all the same, and loops whose list does: a rollback reads
    # them, or what runs after a failure.
    recorded: frozenset[str] = frozenset()
    recorded_items: frozenset[str] = frozenset()
    rollbacks: dict[str, str] = field(default_factory=dict)  # placeholder -> the workflow whose executions it undoes
    rounds: dict[str, str] = field(default_factory=dict)  # step -> the variable that counts questions about its failures
    questions: dict[str, list[str]] = field(default_factory=dict)  # step -> choices whose first way leads back to it
    claims: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # step -> what of its result must stay in the machine
    lengths: dict[str, int] = field(default_factory=dict)  # the state of a loop -> how many items it has, where that is known
    total: set[str] = field(default_factory=set)  # choices that belong to no step and whose conditions cannot fail
    routed: set[str] = field(default_factory=set)  # states that may be left out where it is known what they do
    asked: set[str] = field(default_factory=set)  # those of `routed` that ask for the conditions of edges
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)  # placeholder -> a machine that runs a part of the body
    distributed: Mapping[str, Distribution] = field(default_factory=dict)  # loops that run as Distributed Maps
    # What executions inside of this one read of what is around them: parts of the input, and values by name with their home.
    contexts: dict[Frame, set[str]] = field(default_factory=dict)
    carried: dict[Frame, dict[str, tuple[Frame | None, str]]] = field(default_factory=dict)
    entries: dict[Frame, dict[str, str]] = field(default_factory=dict)  # loop body -> item variables its first state sets
    type_of: TypeOf = field(init=False)  # what the declared inputs make certain
    required: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.type_of, self.required = type_of_inputs(self.workflow), required_inputs(self.workflow)

    def add(self, block: Block, step: Step, role: str, state: State, suffix: str = "") -> str:
        """Put a state into the block; gives its name."""
        name = self.states.new(step.id, suffix)
        block.states[name] = state
        block.places[name] = len(block.emitted)
        self.origins[name] = Origin(step.id, role, step.at)
        return name

    def made(self, block: Block, plan: Plan) -> None:
        """Note that all steps of a plan have their states."""
        for run in runs(plan):
            block.emitted.setdefault(run.step.id, len(block.emitted))

    def bind(self, frame: Frame, own: Mapping[Slot, str] | None = None) -> Bind:
        """Sources of references for a state in `frame`; `own` has those that this very state gives."""

        def source(slot: Slot) -> str:
            if own is not None and slot in own:
                return own[slot]
            if slot.kind in CONTEXT:
                for around in frame.chain():
                    if around.apart:
                        self.contexts.setdefault(around, set()).add(slot.kind)
                return CONTEXT[slot.kind]
            if slot.kind == "meta":
                return self.across(frame, None, "_arn", META["arn"]) if slot.name == "arn" else META[slot.name]
            if slot.kind == "failure":
                return self.across(frame, None, self.failure, f"${self.failure}")
            if slot.kind in ("item", "index") and (home := self.variables.home(slot)) is not None and home.apart:
                return self.across(frame, home, f"{slot.kind}_{home.number}", f"{APART}.{slot.kind}")
            found = self.variables.found(slot, frame)
            if found is None:
                raise LookupError(f"nothing holds {slot.kind} {slot.name!r} here")
            name, home = found
            return self.across(frame, home, name, f"${name}")

        return source

    def across(self, frame: Frame, home: Frame | None, name: str, source: str) -> str:
        """The source, in `frame`, of what `source` is in `home` (None: outside of all frames). Executions in between are given
        it as `name` with their input.
        """
        crossed = []
        for around in frame.chain():
            if around is home:
                break
            if around.apart:
                crossed.append(around)
        for around in crossed:
            self.carried.setdefault(around, {})[name] = (home, source)
        return f"{APART}.outer.{name}" if crossed else source

    def given(self, frame: Frame) -> dict[str, Any]:
        """What an execution whose states are made (`frame` is its own) reads of its input, besides the item."""
        found: dict[str, Any] = {kind: query(CONTEXT[kind]) for kind in sorted(self.contexts.get(frame, ()))}
        assert frame.parent is not None
        outer = {
            name: query(self.across(frame.parent, home, name, source))
            for name, (home, source) in sorted(self.carried.get(frame, {}).items())
        }
        for kind in self.contexts.get(frame, ()):  # those around it must have it too
            self.bind(frame.parent)(Slot(kind, ""))
        return found | ({"outer": outer} if outer else {})

    def writer(self, block: Block, step: Step, own: Mapping[Slot, str] | None = None) -> Writer:
        def variable() -> str:
            return self.variables.new_name.new(f"{step.id}_value")

        return Writer(
            self.bind(block.frame, own), Deferred(variable), self.findings, self.type_of, self.required, self.distributed
        )

    def attempt(self, step: Step, counted: str) -> str:
        """The field with the number of an attempt. Tries after an escalation count from the next thousand on."""
        return query(f"{counted}+1000*${self.rounds[step.id]}" if step.id in self.rounds else counted)

    def iteration(self, writer: Writer, frame: Frame) -> str:
        """The source of the list of indexes of the loops around. An undo has those of the step that it undoes."""
        parts = [
            writer.bind(Slot("item", loop)) + ".iteration" if loop == UNDO_LOOP else writer.bind(Slot("index", loop))
            for loop in frame.loops
        ]
        return "[" + ",".join(parts) + "]"

    def places(self, writer: Writer, frame: Frame) -> list[str]:
        """The sources of the texts that tell iterations apart in a label, such as `[2]`, for the loops around."""
        return [
            f'$join({writer.bind(Slot("item", loop))}.iteration.("["&$string($)&"]"))' if loop == UNDO_LOOP
            else f'"["&$string({writer.bind(Slot("index", loop))})&"]"'
            for loop in frame.loops
        ]

    def go(self, block: Block, state: State, following: str | None, own: Mapping[Slot, str] | None = None) -> State:
        """Let `state` go on to `following`, or end the block there with the block's output."""
        if following is not None:
            state["Next"] = following
            return state
        try:
            if any(len(source) > MAX_CODE for source in (own or {}).values()):
                raise NotNative("the step's own result is too long to be handed on with it")
            state["Output"] = block.finish(self.bind(block.frame, own))
        except NotNative:  # with the code of the step's own result pasted in; read from variables it is shorter
            state["Next"] = self.target(block, None)
            return state
        state["End"] = True
        state.pop("Assign", None)  # nobody is left to read it
        return state

    def target(self, block: Block, following: str | None) -> str:
        """A state to go to: `following`, or the block's own end state, made when first needed."""
        if following is not None:
            return following
        if not block.end_state:
            block.end_state = self.states.new(block.label or self.workflow.id, "end")
            try:
                output = block.finish(self.bind(block.frame))
            except NotNative as reason:
                at = next((run.step.at for run in runs(block.plan)), self.workflow.at)
                self.findings.add(rules.TOO_MUCH_OUTPUT, f"what {block.label!r} gives cannot be put together: {reason}", at)
                output = None
            block.states[block.end_state] = {"Type": "Succeed", "Output": output}
            self.origins[block.end_state] = Origin("", "end", self.workflow.at)
        return block.end_state

    def assign_results(self, step: Step, block: Block, sources: Mapping[str, Any]) -> dict[str, Any]:
        """The `Assign` of a completed step: `sources` by kind (output, route)."""
        found: dict[str, Any] = self.entry(block, step)
        for slot, name in self.variables.own(step.id, block.frame):
            if slot.kind == "status":
                found[name] = "completed"
            elif slot.kind == "error":
                found[name] = None
            elif slot.kind == "began":
                found[name] = "{% $states.context.State.EnteredTime %}"
            elif slot.kind in sources:
                found[name] = sources[slot.kind]
            else:
                found[name] = None
        return found

    def assign(self, sources: Mapping[Slot, str], frame: Frame) -> dict[str, str]:
        """The `Assign` in `frame` of values that have a variable there."""
        names = self.variables.names
        return {names[slot, frame]: query(source) for slot, source in sources.items() if (slot, frame) in names}

    def entry(self, block: Block, step: Step) -> dict[str, Any]:
        """What the first step of a loop's body assigns besides its own result: the item, if others read it."""
        return dict(self.entries.get(block.frame, {})) if self.is_direct(block, step) else {}

    def is_direct(self, block: Block, step: Step) -> bool:
        """Whether the step is the first of a loop's body and reads the item from its own input."""
        run = self.variables.direct.get(block.frame)
        return run is not None and run.step is step

    def own_input(self, block: Block, step: Step) -> dict[Slot, str]:
        if not self.is_direct(block, step):
            return {}
        loop = block.frame.loops[-1]
        return {Slot("item", loop): "$states.input.item", Slot("index", loop): "$states.input.index"}


def close(block: Block, start: str) -> State:
    """The finished map, its states in the order in which they are met from the start."""
    ordered: dict[str, State] = {}
    stack = [start]
    while stack:
        name = stack.pop()
        if name in ordered or name not in block.states:
            continue
        state = ordered[name] = block.states[name]
        stack.extend(reversed(targets(state)))
    return {"StartAt": start, "States": ordered}


def targets(state: State) -> list[str]:
    """The states that a state can go to, the usual way first."""
    found = [rule["Next"] for rule in state.get("Choices", ())]
    found += [state[key] for key in ("Next", "Default") if key in state]
    return found + [rule["Next"] for rule in state.get("Catch", ())]

