"""Findings about calls of skills, before a run: against the functions of this process, or a tenant's registry."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aslant import skill_calls, skills
from aslant.settings import Settings
from translator.diagnostics import Diagnostic, Findings
from translator.passes.check_skills import Lookup, check_skills
from translator.pipeline import Compilation


def of_process(compilations: Sequence[Compilation], settings: Settings) -> tuple[Diagnostic, ...]:
    """Against what `aslant.skills` knows."""
    return _found(compilations, lambda name, version: skills.lookup(name, settings.skills, settings.skill_modules, version))


def of_registry(
    compilations: Sequence[Compilation], settings: Settings, tenant: str, functions: Collection[str] | None
) -> tuple[Diagnostic, ...]:
    """Against a tenant's registry and the installation's skills, before definitions are published.

    `functions` are the skills that are Python functions there; where they are not known, no skill is told to be unregistered.
    """
    known = skill_calls.known(settings, tenant)

    def lookup(name: str, version: str | None) -> skills.Entry | None:
        return known(name, version) or (skills.Entry("") if name in (functions or ()) else None)

    return _found(compilations, lookup, unregistered=functions is not None)


def _found(compilations: Sequence[Compilation], lookup: Lookup, *, unregistered: bool = False) -> tuple[Diagnostic, ...]:
    findings = Findings()
    for one in compilations:
        check_skills(one.workflow, lookup, findings, unregistered=unregistered)
    return findings.sorted()
