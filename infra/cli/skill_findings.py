"""Findings about calls of skills, before a run: against the functions of this process, or a tenant's registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aslant import skill_calls, skills
from aslant.settings import Settings
from aslant.skill_specs import SkillSpec, pick
from translator.diagnostics import Diagnostic, Findings
from translator.passes.check_skills import Lookup, check_skills
from translator.pipeline import Compilation


def of_process(compilations: Sequence[Compilation], settings: Settings) -> tuple[Diagnostic, ...]:
    """Against what `aslant.skills` knows."""
    return _found(compilations, lambda name, version: skills.lookup(name, settings.skills, settings.skill_modules, version))


def of_registry(
    compilations: Sequence[Compilation], settings: Settings, tenant: str,
    functions: Mapping[str, Sequence[SkillSpec]] | None,
) -> tuple[Diagnostic, ...]:
    """Against a tenant's registry and the installation's skills, before definitions are published.

    `functions` are the skills that are Python functions there, with the versions that say what they take; where they are
    not known, no skill is told to be unregistered.
    """
    known = skill_calls.known(settings, tenant)

    def lookup(name: str, version: str | None) -> skills.Entry | None:
        if functions is not None and name in functions:  # an installation's own go before its registry
            return skills.Entry("", pick(name, functions[name], version))
        return known(name, version)

    return _found(compilations, lookup, unregistered=functions is not None)


def _found(compilations: Sequence[Compilation], lookup: Lookup, *, unregistered: bool = False) -> tuple[Diagnostic, ...]:
    findings = Findings()
    for one in compilations:
        check_skills(one.workflow, lookup, findings, unregistered=unregistered)
    return findings.sorted()
