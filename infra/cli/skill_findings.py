"""Findings that need more than the definition, before a run: about calls of skills, and workflows whose end is awaited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aslant import bootstrap, skill_calls, skills
from aslant.settings import Settings
from aslant.skill_specs import SkillSpec, pick
from translator.diagnostics import Diagnostic, Findings
from translator.passes.check_skills import Lookup, check_skills
from translator.passes.triggers import check_awaited
from translator.pipeline import Compilation


def of_process(compilations: Sequence[Compilation], settings: Settings) -> tuple[Diagnostic, ...]:
    """Against what `aslant.skills` knows."""
    return _found(compilations, lambda name, version: skills.lookup(name, settings.skills, settings.skill_modules, version))


def of_registry(
    compilations: Sequence[Compilation], settings: Settings, tenant: str,
    functions: Mapping[str, Sequence[SkillSpec]] | None,
) -> tuple[Diagnostic, ...]:
    """Against a tenant's registry, the installation's skills and what it has published, before definitions are.

    `functions` are the skills that are Python functions there, with the versions that say what they take; where they are
    not known, no skill is told to be unregistered.
    """
    known = skill_calls.known(settings, tenant)

    def lookup(name: str, version: str | None) -> skills.Entry | None:
        if functions is not None and name in functions:  # an installation's own go before its registry
            return skills.Entry("", pick(name, functions[name], version))
        return known(name, version)

    findings = Findings()
    findings.extend(_found(compilations, lookup, unregistered=functions is not None))
    for one in compilations:
        check_awaited(one.workflow, lambda: {
            *bootstrap.catalog(settings).published_ids(tenant), *(each.workflow.id for each in compilations)}, findings)
    return findings.sorted()


def _found(compilations: Sequence[Compilation], lookup: Lookup, *, unregistered: bool = False) -> tuple[Diagnostic, ...]:
    findings = Findings()
    for one in compilations:
        check_skills(one.workflow, lookup, findings, unregistered=unregistered)
    return findings.sorted()
