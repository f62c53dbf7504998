"""Scopes: lists of steps with the edges between them, and what follows from the edges alone.

A scope is the body of a workflow, one branch of a parallel, the body of a loop, or `finally`. For each scope this module
finds the order, who precedes whom, and when a step is live: dead-path elimination decided before anything runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from translator.diagnostics import Findings, Position
from translator.findings import graph as rules
from translator.graph.guards import NEVER, with_guards
from translator.model.workflow import Edge, Step, Workflow
from translator.nearest import nearest

# The outcomes (choice, name) of which at least one must be taken for a step to run; None: it always runs.
Live = frozenset[tuple[int, str]] | None
KEPT = 200  # sets of outcomes, for each of which it is kept which choices imply it


@dataclass(slots=True)
class Scope:
    """One list of steps. Steps are numbered in the order they are written; sets of them are bit masks."""

    key: str
    steps: list[Step]
    owner: tuple[Scope, int] | None = None
    preds: list[list[tuple[int, Edge]]] = field(default_factory=list)
    succs: list[list[int]] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)  # the position of each step in `order`
    before: list[int] = field(default_factory=list)  # strict ancestors of each step
    live: list[Live] = field(default_factory=list)
    inner: dict[int, list[Scope]] = field(default_factory=dict)
    _implied: dict[frozenset[tuple[int, str]], dict[int, bool]] = field(default_factory=dict, init=False, repr=False)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.steps)))

    def precedes(self, first: int, second: int) -> bool:
        return bool(self.before[second] >> first & 1)

    def outcomes(self, choice: int) -> frozenset[str]:
        step = self.steps[choice]
        return frozenset([*(case.name for case in step.cases), step.default])

    def exclusive(self, choice: int) -> bool:
        return self.steps[choice].mode != "all"

    def refines(self, inner: Live, outer: Live) -> bool:
        """Whether a step that is live by `inner` can only run when `outer` holds as well."""
        if outer is None:
            return True
        if inner is None:
            return False
        known = self._implied.get(outer)  # choices lie on many ways
        if known is None:
            if len(self._implied) > KEPT:
                self._implied.clear()
            known = self._implied[outer] = {}
        first = min((self.rank[choice] for choice, _ in outer), default=0)
        return all(pair in outer or self._implies(pair[0], outer, known, first) for pair in inner)

    def _implies(self, choice: int, outer: frozenset[tuple[int, str]], known: dict[int, bool], first: int) -> bool:
        """Whether `choice` only runs when `outer` holds; `first` is the rank of the first of outer's choices."""
        stack = [choice]
        while stack:
            here = stack[-1]
            live = self.live[here]
            if here in known:
                stack.pop()
            elif live is None or self.rank[here] <= first:
                known[here] = False
            else:
                for pair in live:
                    if pair not in outer and not known.get(pair[0], False):
                        if pair[0] in known:
                            known[here] = False
                        else:
                            stack.append(pair[0])
                        break
                else:
                    known[here] = True
        return known[choice]

    def simplified(self, live: Live) -> Live:
        """The same set without choices of which every outcome is included, and without outcomes that others include."""
        changed = True
        while changed and live is not None:
            changed = False
            for choice in sorted({pair[0] for pair in live}):
                if not self.exclusive(choice):
                    continue
                names = {name for index, name in live if index == choice}
                if names >= self.outcomes(choice):
                    above = self.live[choice]
                    rest = frozenset(pair for pair in live if pair[0] != choice)
                    live = None if above is None else rest | above
                    changed = True
                    break
        if live is None:
            return None
        kept = live
        for pair in sorted(live, reverse=True):
            others = kept - {pair}
            above = self.live[pair[0]]
            if others and above is not None and self.refines(above, others):
                kept = others
        return kept

    def whole(self, steps: Iterable[int]) -> Live:
        """The outcomes that all of these steps hang on, and some step of them on all of these."""
        found: set[tuple[int, str]] = set()
        lives = [self.live[step] for step in steps]
        for live in lives:
            if live is None:
                return None
            found |= live
        union = self.simplified(frozenset(found))
        return union if union in lives else None

    def disjoint(self, first: Live, second: Live, modes: Collection[str] = ("first", "one")) -> bool:
        """Whether two steps can never both run: they hang on different outcomes of one choice, which has one of these modes."""
        return (
            first is not None
            and second is not None
            and bool(first)
            and all(self._apart(one, two, modes) for one in first for two in second)
        )

    def _apart(self, one: tuple[int, str], two: tuple[int, str], modes: Collection[str]) -> bool:
        if one[0] == two[0]:
            return one[1] != two[1] and self.steps[one[0]].mode in modes
        for first, second in ((one, two), (two, one)):
            above = self.live[first[0]]
            if above and all(pair[0] == second[0] and self._apart(pair, second, modes) for pair in above):
                return True
        return False


