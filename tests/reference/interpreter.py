"""What a workflow means: its steps gone through one after another, in the words of the language and of nothing else.

Time is not modelled. What depends on who is faster - the steps beside one whose failure ends everything - is not `certain`,
and a failure that may be one of several is a set. Everything else is one value. Shares with the compiler the classes of the
model and the evaluator of expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from aslant.errors import ExpressionError
from tests.reference.expressions import parsed, true, value_of
from translator.model.workflow import OnFailure, Step, Workflow

Place = tuple[str, tuple[int, ...]]  # a step and its iteration
Error = tuple[str, str]  # its name, and the step that failed
ANY = "States.ALL"  # what the model says for `*`
COMPLETED, FAILED, SKIPPED, NOT_STARTED = "completed", "failed", "skipped", "not_started"


class StepFailed(Exception):
    """A step's attempt failed, with the name of an error."""


@dataclass(slots=True)
class Ran:
    """What became of one step in one iteration. `fatal`: it ends the list it stands in."""

    status: str
    output: Any = None
    errors: frozenset[Error] = frozenset()
    certain: bool = True
    fatal: bool = False
    outcomes: frozenset[str] | None = None  # of a choice that ran
    attempts: int = 0


@dataclass(slots=True)
class Scope:
    """A list of steps in one iteration, within the lists around it."""

    steps: Sequence[Step]
    around: Scope | None
    iteration: tuple[int, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)
    ran: dict[str, Ran] = field(default_factory=dict)
    inner: dict[str, list[Scope]] = field(default_factory=dict)
    errors: frozenset[Error] = frozenset()  # one of these ended it
    output: Any = None

    def find(self, step: str) -> Ran | None:
        """A step of this list, of one around it, or of a branch inside."""
        here: Scope | None = self
        while here is not None:
            if found := here.inside(step):
                return found
            here = here.around
        return None

    def inside(self, step: str) -> Ran | None:
        if step in self.ran:
            return self.ran[step]
        for owner, scopes in self.inner.items():
            if next(one.type for one in self.steps if one.id == owner) == "parallel":
                for scope in scopes:
                    if found := scope.inside(step):
                        return found
        return None

    def all(self) -> Iterator[Scope]:
        yield self
        for scopes in self.inner.values():
            for scope in scopes:
                yield from scope.all()


@dataclass(slots=True)
class Execution:
    """How an execution ends. `errors` are those that it may fail with, empty when it completes."""

    errors: frozenset[Error]
    output: Any
    body: Scope
    ending: Scope | None
    children: list[Execution] = field(default_factory=list)

    @property
    def status(self) -> str:
        return FAILED if self.errors else COMPLETED

    def places(self) -> dict[Place, Ran]:
        return {
            (step, scope.iteration): ran
            for top in (self.body, self.ending) if top is not None
            for scope in top.all() for step, ran in scope.ran.items()
        }


Skill = Callable[[Mapping[str, Any], int], Any]  # (parameters, attempt): a result, or StepFailed


