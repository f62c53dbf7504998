"""The plan of a state machine: regions with their conditions, and the frames that variables live in.

A *frame* is one `States` map: the machine itself, a branch of a Parallel, the body of a Map. A variable belongs to a
frame: inner frames read it, but cannot assign it, so results leave a frame through its output.
https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from translator.asl.ordering import Ordering, Token, Turn, is_instant
from translator.expressions.failing import may_fail
from translator.expressions.tree import Literal, Node
from translator.graph.scope import Live, Scope
from translator.graph.strategies.layout import Branches, Leaf, Series, Tree, leaves
from translator.model.values import is_node, nodes_of
from translator.model.workflow import Step, Workflow
from translator.passes.policies import handles, reactions

if TYPE_CHECKING:
    from translator.asl.parts import Cut


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """`loop` is the id of the loop whose body this frame is. What is `apart` is an execution of its own, which cannot read the
    variables around it.
    """

    number: int
    parent: Frame | None = None
    loop: str = ""
    apart: bool = False

    def chain(self) -> list[Frame]:
        """This frame and all around it, innermost first."""
        found: list[Frame] = [self]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found

    @property
    def loops(self) -> list[str]:
        """The loops around, outermost first."""
        return [frame.loop for frame in reversed(self.chain()) if frame.loop]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One step; `bodies` are the plans inside of a parallel or loop, each in a frame of its own.

    `wrap` is a frame around all bodies, for a parallel that collects its branches' errors and that is
    itself retried.
    """

    step: Step
    frame: Frame
    bodies: tuple[Body, ...] = ()
    wrap: Frame | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A plan in a frame of its own. With `inner` the plan is in that frame, so that `frame` can catch all its errors.

    `last` are the steps that nothing follows; `exclusive` if at most one of them runs.
    """

    frame: Frame
    plan: Plan | None
    inner: Frame | None = None
    last: tuple[Step, ...] = ()
    exclusive: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    parts: tuple[Plan, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """Plans side by side, at most `limit` at once."""

    bodies: tuple[Body, ...]
    frame: Frame
    limit: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Arms:
    """The ways out of a choice: the first arm with a taken outcome runs, or none."""

    choice: Step
    arms: tuple[tuple[frozenset[str], Plan], ...]
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Guarded:
    """Runs when one of the outcomes (choice id, name) was taken."""

    outcomes: tuple[tuple[Step, str], ...]
    plan: Plan
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A place where signals are sent to other branches, and then others' are waited for; either may be none.

    Before all, a step ends its turn (`gives`); after all, the next one waits for its own (`takes`), unless signals bring it.
    """

    signals: tuple[Token, ...]
    waits: tuple[Token, ...]
    frame: Frame
    takes: Turn | None = None
    gives: Turn | None = None


Plan = Run | Sequence | Fork | Arms | Guarded | Gate


