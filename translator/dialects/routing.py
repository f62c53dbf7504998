"""Turns the order of a list and the targets of its branches into explicit edges.

A step that names no dependency waits for everything before it; a step that a branch names is entered through that
branch alone. The canonical spelling knows neither rule, so both become `depends_on`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects.common import NO_PLACE, dependencies, dependency, nfc, only_one, put_expression, twice
from translator.dialects.keys import key_hint, way_hint
from translator.dialects.validate import did_you_mean, one_of
from translator.findings import dialects as rules
from translator.source import Map, Seq

_TARGETS = ("target_step", "target_steps", "target")
NEVER = "false"  # the guard of an edge that only makes a step wait


@dataclass(frozen=True, slots=True)
class Target:
    """A branch of a choice: its outcome, and the id of the step that it enters."""

    outcome: str
    step: str
    at: Position


@dataclass(slots=True)
class Listed:
    """A step of a list, already canonical apart from its edges.

    `written` are the edges its author gave, None when there were none; `targets` are what a choice leads to.
    `barrier` is the index of the first step of the list that it does not wait for when nothing else is said.
    """

    step: Map
    written: list[tuple[Any, Position]] | None
    targets: list[Target] = field(default_factory=list)
    barrier: int = 0
    edges: list[Map] = field(default_factory=list)

    @property
    def id(self) -> str:
        return nfc(str(self.step.get("id", "")))


def written(step: Map) -> list[tuple[Any, Position]] | None:
    return dependencies(step) if step.get("depends_on") is not None else None


def connect(steps: Sequence[Listed], findings: Findings, *, strict: bool = False) -> None:
    """Give each step its `depends_on`.

    `strict` makes the barrier hold for steps with edges of their own too, as stages need it. Barriers never fall from
    one step to the next.
    """
    _Connection(steps, findings, strict).run()


class _Connection:
    def __init__(self, steps: Sequence[Listed], findings: Findings, strict: bool) -> None:
        self.steps = steps
        self.findings = findings
        self.strict = strict
        self.index: dict[str, int] = {}
        for number, listed in enumerate(steps):
            self.index.setdefault(listed.id, number)
        self.routes = self._routes()
        self.ready = self._ready()
        self.may_be_dead = [True] * len(steps)
        self.sinks: dict[int, None] = {}
        self.covered: set[int] = set()
        self.trunk: int | None = None
        self.ancestors: dict[int, set[int]] = {}

    def run(self) -> None:
        by_time: list[list[int]] = [[] for _ in self.steps]
        for number, time in enumerate(self.ready):
            by_time[time].append(number)
        passed = 0
        for number, listed in enumerate(self.steps):
            while passed < listed.barrier:
                for earlier in by_time[passed]:
                    self._pass(earlier)
                passed += 1
            self._connect(number, listed)
        for number in self.routes:
            self._settle_target(number)
        for listed in self.steps:
            _put(listed)

    def _routes(self) -> dict[int, list[tuple[int, Target]]]:
        found: dict[int, list[tuple[int, Target]]] = {}
        for number, listed in enumerate(self.steps):
            for target in listed.targets:
                goal = self.index.get(nfc(target.step))
                if goal is None:
                    self.findings.add(rules.UNKNOWN_TARGET,
                        f"the branch {target.outcome!r} of {listed.id!r} leads to {target.step!r}, which is not here",
                        target.at, hint=one_of(target.step, self.index))
                else:
                    found.setdefault(goal, []).append((number, target))
        return found

    def _named(self, number: int) -> list[int]:
        """The steps of this list that `number` must wait for, whatever the order of the list says."""
        edges = self.steps[number].written or []
        names = [edge["step"] if isinstance(edge, Map) else edge for edge, _ in edges]
        found = [self.index[nfc(name)] for name in names if isinstance(name, str) and nfc(name) in self.index]
        return found + [choice for choice, _ in self.routes.get(number, ())]

    def _ready(self) -> list[int]:
        """For each step the index in the list from which on it may be waited for: its own, or that of the last step it
        names, so that no step waits for one that waits for it. Circles are left for the graph checks to report."""
        times: dict[int, int] = {}
        for start in range(len(self.steps)):
            stack = [start]
            open_: set[int] = set()
            while stack:
                number = stack[-1]
                if number in times:
                    stack.pop()
                    continue
                named = self._named(number)
                missing = [other for other in named if other not in times and other not in open_ and other != number]
                if number not in open_ and missing:
                    open_.add(number)
                    stack.extend(missing)
                    continue
                open_.discard(number)
                times[number] = max([number, *(times.get(other, 0) for other in named)])
                stack.pop()
        return [times[number] for number in range(len(self.steps))]

    def _pass(self, number: int) -> None:
        """From here on the list has `number` behind it."""
        before = [self.index[edge["step"]] for edge in self.steps[number].edges if edge["step"] in self.index]
        before += [choice for choice, _ in self.routes.get(number, ())]
        self.covered.update(before)
        for earlier in before:
            self.sinks.pop(earlier, None)
        if number not in self.covered:
            self.sinks[number] = None
        if not self.may_be_dead[number]:
            self.trunk = number

    def _connect(self, number: int, listed: Listed) -> None:
        at = listed.step.at("id")
        if listed.written is not None:
            listed.edges = [edge if isinstance(edge, Map) else dependency(edge, place)
                for edge, place in listed.written if isinstance(edge, (Map, str))]
            for edge in listed.edges:
                edge["step"] = nfc(edge["step"])
        if number in self.routes:
            return
        if listed.written is None:
            waits = sorted(self.sinks)
            alive = not waits or any(not self.may_be_dead[other] for other in waits)
            if not alive and self.trunk is not None:
                waits = sorted({*waits, self.trunk})
                alive = True
            self.may_be_dead[number] = not alive
            listed.edges = [dependency(self.steps[other].id, at) for other in waits]
            return
        self.may_be_dead[number] = bool(listed.edges) and not any(
            _plain(edge) and (other := self.index.get(edge["step"], number)) < number and not self.may_be_dead[other]
            for edge in listed.edges)
        if self.strict:
            self._hold_back(number, listed)

    def _hold_back(self, number: int, listed: Listed) -> None:
        """Keep the barrier of a stage for a step with edges of its own, without making it run through them."""
        named = set(self._named(number))
        if any(other >= listed.barrier for other in named):
            return
        at = listed.step.at("id")
        alone = not listed.edges
        for other in sorted(self.sinks):
            if other not in named:
                listed.edges.append(dependency(self.steps[other].id, at, when=None if alone else NEVER))
        if alone and self.sinks and all(self.may_be_dead[other] for other in self.sinks) and self.trunk is not None:
            listed.edges.append(dependency(self.steps[self.trunk].id, at))

    def _settle_target(self, number: int) -> None:
        listed = self.steps[number]
        routes = self.routes[number]
        choices = {choice for choice, _ in routes}
        edges: list[Map] = []
        for choice in dict.fromkeys(choice for choice, _ in routes):
            outcomes = list(dict.fromkeys(target.outcome for other, target in routes if other == choice))
            at = next(target.at for other, target in routes if other == choice)
            edges.append(dependency(self.steps[choice].id, at, on=outcomes))
        for edge in listed.edges:
            other = self.index.get(edge["step"])
            if other is None or not _plain(edge):
                edges.append(edge)
            elif other not in choices and not any(other in self._before(choice) for choice in choices):
                # The branch decides whether the step runs; what else it names it only waits for.
                edges.append(dependency(edge["step"], edge.pos, when=NEVER))
        listed.edges = edges
        if self.strict:
            named = {self.index.get(edge["step"]) for edge in edges}
            if not any(other is not None and other >= listed.barrier for other in named):
                self._wait_for_stage(number, listed, {other for other in named if other is not None})

    def _wait_for_stage(self, number: int, listed: Listed, named: set[int]) -> None:
        before = {other for choice in named for other in self._before(choice)} | named
        inner = {self.index.get(edge["step"]) for other in range(listed.barrier) for edge in self.steps[other].edges}
        for other in range(listed.barrier):
            if other not in before and other not in inner:
                listed.edges.append(dependency(self.steps[other].id, listed.step.at("id"), when=NEVER))

    def _before(self, number: int) -> set[int]:
        """Everything that is settled before `number` starts."""
        if number not in self.ancestors:
            found: set[int] = set()
            stack = [number]
            while stack:
                for edge in self.steps[stack.pop()].edges:
                    other = self.index.get(edge["step"])
                    if other is not None and other not in found:
                        found.add(other)
                        stack.append(other)
            self.ancestors[number] = found
        return self.ancestors[number]


def _plain(edge: Map) -> bool:
    return not edge.get("on") and edge.get("when") is None


def _put(listed: Listed) -> None:
    step = listed.step
    at = step.at("depends_on") if "depends_on" in step else step.at("id")
    edges = Seq(at)
    for edge in listed.edges:
        edges.add(edge["step"] if _plain(edge) else edge, edge.pos)
    step.pop("depends_on", None)
    if edges:
        step.put("depends_on", edges, at)


def components(steps: Sequence[Listed]) -> list[list[Listed]]:
    """The steps that have nothing to do with each other, in the order of their first step."""
    index = {listed.id: number for number, listed in enumerate(steps)}
    parent = list(range(len(steps)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for number, listed in enumerate(steps):
        names = [edge["step"] if isinstance(edge, Map) else edge for edge, _ in listed.written or []]
        for name in [*names, *(target.step for target in listed.targets)]:
            other = index.get(nfc(name)) if isinstance(name, str) else None
            if other is not None:
                first, second = sorted((root(number), root(other)))
                parent[second] = first
    groups: dict[int, list[Listed]] = {}
    for number, listed in enumerate(steps):
        groups.setdefault(root(number), []).append(listed)
    return list(groups.values())


def choice(step: Map, settings: Map, findings: Findings) -> list[Target]:
    """Put `cases` and `default` on a choice step from `condition`, `branches` and `default`; give what it leads to.

    `branches` is a mapping with `true` and `false`, or a list of mappings with `condition`, `target_step` and possibly
    `name`. `default` is a target, or a branch of the list is marked by `default: true`.
    """
    branches = settings.get("branches")
    for key in ("cases", "default"):
        if step.get(key):
            twice(findings, f"`{key}` of the step", "what it decides by", step.at_key(key), settings.pos)
    targets: list[Target] = []
    cases = Seq(settings.at("branches"))
    if isinstance(branches, Seq):
        _listed_branches(step, branches, cases, targets, findings)
    elif branches is None or isinstance(branches, Map):
        condition = only_one(settings, ("condition", "when"), findings)
        if condition is None:
            findings.add(rules.BRANCHES, f"the conditional step {step.get('id')!r} has no condition", settings.pos,
                hint="add `condition:`")
        else:
            case = Map(settings.at(condition))
            case.put("name", "true", settings.at(condition))
            put_expression(case, "when", settings, condition)
            if not isinstance(case["when"], str):
                case["when"] = str(case["when"]).lower() if isinstance(case["when"], bool) else case["when"]
            cases.add(case, case.pos)
        step.put("default", "false", settings.at("branches"))
        named = branches if isinstance(branches, Map) else Map()
        for outcome in named:
            if outcome not in ("true", "false"):
                findings.add(rules.BRANCHES, f"the branch {outcome!r} is neither true nor false",
                    named.at_key(outcome), hint=way_hint(outcome) or "write a list of branches to have more than two")
                continue
            if isinstance(named[outcome], Map):
                check_keys(named[outcome], (*_TARGETS, "name"), f"the branch {outcome!r}", findings)
            targets += _targets(outcome, named[outcome], named.at(outcome), findings)
    else:
        findings.add(rules.BRANCHES, "`branches` is a mapping or a list", settings.at("branches"))
    if settings.get("default") is not None:
        _one_default(settings, step, targets, findings)
        if isinstance(settings["default"], Map):
            check_keys(settings["default"], (*_TARGETS, "name"), "the default", findings)
        step.put("default", "default" if isinstance(branches, Seq) else "false", settings.at("default"))
        targets += _targets(step["default"], settings["default"], settings.at("default"), findings)
    step.put("cases", cases, cases.pos, settings.at_key("branches"))
    return targets


def _one_default(settings: Map, step: Map, targets: list[Target], findings: Findings) -> None:
    """`default` beside a branch that says the same: a list's own default, or `false`."""
    listed = isinstance(settings.get("branches"), Seq)
    other = next((target.at for target in targets if target.outcome == "false"), None)
    if listed and "default" in step or not listed and other is not None:
        at = step.at("default") if listed else other or NO_PLACE
        twice(findings, "`default`", "another branch", settings.at_key("default"), at)


