"""Checks calls of skills against what the skills say that they take, as far as arguments are known before a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aslant.configs.check import UNKNOWN
from aslant.errors import SkillNotFound
from aslant.skill_specs import SkillSpec, argument_problems
from translator.diagnostics import Findings
from translator.findings import running as rules
from translator.model.workflow import Step, Workflow
from translator.passes.check_steps import plain
from translator.source import position_of

Lookup = Callable[[str, str | None], SkillSpec | None]  # name and version -> its specification; raises SkillNotFound


def check_skills(workflow: Workflow, lookup: Lookup, findings: Findings) -> None:
    """Findings about every step that calls a skill which `lookup` knows; for others it gives None."""
    for step in _steps(workflow):
        config = plain(step.config)
        if step.type != "skill" or not isinstance(config, Mapping):
            continue
        name, version = config.get("skill"), config.get("version")
        if not isinstance(name, str) or version is not None and not isinstance(version, str):
            continue  # only the run knows
        try:
            spec = lookup(name, version)
        except SkillNotFound as error:
            findings.add(rules.SKILL_NOT_CALLABLE, f"{step.id!r}: {error}", position_of(step.source, ("config", "skill")))
            continue
        if spec is None:
            continue
        if spec.status == "deprecated":
            owner = f"{spec.owner} answers for it" if spec.owner else ""
            findings.add(rules.SKILL_DEPRECATED, f"{step.id!r}: the skill {name} {spec.version} is deprecated",
                position_of(step.source, ("config", "skill")), hint=owner)
        for message in _problems(spec, config):
            findings.add(rules.SKILL_ARGUMENTS, f"{step.id!r}: skill {name}: {message}",
                position_of(step.source, ("config", "parameters")))


def _problems(spec: SkillSpec, config: Mapping[str, Any]) -> list[str]:
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