class Interpreter:
    """Runs one execution of `workflow`; `others` are what it may call, `skills` what its steps do."""

    def __init__(self, workflow: Workflow, others: Mapping[str, Workflow], skills: Mapping[str, Skill]) -> None:
        self.workflow, self.others, self.skills = workflow, others, skills
        self.children: list[Execution] = []

    def run(self, given: Mapping[str, Any]) -> Execution:
        defaults = {name: spec["default"] for name, spec in (self.workflow.inputs or {}).items() if "default" in spec}
        names: dict[str, Any] = {"input": {**defaults, **given}, "execution": {"status": "running", "error": None}}
        names["vars"] = {}
        for name, value in self.workflow.variables.items():
            names["vars"][name] = value_of(value, lambda kind, key: names.get(key))
        body = self.scope(Scope(self.workflow.steps, None, names=names))
        ending = None
        errors = body.errors
        if self.workflow.finally_:
            names = {**names, "execution": {"status": FAILED if errors else COMPLETED, "error": None}}
            ending = self.scope(Scope(self.workflow.finally_, body, names=names))
            errors = errors or ending.errors
        output = None
        if not errors:
            if self.workflow.outputs is None:
                output = {step.output_key or step.id: body.ran[step.id].output for step in _last(body.steps) if step.type != "wait"}
            else:
                output = value_of(dict(self.workflow.outputs), self.lookup(ending or body))
        return Execution(errors, output, body, ending, self.children)

    def lookup(self, scope: Scope) -> Callable[[str, str], Any]:
        def look(kind: str, name: str) -> Any:
            if kind == "name":
                here: Scope | None = scope
                while here is not None:
                    if name in here.names:
                        return here.names[name]
                    here = here.around
                raise KeyError(name)
            ran = scope.find(name)
            if kind == "status":
                return SKIPPED if ran is None or ran.status == NOT_STARTED else ran.status
            if ran is None:
                return None
            if kind == "error":
                return {"error": min(ran.errors)[0], "step": name} if ran.status == FAILED else None
            return ran.output

        return look

    # -- lists of steps

    def scope(self, scope: Scope) -> Scope:
        """Goes through a list in an order that its edges allow. What comes after a fatal failure does not start."""
        for step in ordered(scope.steps):
            before = [scope.ran[edge.step] for edge in step.depends_on]
            if any(ran.fatal or ran.status == NOT_STARTED for ran in before):
                scope.ran[step.id] = Ran(NOT_STARTED)
                continue
            try:
                live = self.live(step, scope)
            except ExpressionError:  # the condition of an edge belongs to nobody whose policy could handle it
                scope.ran[step.id] = Ran(NOT_STARTED, fatal=True, errors=frozenset({("ExpressionError", "")}))
                continue
            scope.ran[step.id] = self.step(step, scope) if live else Ran(SKIPPED)
        fatal = [step for step in scope.steps if scope.ran[step.id].fatal]
        scope.errors = frozenset(error for step in fatal for error in scope.ran[step.id].errors)
        if fatal:
            # Certain is what came before every failure that may have been the first, and a failure that is the only one.
            before_all = set.intersection(*(ancestors(scope.steps, step.id) for step in fatal))
            for step in scope.steps:
                alone = len(fatal) == 1 and step is fatal[0]
                if step.id not in before_all and not alone:
                    doubt(scope, step.id)
        else:
            scope.output = self.result(scope)
        return scope

    def result(self, scope: Scope) -> Any:
        """What a branch or an iteration gives: what its last step gave; of several, an object, or the only one that may run."""
        last = _last(scope.steps)
        given = [scope.ran[step.id].output for step in last]
        if len(last) < 2:
            return given[0] if given else None
        by_id = {step.id: step for step in scope.steps}
        ways = [outcomes_before(step, by_id) for step in last]
        if all(
            never_both(one, two, by_id) for number, one in enumerate(ways) for two in ways[:number]
        ):
            return next((output for output in given if output is not None), None)
        return {step.output_key or step.id: output for step, output in zip(last, given, strict=True)}

    def live(self, step: Step, scope: Scope) -> bool:
        """Whether an edge to it is live; which way a choice that was skipped would have gone does not matter then."""
        unknown = [one for one in scope.steps if one.type == "choice" and one.mode == "first"
                   and one.id in scope.ran and scope.ran[one.id].outcomes is None]
        names = [[*(case.name for case in one.cases), one.default] for one in unknown]
        by_id = {one.id: one for one in scope.steps}

        def holds(here: Step, taken: Mapping[str, str]) -> bool:
            if not here.depends_on:
                return True
            for edge in here.depends_on:
                source = by_id[edge.step]
                if not holds(source, taken):
                    continue
                if edge.on:
                    outcomes = scope.ran[edge.step].outcomes
                    if outcomes is None:
                        outcomes = frozenset({taken[edge.step]}) if edge.step in taken else frozenset()
                    if outcomes & set(edge.on):
                        return True
                elif edge.when is None or true(value_of(edge.when, self.lookup(scope))):
                    return True
            return False

        if not unknown or not step.depends_on:
            return holds(step, {})
        return all(holds(step, dict(zip((one.id for one in unknown), way, strict=True))) for way in product(*names))

    # -- steps

    def step(self, step: Step, scope: Scope) -> Ran:
        look = self.lookup(scope)
        try:
            if step.when is not None and not true(value_of(step.when, look)):
                return Ran(SKIPPED)
        except ExpressionError:
            return self.failed(step, "ExpressionError", 0)
        if step.type == "parallel":
            return self.parallel(step, scope)
        if step.type == "foreach":
            return self.foreach(step, scope)
        if step.type == "choice":
            return self.choice(step, scope)
        attempt = 0
        while True:
            attempt += 1
            try:
                return Ran(COMPLETED, self.act(step, scope, attempt), attempts=attempt)
            except ExpressionError:
                return self.failed(step, "ExpressionError", attempt)
            except StepFailed as error:
                if attempt >= self.attempts(step, str(error)):
                    return self.failed(step, str(error), attempt)

    def act(self, step: Step, scope: Scope, attempt: int) -> Any:
        look = self.lookup(scope)
        config = step.config
        if step.type == "transform":
            written = config.get("expression")
            return value_of(config["data"] if written is None else parsed(written), look)
        if step.type == "wait":
            value_of(step.seconds, look)
            return None
        if step.type == "workflow":
            child = Interpreter(self.others[step.workflow], self.others, self.skills).run(value_of(step.input, look))
            self.children.append(child)
            if child.errors:
                raise StepFailed(min(child.errors)[0])
            return child.output
        assert step.type == "skill", step.type
        return self.skills[value_of(config["skill"], look)](value_of(config["parameters"], look), attempt)

    def choice(self, step: Step, scope: Scope) -> Ran:
        look = self.lookup(scope)
        taken: list[str] = []
        try:
            for case in step.cases:
                if true(value_of(case.when, look)):
                    taken.append(case.name)
                    if step.mode == "first":
                        break
        except ExpressionError:
            return self.failed(step, "ExpressionError", 1)
        if not taken and step.default:
            taken.append(step.default)
        output = {"branch": (taken or [None])[0]} if step.mode == "first" else {"branches": taken}
        return Ran(COMPLETED, output, outcomes=frozenset(taken))

    def parallel(self, step: Step, scope: Scope) -> Ran:
        scopes = [self.scope(Scope(branch, scope, scope.iteration)) for branch in step.branches]
        scope.inner[step.id] = scopes
        failing = [one for one in scopes if one.errors]
        if not failing:
            results = [{"success": True, "output": one.output} for one in scopes]
            return Ran(COMPLETED, {"results": results, "errors": []})
        if not step.wait_for_all:
            self.stop(scopes, failing)
            return self.collapsed(step, frozenset().union(*(one.errors for one in failing)))
        return self.collapsed(step, failing[0].errors)  # all have ended: the first in their order names it

    def foreach(self, step: Step, scope: Scope) -> Ran:
        try:
            items = value_of(step.items, self.lookup(scope))
        except ExpressionError:
            return self.failed(step, "ExpressionError", 0)
        if not isinstance(items, list):
            return self.failed(step, "ExpressionError", 0)
        if step.batch_size:
            items = [items[at:at + step.batch_size] for at in range(0, len(items), step.batch_size)]
        scopes = [
            self.scope(Scope(step.steps, scope, (*scope.iteration, index), {step.item_name: item, step.index_name: index}))
            for index, item in enumerate(items)
        ]
        scope.inner[step.id] = scopes
        failing = [one for one in scopes if one.errors]
        if failing and step.on_item_error != "continue":
            self.stop(scopes, failing)
            return self.collapsed(step, frozenset().union(*(one.errors for one in failing)))
        return Ran(COMPLETED, [
            {"status": FAILED, "error": OneOf(one.errors)} if one.errors else one.output for one in scopes
        ])

    def stop(self, scopes: Sequence[Scope], failing: Sequence[Scope]) -> None:
        """The first failure stops all others."""
        for one in scopes:
            if len(failing) > 1 or one is not failing[0]:
                for step in one.ran:
                    doubt(one, step)

    # -- failures

    def failed(self, step: Step, error: str, attempts: int) -> Ran:
        ran = self.collapsed(step, frozenset({(error, step.id)}))
        return replace(ran, attempts=attempts)

    def collapsed(self, step: Step, errors: frozenset[Error]) -> Ran:
        """A failed step: what its policy makes of it. `errors`: it failed with one of these."""
        policy = self.policy(step, min(errors)[0])
        return Ran(FAILED, errors=errors, fatal=_action(policy) != "continue")

    def policy(self, step: Step, error: str) -> OnFailure | None:
        if step.on_failure is not None:
            return step.on_failure
        if step.type in ("parallel", "foreach"):
            return None  # what failed inside has been through handlers already
        for handler in self.workflow.error_handlers:
            if error in handler.errors or ANY in handler.errors:
                return handler.on_failure
        return self.workflow.settings.on_error

    def attempts(self, step: Step, error: str) -> int:
        """How often it is tried: by its retry, and then by a policy that retries."""
        retry = step.retry or self.workflow.settings.retry
        count = retry.max_attempts if retry is not None and (error in retry.on or ANY in retry.on) else 1
        policy = self.policy(step, error)
        if policy is not None and policy.action == "retry":
            count += 3 if policy.max_retries is None else policy.max_retries
        return count