@dataclass(slots=True)
class Graph:
    """All scopes of a workflow, and where each step is."""

    body: Scope
    finally_: Scope | None
    ids: frozenset[str]  # of the steps that the workflow itself has
    where: dict[str, tuple[Scope, int]] = field(default_factory=dict)

    def scopes(self) -> Iterator[Scope]:
        stack = [scope for scope in (self.finally_, self.body) if scope is not None]
        while stack:
            scope = stack.pop()
            yield scope
            for index in sorted(scope.inner, reverse=True):
                stack.extend(reversed(scope.inner[index]))


def build_graph(workflow: Workflow, findings: Findings) -> Graph | None:
    """The workflow's scopes; None when the edges make no sense, with findings for each reason."""
    graph = Graph(Scope("", []), None, frozenset(step.id for step in workflow.all_steps()))
    known: dict[str, Position] = {}
    count = len(findings.items)
    graph.body = _scope("", workflow.steps, None, graph, known, findings)
    if workflow.finally_:
        graph.finally_ = _scope("finally", workflow.finally_, None, graph, known, findings)
    if len(findings.items) > count and any(
        item.code in _BLOCKING for item in findings.items[count:]
    ):
        return None
    for scope in graph.scopes():
        _connect(scope, graph, findings)
    if any(item.code in _BLOCKING for item in findings.items[count:]):
        return None
    for scope in graph.scopes():
        if not _sort(scope, findings):
            return None
        _find_live(scope, findings)
        _drop_pointless(scope)
        _find_ancestors(scope)
    return graph


_BLOCKING = frozenset(
    rule.code
    for rule in (
        rules.DUPLICATE_ID, rules.UNKNOWN_STEP, rules.CYCLE, rules.OTHER_SCOPE, rules.UNKNOWN_OUTCOME,
        rules.NOT_A_CHOICE, rules.SELF_DEPENDENCY,
    )
)


def _scope(
    key: str,
    steps: tuple[Step, ...],
    owner: tuple[Scope, int] | None,
    graph: Graph,
    known: dict[str, Position],
    findings: Findings,
) -> Scope:
    scope = Scope(key, with_guards(steps, graph.ids), owner)
    for index, step in enumerate(scope.steps):
        if step.id in known:
            findings.add(
                rules.DUPLICATE_ID,
                f"the step id {step.id!r} is used twice in this workflow",
                step.at,
                hint="rename one of the steps",
                related=(("first used here", known[step.id]),),
            )
            continue
        known[step.id] = step.at
        graph.where[step.id] = (scope, index)
        inner = [
            _scope(f"{step.id}/{number}", branch, (scope, index), graph, known, findings)
            for number, branch in enumerate(step.inner())
        ]
        if inner:
            scope.inner[index] = inner
    return scope


def _connect(scope: Scope, graph: Graph, findings: Findings) -> None:
    scope.preds = [[] for _ in scope.steps]
    scope.succs = [[] for _ in scope.steps]
    index_of = {step.id: index for index, step in enumerate(scope.steps)}
    for index, step in enumerate(scope.steps):
        for edge in step.depends_on:
            source = index_of.get(edge.step)
            if source is None:
                _report_unknown(step, edge, graph, scope, findings)
            elif source == index:
                findings.add(rules.SELF_DEPENDENCY, f"the step {step.id!r} depends on itself", edge.at)
            else:
                _check_outcomes(scope.steps[source], edge, findings)
                scope.preds[index].append((source, edge))
                if index not in scope.succs[source][-1:]:
                    scope.succs[source].append(index)


def _report_unknown(step: Step, edge: Edge, graph: Graph, scope: Scope, findings: Findings) -> None:
    if edge.step in graph.where:
        other, _ = graph.where[edge.step]
        holder = _holder_in(scope, other)
        hint = f"depend on {holder!r} instead" if holder else ""
        findings.add(
            rules.OTHER_SCOPE,
            f"the step {step.id!r} depends on {edge.step!r}, which is in another list of steps",
            edge.at,
            hint=hint,
        )
        return
    near = nearest(edge.step, [item.id for item in scope.steps])
    findings.add(
        rules.UNKNOWN_STEP,
        f"the step {step.id!r} depends on {edge.step!r}, which does not exist",
        edge.at,
        hint=f"did you mean {near!r}?" if near else "",
    )


