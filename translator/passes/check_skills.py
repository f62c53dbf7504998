"""Checks calls of skills against what the skills say that they take, as far as arguments are known before a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aslant.configs.check import UNKNOWN
from aslant.errors import SkillNotFound
from aslant.inputs import InputProblem
from aslant.skill_specs import SkillSpec, argument_problems
from aslant.skills import Entry
from translator.diagnostics import Findings
from translator.findings import running as rules
from translator.model.workflow import Step, Workflow
from translator.passes.check_steps import plain
from translator.source import position_of

# Name and version -> the skill, or None for one that nobody registered; raises SkillNotFound when it may not be called.
Lookup = Callable[[str, str | None], Entry | None]
Path = tuple[str | int, ...]
_HOLE = re.compile(r"\{([^{}]+)\}")


def check_skills(workflow: Workflow, lookup: Lookup, findings: Findings, *, unregistered: bool = False) -> None:
    """Findings about all skills that steps call, and that agents have as tools; those that only the run knows are left out.

    `unregistered`: a warning, too, about each that nobody registered.
    """
    for step in _steps(workflow):
        config = plain(step.config)
        for name, version, path in named_skills(config, step.type):
            at = position_of(step.source, path)
            try:
                entry = lookup(name, version)
            except SkillNotFound as error:
                findings.add(rules.SKILL_NOT_CALLABLE, f"{step.id!r}: {error}", at)
                continue
            if entry is None and unregistered:
                findings.add(rules.SKILL_IN_NO_REGISTRY, f"{step.id!r}: nobody registered the skill {name}", at,
                    hint="register it (`aslant skills add`), unless it is a Python function of the installation")
            spec = entry.spec if entry is not None else None
            if spec is None:
                continue
            if spec.status == "deprecated":
                owner = f"{spec.owner} answers for it" if spec.owner else ""
                message = f"{step.id!r}: the skill {name} {spec.version} is deprecated"
                findings.add(rules.SKILL_DEPRECATED, message, at, hint=owner)
            for problem in _problems(spec, config) if step.type == "skill" else ():
                argument = problem.pointer.split("/")[1:2]
                findings.add(rules.SKILL_ARGUMENTS, f"{step.id!r}: skill {name}: {problem.message}",
                    position_of(step.source, ("config", "parameters", *argument)), hint=_hint(config, argument))


def named_skills(config: Any, step_type: str) -> Iterator[tuple[str, str | None, Path]]:
    """The skills that a configuration names, with their versions, and where: a skill step's own, or an agent's tools."""
    if not isinstance(config, Mapping):
        return
    found: list[tuple[Any, Any, Path]] = []
    if step_type == "skill":
        found.append((config.get("skill"), config.get("version"), ("config", "skill")))
    tools = config.get("tools") if step_type == "agent" else None
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, Mapping):
            found.append((tool.get("skill"), tool.get("version"), ("config", "tools", index, "skill")))
        else:
            found.append((tool, None, ("config", "tools", index)))
    for name, version, path in found:
        if isinstance(name, str) and (version is None or isinstance(version, str)):
            yield name, version, path


def _hint(config: Mapping[str, Any], argument: list[str]) -> str:
    """A text with braces is meant to be computed; single ones around more than a name are text in every dialect."""
    given = config.get("parameters")
    value = given.get(argument[0]) if isinstance(given, Mapping) and argument else None
    hole = _HOLE.fullmatch(value.strip()) if isinstance(value, str) else None
    return f"this is a text: `{{…}}` holds only names; write `${{{{ {hole[1].strip()} }}}}`" if hole is not None else ""


def _problems(spec: SkillSpec, config: Mapping[str, Any]) -> list[InputProblem]:
    given = config.get("parameters")
    if given is UNKNOWN:
        return []
    arguments = dict(given) if isinstance(given, Mapping) else {}
    if "input" in config and "input" in ((spec.parameters or {}).get("properties") or {}):
        arguments.setdefault("input", config["input"])
    late = [name for name, value in arguments.items() if _holds_unknown(value)]
    return argument_problems(spec, {name: value for name, value in arguments.items() if name not in late}, late)


def _holds_unknown(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_unknown, value.values()))
    return any(map(_holds_unknown, value)) if isinstance(value, list) else value is UNKNOWN


def _steps(workflow: Workflow) -> Iterator[Step]:
    for step in (*workflow.all_steps(), *workflow.rollback):
        yield step
        if step.compensation is not None:
            yield step.compensation