class OneOf:
    """An error in a value: one of several."""

    def __init__(self, errors: frozenset[Error]) -> None:
        self.errors = errors

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and (other.get("error"), other.get("step")) in self.errors

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"one of {sorted(self.errors)}"


def _action(policy: OnFailure | None) -> str:
    if policy is None:
        return "fail"
    return (policy.then or "fail") if policy.action == "retry" else policy.action


def _last(steps: Sequence[Step]) -> list[Step]:
    followed = {edge.step for step in steps for edge in step.depends_on}
    return [step for step in steps if step.id not in followed and step.type != "choice"]


def ordered(steps: Sequence[Step]) -> list[Step]:
    """An order in which every step comes after all that it depends on."""
    found: dict[str, Step] = {}
    while len(found) < len(steps):
        found |= {one.id: one for one in steps if one.id not in found and all(edge.step in found for edge in one.depends_on)}
    return list(found.values())


def ancestors(steps: Sequence[Step], of: str) -> set[str]:
    by_id = {step.id: step for step in steps}
    found: set[str] = set()
    stack = [of]
    while stack:
        for edge in by_id[stack.pop()].depends_on:
            if edge.step not in found:
                found.add(edge.step)
                stack.append(edge.step)
    return found


def doubt(scope: Scope, step: str) -> None:
    """It may have been stopped before it came to what is written, and so may all inside of it."""
    scope.ran[step].certain = False
    for inner in scope.inner.get(step, ()):
        for one in inner.ran:
            doubt(inner, one)


def outcomes_before(step: Step, by_id: Mapping[str, Step]) -> set[tuple[str, str]] | None:
    """The outcomes of choices of which one leads to a step; None when it may run without any."""
    if not step.depends_on:
        return None
    found: set[tuple[str, str]] = set()
    for edge in step.depends_on:
        above = {(edge.step, name) for name in edge.on} or outcomes_before(by_id[edge.step], by_id)
        if above is None or edge.when is not None:
            return None
        found |= above
    return found


def never_both(one: set[tuple[str, str]] | None, two: set[tuple[str, str]] | None, by_id: Mapping[str, Step]) -> bool:
    """Whether no two outcomes of both sets are ever taken together: those of one choice, or of choices on ways of one."""
    if not one or not two:
        return False

    def apart(first: tuple[str, str], second: tuple[str, str]) -> bool:
        if first[0] == second[0]:
            return first[1] != second[1] and by_id[first[0]].mode == "first"
        for here, other in ((first, second), (second, first)):
            above = outcomes_before(by_id[here[0]], by_id)
            if above and all(pair[0] == other[0] and apart(pair, other) for pair in above):
                return True
        return False

    return all(apart(first, second) for first in one for second in two)