def _holder_in(scope: Scope, other: Scope) -> str:
    """The id of the step of `scope` inside of which `other` is."""
    here: Scope | None = other
    while here is not None and here.owner is not None:
        parent, index = here.owner
        if parent is scope:
            return parent.steps[index].id
        here = parent
    return ""


def _check_outcomes(source: Step, edge: Edge, findings: Findings) -> None:
    if not edge.on:
        return
    if source.type != "choice":
        findings.add(rules.NOT_A_CHOICE, f"{source.id!r} is a {source.type} step and has no outcomes", edge.at)
        return
    names = [*(case.name for case in source.cases), *([source.default] if source.default else [])]
    for name in edge.on:
        if name not in names:
            near = nearest(name, names)
            findings.add(
                rules.UNKNOWN_OUTCOME,
                f"the choice {source.id!r} has no outcome {name!r}; it has {', '.join(map(repr, names))}",
                edge.at,
                hint=f"did you mean {near!r}?" if near else "",
            )


def _sort(scope: Scope, findings: Findings) -> bool:
    """Topological order, stable in the order of writing; a cycle is reported with its path."""
    waiting = [len({source for source, _ in edges}) for edges in scope.preds]
    succs = [sorted(set(targets)) for targets in scope.succs]
    scope.succs = succs
    ready = [index for index, count in enumerate(waiting) if not count]
    position = 0
    while position < len(ready):
        for target in succs[ready[position]]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
        position += 1
    scope.order = ready
    scope.rank = [0] * len(scope.steps)
    for position, index in enumerate(ready):
        scope.rank[index] = position
    if len(ready) == len(scope.steps):
        return True
    path = _cycle(scope, {index for index, count in enumerate(waiting) if count})
    names = [scope.steps[index].id for index in path]
    findings.add(
        rules.CYCLE,
        "steps wait for each other: " + " → ".join([*names, names[0]]),
        scope.steps[path[0]].at,
        hint="remove one of these dependencies, or use a loop",
        related=tuple((f"{scope.steps[index].id!r}", scope.steps[index].at) for index in path[1:20]),
    )
    return False


def _cycle(scope: Scope, left: set[int]) -> list[int]:
    """One circle among the steps that could not be sorted, in the direction of the edges."""
    here = min(left)
    seen: dict[int, int] = {}
    walk: list[int] = []
    while here not in seen:
        seen[here] = len(walk)
        walk.append(here)
        here = next(source for source, _ in scope.preds[here] if source in left)
    circle = walk[seen[here]:][::-1]
    start = circle.index(min(circle))
    return circle[start:] + circle[:start]


def _find_ancestors(scope: Scope) -> None:
    scope.before = [0] * len(scope.steps)
    for index in scope.order:
        mask = 0
        for source, _ in scope.preds[index]:
            mask |= scope.before[source] | 1 << source
        scope.before[index] = mask


def _drop_pointless(scope: Scope) -> None:
    """Takes out edges that only order two steps of which at most one runs.

    What comes after the second step still waits for the first.
    """
    for index in scope.order:
        kept: list[tuple[int, Edge]] = []
        for source, edge in scope.preds[index]:
            if edge.when != NEVER or not scope.disjoint(scope.live[source], scope.live[index]):
                kept.append((source, edge))
                continue
            for after in scope.succs[index]:
                if all(before != source for before, _ in scope.preds[after]):
                    scope.preds[after].append((source, edge))
                    scope.succs[source].append(after)
        if len(kept) < len(scope.preds[index]):
            left = {source for source, _ in kept}
            for source, _ in scope.preds[index]:
                if source not in left:
                    scope.succs[source].remove(index)
            scope.preds[index] = kept


def _find_live(scope: Scope, findings: Findings) -> None:
    scope.live = [None] * len(scope.steps)
    for index in scope.order:
        live: Live = frozenset()
        if not scope.preds[index]:
            live = None
        for source, edge in scope.preds[index]:
            if edge.when == NEVER:
                continue
            if edge.on:
                live = None if live is None else live | {(source, name) for name in edge.on}
            else:
                above = scope.live[source]
                live = None if live is None or above is None else live | above
        scope.live[index] = scope.simplified(live)
        if live == frozenset():
            findings.add(
                rules.NEVER_RUNS, f"no edge that leads to {scope.steps[index].id!r} can become live", scope.steps[index].at
            )
