"""Findings about calls of skills, before a run: against the functions of this process, or a tenant's registry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aslant import skills
from aslant.settings import Settings
from aslant.skill_specs import SkillSpec, pick
from translator.diagnostics import Diagnostic, Findings
from translator.passes.check_skills import check_skills
from translator.pipeline import Compilation


def of_process(compilations: Sequence[Compilation], settings: Settings) -> tuple[Diagnostic, ...]:
    """Against what `aslant.skills` knows."""

    def lookup(name: str, version: str | None) -> SkillSpec | None:
        entry = skills.lookup(name, settings.skills, settings.skill_modules, version)
        return entry.spec if entry is not None else None

    findings = Findings()
    for one in compilations:
        check_skills(one.workflow, lookup, findings)
    return findings.sorted()


def of_registry(compilations: Sequence[Compilation], registered: Iterable[SkillSpec]) -> tuple[Diagnostic, ...]:
    """Against the versions in a registry. A name that is not in it may be that of a Python function."""
    known: dict[str, list[SkillSpec]] = {}
    for spec in registered:
        known.setdefault(spec.name, []).append(spec)
    findings = Findings()
    for one in compilations:
        check_skills(one.workflow, lambda name, version: pick(name, known.get(name, ()), version), findings)
    return findings.sorted()