def _listed_branches(step: Map, branches: Seq, cases: Seq, targets: list[Target], findings: Findings) -> None:
    for number, (branch, at) in enumerate(branches.pairs(), 1):
        if not isinstance(branch, Map):
            findings.add(rules.BRANCHES, "a branch is a mapping with `condition` and `target_step`", at)
            continue
        check_keys(branch, ("name", "condition", "when", "target_step", "target_steps", "target", "default",
            "is_default"), "a branch", findings)
        fallback = branch.get("default") is True or branch.get("is_default") is True
        condition = only_one(branch, ("condition", "when"), findings)
        name = branch.get("name", "default" if fallback else f"branch_{number}")
        if not isinstance(name, str) or not name:
            findings.add(rules.WRONG_TYPE, "the name of a branch is a text", branch.at("name"))
            continue
        if fallback:
            if condition is not None:
                findings.add(rules.BRANCHES, f"the branch {name!r} is the default, so it has no condition",
                    branch.at_key(condition), hint="remove `condition:` or `default:`")
            if "default" in step:
                twice(findings, f"this branch {name!r}", f"{step['default']!r} as the default", at, step.at_key("default"))
            step.put("default", name, at)
        elif condition is None:
            findings.add(rules.BRANCHES, f"the branch {name!r} has no condition", at,
                hint="add `condition:`, or `default: true` to the last one")
            continue
        else:
            case = Map(at)
            case.put("name", name, branch.at("name"))
            put_expression(case, "when", branch, condition)
            cases.add(case, at)
        targets += _targets(name, branch, at, findings)


def _targets(outcome: str, value: Any, at: Position, findings: Findings) -> list[Target]:
    if isinstance(value, Map):
        key = only_one(value, _TARGETS, findings)
        if key is None:
            return []
        value, at = value[key], value.at(key)
    if value is None:
        return []
    named = list(value.pairs()) if isinstance(value, Seq) else [(value, at)]
    found: list[Target] = []
    for name, place in named:
        if isinstance(name, str):
            found.append(Target(outcome, name, place))
        else:
            findings.add(rules.WRONG_TYPE, "`target_step` is the id of a step, or a list of ids", place)
    return found


def check_keys(mapping: Mapping[str, Any], known: Iterable[str], what: str, findings: Findings) -> None:
    """Report the keys of `mapping` that nothing reads."""
    names = sorted(known)
    for key in mapping:
        if key not in names:
            at = mapping.at_key(key) if isinstance(mapping, Map) else Position(1, 1)
            findings.add(rules.UNKNOWN_KEY, f"{key!r} is not a key of {what}", at,
                hint=key_hint(key, (), names) or did_you_mean(key, names, f"known keys: {', '.join(names)}"))