@dataclass(slots=True)
class Planner:
    """Turns scopes into plans. Frames are numbered in the order in which they are met."""

    ordering: Ordering
    workflow: Workflow
    apart: Collection[str] = ()  # loops whose items are executions of their own
    cut: Cut | None = None  # how the plan is cut into machines
    count: int = 0
    frame_of: dict[str, Frame] = field(default_factory=dict)  # step id -> the frame it runs in
    loop_frame: dict[str, Frame] = field(default_factory=dict)  # loop id -> the frame of its body

    def frame(self, parent: Frame | None, loop: str = "", *, apart: bool = False) -> Frame:
        self.count += 1
        return Frame(self.count - 1, parent, loop, apart)

    def scope(self, scope: Scope, frame: Frame, limit: int | None) -> Plan | None:
        layout = self.ordering.layout(scope, limit)
        return None if layout is None or layout.tree is None else self.region(scope, layout.tree, None, frame)

    def region(self, scope: Scope, region: Tree, context: Live, frame: Frame) -> Plan:
        if isinstance(region, Leaf):
            if self.holds_tokens(scope, region):
                return self.series(scope, [region], context, frame)
            live = _needed(scope, region, context)
            if live is not None:
                return self.guarded(scope, live, [region], frame)
            return self.in_turn(scope, region.step, frame)
        if isinstance(region, Series):
            return self.series(scope, list(region.parts), context, frame)
        return self.branches(scope, region, context, frame)

    def in_turn(self, scope: Scope, index: int, frame: Frame) -> Plan:
        """A step, between the states in which it waits for its turn and ends it, where it has one."""
        run = self.run(scope, index, frame)
        turn = self.ordering.turns.get(run.step.id)
        if turn is None:
            return run
        return Sequence((Gate((), (), frame, takes=turn), run, Gate((), (), frame, gives=turn)))

    def run(self, scope: Scope, index: int, frame: Frame) -> Run:
        step = scope.steps[index]
        self.frame_of[step.id] = frame
        collects = step.type == "parallel" and step.wait_for_all
        retried = step.retry or any(reaction.retries for reaction in reactions(step, self.workflow))
        wrap = self.frame(frame) if collects and retried else None
        bodies = tuple(self.body(step, inner, wrap or frame) for inner in scope.inner.get(index, ()))
        return Run(step, frame, bodies, wrap)

    def body(self, step: Step, inner: Scope, around: Frame) -> Body:
        """The body of a loop, or one branch of a parallel."""
        loop = step.id if step.type == "foreach" else ""
        frame = self.frame(around, loop, apart=loop in self.apart)
        caught = step.on_item_error == "continue" or frame.apart if loop else step.wait_for_all
        within = self.frame(frame) if caught and may_fail_natively(inner) else None
        if loop:
            self.loop_frame[loop] = frame if frame.apart else within or frame
        plan = self.scope(inner, within or frame, self.workflow.settings.max_parallel)
        last, exclusive = last_steps(inner)
        return Body(frame, plan, within, last, exclusive)

    def series(self, scope: Scope, parts: list[Tree], context: Live, frame: Frame) -> Plan:
        """One part after the other; neighbours that hang on the same outcomes share one condition."""
        groups = self.cut.groups(scope, parts) if self.cut is not None else []
        if len(groups) > 1:
            return self.pieces(scope, groups, context, frame)
        plans: list[Plan] = []
        position = 0
        while position < len(parts):
            part = parts[position]
            if self.holds_tokens(scope, part):
                self.between_gates(scope, part, context, frame, plans)
                position += 1
                continue
            live = _needed(scope, part, context)
            if live is None:
                _add(plans, self.region(scope, part, context, frame))
                position += 1
                continue
            end = position + 1
            while end < len(parts) and not self.holds_tokens(scope, parts[end]) and _within(scope, parts[end], live):
                end += 1
            plans.append(self.guarded(scope, live, parts[position:end], frame))
            position = end
        return plans[0] if len(plans) == 1 else Sequence(tuple(plans))

    def holds_tokens(self, scope: Scope, region: Tree) -> bool:
        """Whether a token leads into a region or out of it. Then its gates are passed whether its steps run or not."""
        wired = self.ordering.wired.get(scope.key)
        if wired is None:
            return False
        inside = set(leaves(region))
        return any(other not in inside for leaf in inside for other in wired.across.get(leaf, ()))

    def between_gates(self, scope: Scope, part: Tree, context: Live, frame: Frame, plans: list[Plan]) -> None:
        """Adds a part with tokens to the sequence; signals and the wait that follows them at once are one gate."""
        if not isinstance(part, Leaf):
            plans.append(self.region(scope, part, context, frame))
            return
        wired = self.ordering.wired[scope.key]
        waits, signals = tuple(wired.waits.get(part.step, ())), tuple(wired.signals.get(part.step, ()))
        wired.waited_in.update(dict.fromkeys(waits, frame))
        wired.sent_in.update(dict.fromkeys(signals, frame))
        turn = None
        if waits:
            turn = waits[0].turn
            _add(plans, Gate((), waits, frame))
        if part.step < len(scope.steps):
            live = _needed(scope, part, context)
            # A turn that signals bring comes and ends whether the step runs or not.
            inner = self.in_turn(scope, part.step, frame) if turn is None else self.run(scope, part.step, frame)
            _add(plans, inner if live is None else self.when_live(scope, live, inner, frame))
        if signals or turn is not None:
            _add(plans, Gate(signals, (), frame, gives=turn))

    def pieces(self, scope: Scope, groups: list[list[Tree]], context: Live, frame: Frame) -> Plan:
        """Groups of parts in sequence, each a machine of its own, and so are as many of them as one machine can start."""
        assert self.cut is not None
        plans: list[Plan] = []
        for some in self.cut.apart(groups):
            if len(some) == 1:
                plans.append(self.elsewhere(scope, some[0], context, frame))
            else:
                inner = self.frame(frame, apart=True)
                plans.append(Fork((Body(inner, self.pieces(scope, some, context, inner)),), frame, None))
        return Sequence(tuple(plans))

    def elsewhere(self, scope: Scope, parts: list[Tree], context: Live, frame: Frame) -> Plan:
        """Parts of a sequence as a machine of their own. One that is too large for that is cut further inside."""
        assert self.cut is not None
        if len(parts) == 1 and (self.cut.exceeded(self.cut.weight(scope, parts[0]))):
            return self.series(scope, parts, context, frame)
        inner = self.frame(frame, apart=True)
        return Fork((Body(inner, self.series(scope, parts, context, inner)),), frame, None)

    def guarded(self, scope: Scope, live: frozenset[tuple[int, str]], parts: list[Tree], frame: Frame) -> Plan:
        inner = self.series(scope, parts, live, frame) if len(parts) > 1 else self.region(scope, parts[0], live, frame)
        return self.when_live(scope, live, inner, frame)

    def when_live(self, scope: Scope, live: frozenset[tuple[int, str]], inner: Plan, frame: Frame) -> Plan:
        choices = {index for index, _ in live}
        if len(choices) == 1:
            choice = next(iter(choices))
            if isinstance(inner, Arms) and inner.choice is scope.steps[choice]:
                return inner
            return Arms(scope.steps[choice], ((frozenset(name for _, name in live), inner),), frame)
        outcomes = tuple((scope.steps[index], name) for index, name in sorted(live))
        return Guarded(outcomes, inner, frame)

    def branches(self, scope: Scope, region: Branches, context: Live, frame: Frame) -> Plan:
        """Parts that hang on different outcomes of one choice become the arms of one branch."""
        groups: list[tuple[int | None, list[tuple[Live, Tree]]]] = []
        for part in region.parts:
            live = None if self.holds_tokens(scope, part) else _needed(scope, part, context)
            choice = _single_choice(scope, live)
            target = next((group for key, group in groups if choice is not None and key == choice), None)
            if target is not None and all(not _share(live, other) for other, _ in target):
                target.append((live, part))
            else:
                groups.append((choice, [(live, part)]))
        in_order = groups if len(groups) == 1 else []
        if region.limit is None and not any(self.holds_tokens(scope, part) for part in region.parts):
            quick = [group for group in groups if all(self.at_once(scope, part) for _, part in group[1])]
            if len(groups) - len(quick) <= 1:  # a Parallel would cost a state, and save no time
                in_order = [*quick, *(group for group in groups if group not in quick)]
        if self.cut is not None and region.limit is None:
            trees = [part for _, members in in_order for _, part in members] or list(region.parts)
            cut = self.cut.groups(scope, trees)
            if len(cut) > 1 and in_order:
                return self.pieces(scope, cut, context, frame)
            if len(cut) > 1:
                together = [[tree for parts in some for tree in parts] for some in self.cut.apart(cut)]
                return Fork(tuple(self.beside(scope, parts, context, frame) for parts in together), frame, None)
        if in_order:
            plans = tuple(self.group(scope, group, context, frame) for group in in_order)
            return plans[0] if len(plans) == 1 else Sequence(plans)
        bodies = []
        for group in groups:
            inner = self.frame(frame)
            bodies.append(Body(inner, self.group(scope, group, context, inner)))
        return Fork(tuple(bodies), frame, region.limit)

    def at_once(self, scope: Scope, region: Tree) -> bool:
        """Whether the machine itself does all of a region at once, and a failure of it ends what is around."""
        return all(
            is_instant(step) and not step.retry and not handles(step, self.workflow)
            for step in (scope.steps[leaf] for leaf in leaves(region) if leaf < len(scope.steps))
        )

    def beside(self, scope: Scope, parts: list[Tree], context: Live, frame: Frame) -> Body:
        """Some of the parts of a fork, as a machine of their own if they fit into one."""
        assert self.cut is not None
        whole = len(parts) > 1 or not self.cut.exceeded(self.cut.weight(scope, parts[0]))
        inner = self.frame(frame, apart=whole)
        plan = self.region(scope, parts[0] if len(parts) == 1 else Branches(tuple(parts)), context, inner)
        return Body(inner, plan)

    def group(
        self, scope: Scope, group: tuple[int | None, list[tuple[Live, Tree]]], context: Live, frame: Frame
    ) -> Plan:
        choice, members = group
        if choice is None or len(members) == 1:
            return self.region(scope, members[0][1], context, frame)
        arms = []
        for live, part in members:
            names = frozenset(name for _, name in live or ())
            arms.append((names, self.region(scope, part, live, frame)))
        return Arms(scope.steps[choice], tuple(arms), frame)


