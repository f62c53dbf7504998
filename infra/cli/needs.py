"""What a run needs besides its definitions: the skills and secrets that they name, found before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from aslant import skills
from aslant.errors import SkillNotFound
from aslant.settings import Settings
from infra.cli.arguments import Answer
from infra.local.tracking import states_of
from translator.diagnostics import Diagnostic, Position
from translator.expressions.tree import Attribute, Index, Literal, Name, Slot, walk
from translator.findings import running
from translator.model.values import expressions_of
from translator.model.workflow import Step
from translator.passes.check_skills import named_skills
from translator.passes.check_steps import plain
from translator.pipeline import Compilation
from translator.reporting import visible
from translator.source import position_of


@dataclass(frozen=True, slots=True)
class Lack:
    """A skill or secret that a step uses and nobody gave; `kind` is skill or secret."""

    kind: str
    name: str
    step: str
    finding: Diagnostic

    def as_dict(self) -> dict[str, Any]:
        found = self.finding
        return {
            "kind": self.kind, "name": self.name, "step": self.step, "message": found.message, "hint": found.hint,
            "file": found.position.file, "line": found.position.line, "column": found.position.column,
        }


_RULES = {"skill": running.SKILL_NOT_REGISTERED, "secret": running.SECRET_NOT_GIVEN}


def _lack(kind: str, name: str, step: str, message: str, hint: str, at: Position) -> Lack:
    rule = _RULES[kind]
    return Lack(kind, name, step, Diagnostic(rule.code, rule.severity, f"step {step}: {message}", at, hint))


def lacking(compilations: Sequence[Compilation], secrets: Collection[str], settings: Settings) -> list[Lack]:
    """Every skill that is named by a literal and not registered, and every secret that is not among `secrets`.

    Each once per place, in the order of the files. Raises ValidationError for modules of skills that cannot be loaded.
    """
    found: dict[tuple[str, str, Position], Lack] = {}
    for compilation in compilations:
        steps = {step.id: step for step in _steps(compilation)}
        for name, state in _tasks(compilation.definition):
            origin = compilation.source_map.get(name)
            step = steps.get(origin.step) if origin is not None else None
            label = origin.step if origin is not None else name
            payload = state["Arguments"]["Payload"]
            for lack in (*_skill(payload, label, step, compilation, settings),
                         *_secrets(payload, label, step, compilation, secrets)):
                found.setdefault((lack.kind, lack.name, lack.finding.position), lack)
    return sorted(found.values(), key=lambda lack: (lack.finding.position.file, lack.finding.position))


def unanswered(compilations: Sequence[Compilation], answers: Sequence[Answer]) -> list[Diagnostic]:
    """A warning for each approval that no `--approve` answers, where nobody is there to be asked."""
    answered = {answer.step for answer in answers}
    rule = running.UNANSWERED
    return [
        Diagnostic(rule.code, rule.severity, f"step {step.id}: {_waiting(step, compilation)}",
            step.at, f"answer it with --approve {quote(step.id + _example(step))}")
        for compilation in compilations for step in compilation.workflow.all_steps()
        if step.type == "approval" and not answered & {step.id, "*"} and plain(step.config.get("auto_approve")) is not True
    ]


def _waiting(step: Step, compilation: Compilation) -> str:
    """What happens when nobody answers; not every approval comes to be asked."""
    scope, index = compilation.graph.where[step.id]
    if step.when is None and scope.live[index] is None and scope.owner is None:
        return "nobody is here to be asked, so it waits until its time is over"
    return "if it comes to be asked, nobody is here, and it waits until its time is over"


def _example(step: Step) -> str:
    """What stands after the step's id in an `--approve`."""
    options = plain(step.config.get("options"))
    if isinstance(options, list) and options and isinstance(options[0], str):
        return f"={options[0]}"
    return "=TEXT" if plain(step.config.get("approval_type")) == "text_input" else ""


def unsigned(compilations: Sequence[Compilation], known: Callable[[str], bool]) -> list[str]:
    """What to say of webhooks whose secret is not `known`: none of their calls can be checked."""
    from translator.passes.triggers import webhook_facts

    lacking = [(one, facts) for one in compilations for facts in webhook_facts(one.workflow) if not known(facts["secret"])]
    return [
        visible(f"calls of the webhook {facts['id']} of {one.workflow.id} are refused: there is no secret {facts['secret']}")
        for one, facts in lacking
    ]


def secrets_of(compilations: Sequence[Compilation]) -> set[str]:
    """Names of all secrets that steps use."""
    return {
        part["secret"]
        for compilation in compilations for _, state in _tasks(compilation.definition)
        for parts in state["Arguments"]["Payload"].get("secrets", {}).values()
        for part in parts if isinstance(part, Mapping) and "secret" in part
    }


def _tasks(definition: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The states that call a step's function, with their names, wherever they are."""
    for name, state in states_of(definition):
        if isinstance(state.get("Arguments"), Mapping) and isinstance(state["Arguments"].get("Payload"), Mapping):
            yield name, state


def _steps(compilation: Compilation) -> Iterator[Step]:
    for step in (*compilation.workflow.all_steps(), *compilation.workflow.rollback):
        yield step
        if step.compensation is not None:
            yield step.compensation


def _skill(
    payload: Mapping[str, Any], label: str, step: Step | None, compilation: Compilation, settings: Settings
) -> Iterator[Lack]:
    kinds = (step.type,) if step is not None else ("skill", "agent")
    for name, _, path in (each for kind in kinds for each in named_skills(payload.get("config"), kind)):
        if name.startswith("{%"):  # only the run knows
            continue
        try:
            if skills.find(name, settings.skills, settings.skill_modules):
                continue
        except SkillNotFound:  # registered, but not to be called: see `skill_findings`
            continue
        at = compilation.workflow.at if step is None else position_of(step.source, path)
        message = str(skills.not_found(name, skills.names(settings.skills)))
        yield _lack("skill", name, label, message, "register it with --skills MODULE, or run with --simulate", at)


def _secrets(
    payload: Mapping[str, Any], label: str, step: Step | None, compilation: Compilation, given: Collection[str]
) -> Iterator[Lack]:
    for parts in payload.get("secrets", {}).values():
        for part in parts:
            name = part.get("secret") if isinstance(part, Mapping) else None
            if name is not None and name not in given:
                at = compilation.workflow.at if step is None else _use(step, name)
                yield _lack("secret", name, label, f"the secret {name!r} is not given",
                    f"give it with --secret {name}=VALUE, or --secret {name} for the environment variable", at)


def _use(step: Step, secret: str) -> Position:
    """Where a step names a secret."""
    for expression in expressions_of(step):
        for node in walk(expression):
            if _names(node, secret):
                return getattr(node, "at", step.at)
    return step.at


def _names(node: Any, secret: str) -> bool:
    match node:
        case Slot(kind="secret", name=name):
            return bool(name == secret)
        case Attribute(of=Name(name="secrets"), name=name):
            return bool(name == secret)
        case Index(of=Name(name="secrets"), key=Literal(value=name)):
            return bool(name == secret)
    return False