def _add(plans: list[Plan], plan: Plan) -> None:
    """Adds to a sequence; a gate that only tells others and the one that follows it at once are one state."""
    for part in plan.parts if isinstance(plan, Sequence) else (plan,):
        last = plans[-1] if plans else None
        if isinstance(part, Gate) and isinstance(last, Gate) and not last.waits and last.takes is None and part.gives is None:
            plans[-1] = Gate((*last.signals, *part.signals), part.waits, part.frame, part.takes, last.gives)
        else:
            plans.append(part)


def last_steps(scope: Scope) -> tuple[tuple[Step, ...], bool]:
    """The steps that give what a list of steps gives: those that nothing follows, choices aside; and whether at most one of
    them runs, which only a choice of the definition's own tells.
    """
    last = [index for index in scope if not scope.succs[index] and scope.steps[index].type != "choice"]
    exclusive = all(
        scope.disjoint(scope.live[one], scope.live[other], ("first",))
        for number, one in enumerate(last) for other in last[:number]
    )
    return tuple(scope.steps[index] for index in last), exclusive


def may_fail_natively(scope: Scope) -> bool:
    """Whether a state that has no `Catch` (Choice, Pass, Wait) evaluates an expression that can fail in this list of steps."""
    return any(_waits_for_a_value(step) or any(map(may_fail, _uncaught(step))) for step in scope.steps)


def _waits_for_a_value(step: Step) -> bool:
    """Whether a wait fails where an expression gives what is no time."""
    times = (step.seconds, step.until)
    return step.type == "wait" and any(is_node(value) and not isinstance(value, Literal) for value in times)


def _uncaught(step: Step) -> Iterator[Node]:
    """The expressions of a step that a state without `Catch` evaluates."""
    if step.when is not None:
        yield step.when
    yield from (case.when for case in step.cases)
    if step.type in ("transform", "aggregate") and "value" in step.config:
        yield from nodes_of(step.config["value"])


def _needed(scope: Scope, region: Tree, context: Live) -> frozenset[tuple[int, str]] | None:
    """The outcomes that all of `region` hangs on, and some step of it on all of them, unless `context` already implies them."""
    union = scope.whole(step for step in leaves(region) if step < len(scope.steps))
    return None if union is None or scope.refines(context, union) else union


def _within(scope: Scope, region: Tree, live: Live) -> bool:
    return all(scope.refines(scope.live[step], live) for step in leaves(region) if step < len(scope.steps))


def _single_choice(scope: Scope, live: Live) -> int | None:
    choices = {index for index, _ in live or ()}
    if len(choices) != 1:
        return None
    choice = next(iter(choices))
    return choice if scope.exclusive(choice) else None


def _share(one: Live, other: Live) -> bool:
    return bool(one and other and one & other)


def runs(plan: Plan | None) -> list[Run]:
    """Every step of a plan in the order of the states, those inside of parallels and loops too."""
    return list(_runs(plan))


def first_step(plan: Plan) -> Step:
    """The step of a plan that comes first."""
    return next(_runs(plan)).step


def _runs(plan: Plan | None) -> Iterator[Run]:
    stack: list[Plan | None] = [plan]
    while stack:
        here = stack.pop()
        if isinstance(here, Run):
            yield here
            stack.extend(body.plan for body in reversed(here.bodies))
        elif isinstance(here, Sequence):
            stack.extend(reversed(here.parts))
        elif isinstance(here, Fork):
            stack.extend(body.plan for body in reversed(here.bodies))
        elif isinstance(here, Arms):
            stack.extend(arm for _, arm in reversed(here.arms))
        elif isinstance(here, Guarded):
            stack.append(here.plan)
