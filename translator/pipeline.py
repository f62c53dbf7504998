"""The stages of a compilation, in order. The one module that knows them all."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from translator.asl.block import Origin
from translator.asl.check import check_limits, check_machine
from translator.asl.estimate import Estimate, estimate
from translator.asl.execution_type import Kind, check_execution_type, kind_of
from translator.asl.limits import MAX_BYTES
from translator.asl.machine import emit_machine
from translator.asl.needs import Needs, needs_of
from translator.asl.ordering import Arrangement
from translator.asl.recall import report_choices, unrecorded
from translator.diagnostics import Diagnostic, Findings, Position, Severity, TranslatorError
from translator.dialects.registry import read as read_dialect
from translator.expressions.lexer import nfc
from translator.findings import dialects as dialect_rules
from translator.findings import graph as rules
from translator.graph.scope import Graph, build_graph
from translator.graph.strategies.layout import Layout
from translator.model.build import build
from translator.model.workflow import Workflow
from translator.passes.check_names import check_names, ids_of_steps, words_of
from translator.passes.check_outputs import check_outputs
from translator.passes.check_steps import around, check_inputs, check_steps, check_types, report_settings
from translator.passes.children import check_children
from translator.passes.computed import prepare_computed
from translator.passes.fold import fold
from translator.passes.policies import report_policies
from translator.passes.resolve import resolve_names
from translator.passes.triggers import check_triggers
from translator.rollback.compile import Rollback, finish_rollback, prepare_rollback
from translator.source import Map, load

# Errors after which order and names can still be checked: they are about one value that neither depends on.
_LOCAL = frozenset({dialect_rules.BAD_DURATION.code, dialect_rules.MILLISECONDS.code, dialect_rules.OUT_OF_RANGE.code,
    dialect_rules.VERSION_NUMBER.code})


class Source(NamedTuple):
    """A definition's text and the name of its file, for positions."""

    text: str | bytes
    file: str = ""


class MissingWorkflow(Exception):
    """A sub-workflow that is called, but among no definitions. `workflow` is its id, `caller` who calls it."""

    def __init__(self, workflow: str, caller: str) -> None:
        self.workflow, self.caller = workflow, caller
        super().__init__(f"{caller} calls the workflow {workflow}, which is not among the definitions")


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compiled workflow.

    `definition` is ASL in which the names of functions and of other state machines are placeholders: `${http}` in
    `FunctionName`, `${workflow_child}` in `StateMachineArn`, and nowhere else. `functions`, `workflows` and `rollbacks` tell
    what each placeholder stands for; `source_map` tells which step a state belongs to.
    """

    workflow: Workflow
    dialect: str
    definition: Mapping[str, Any]
    functions: Mapping[str, str]
    workflows: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...]
    source_map: Mapping[str, Origin]
    estimate: Estimate
    graph: Graph  # its steps have what is known put in
    rollback: Compilation | None = None  # undoes an execution, or ends a cancelled one: a machine of its own, same workflow
    rollbacks: Mapping[str, str] = field(default_factory=dict)  # placeholders for machines that undo executions of a workflow
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # placeholders of machines that run parts of this one
    arrangements: tuple[Arrangement, ...] = ()  # scopes whose order is not series-parallel
    layouts: Mapping[str, Layout] = field(default_factory=dict)  # of each scope, by its key
    source: Source = Source("")  # what it was made of

    @property
    def type(self) -> Kind:
        """The kind of execution: STANDARD or EXPRESS."""
        return kind_of(self.workflow)

    @property
    def needs(self) -> Needs:
        """What the machine calls."""
        return needs_of(self.definition)

    @property
    def part_needs(self) -> dict[str, Needs]:
        """The same for `parts`, by their placeholders."""
        return {place: needs_of(definition) for place, definition in self.parts.items()}

    def bind(self, targets: Mapping[str, str]) -> str:
        """The definition as JSON text, with placeholder names replaced by ARNs or names. Raises KeyError for a lacking one."""
        return json.dumps(_bound(self.definition, targets), ensure_ascii=False, separators=(",", ":"))

    def bind_parts(self, targets: Mapping[str, str]) -> dict[str, str]:
        """The same for `parts`, by their placeholders, which are among `targets` too."""
        return {place: self.bind_part(place, targets) for place in self.parts}

    def bind_part(self, place: str, targets: Mapping[str, str]) -> str:
        """The same for one of `parts`."""
        return json.dumps(_bound(self.parts[place], targets), ensure_ascii=False, separators=(",", ":"))


@dataclass(slots=True)
class _Read:
    """A definition on its way: what each stage has made of it."""

    source: Source
    findings: Findings
    dialect: str = ""
    workflow: Workflow | None = None
    graph: Graph | None = None
    rollback: Rollback | None = None


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """A compilation makes some hundred objects for each step, nearly all of which stay until its end: the search for unused
    cycles among them finds next to nothing, and takes a tenth of the time.
    """
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.freeze()  # all of it, and back among what is old: not to be searched at the very next object
            gc.unfreeze()
            gc.enable()


@_no_search_for_cycles()
def compile_sources(
    sources: Sequence[Source], *, dialect: str | None = None, strict: bool = False,
    versions: Mapping[str, str] | None = None, limit: int = MAX_BYTES, fused: bool = True,
    strategy: str | None = None, now: datetime | None = None,
) -> list[Compilation]:
    """Compile definitions together: steps of `type: workflow` find the others by id.

    `versions`, by workflow, count in place of those that the definitions say. Raises TranslatorError with every finding
    when there is an error, or with `strict` a warning. `limit`: bytes of a definition; from 80 % on it is cut into parts.
    `strategy` counts in place of the definitions' own `settings.strategy`. With `now` schedules whose time is over are found.
    `fused=False` leaves out what only makes machines cheaper, for tests that compare both.
    """
    reads, everything = _read(sources, dialect, versions or {}, strategy, now)
    failing = {"error"} | ({"warning", "unsupported"} if strict else set())
    if any(found.severity in failing for found in everything):
        raise TranslatorError(everything)
    workflows = {read.workflow.id: read.workflow for read in reads if read.workflow is not None}
    return [_emitted(read, workflows, limit, fused=fused) for read in reads]


def compile_source(text: str | bytes, *, file: str = "", dialect: str | None = None) -> Compilation:
    """Compile one definition."""
    return compile_sources([Source(text, file)], dialect=dialect)[0]


def check_sources(
    sources: Sequence[Source], *, dialect: str | None = None, now: datetime | None = None
) -> tuple[Diagnostic, ...]:
    """All findings about the definitions, without raising for errors."""
    try:
        compiled = compile_sources(sources, dialect=dialect, now=now)
    except TranslatorError as error:
        return error.diagnostics
    findings = Findings()
    for one in compiled:
        findings.extend(one.diagnostics)
    return findings.sorted()


def canonical_data(source: Source, findings: Findings, *, dialect: str | None = None) -> tuple[str, Map] | None:
    """The definition in the canonical spelling, with its dialect's name; None when it has errors."""
    found = _canonical(source, findings, dialect)
    return None if findings.has_errors else found


def _canonical(source: Source, findings: Findings, dialect: str | None) -> tuple[str, Map] | None:
    """The same; with errors too, as far as what they are about can be left out."""
    document = load(source.text, findings, source.file)
    if document is None:
        return None
    if dialect is not None:
        document.put("dialect", dialect)
    found = read_dialect(document, findings)
    return (found[0].name, found[1]) if found is not None else None


def _read(
    sources: Sequence[Source], dialect: str | None, versions: Mapping[str, str], strategy: str | None, now: datetime | None
) -> tuple[list[_Read], tuple[Diagnostic, ...]]:
    reads = []
    for source in sources:
        read = _Read(source, Findings())
        canonical = _canonical(source, read.findings, dialect)
        if canonical is not None:
            read.dialect, data = canonical
            workflow = build(data, read.findings)
            settings = replace(workflow.settings, strategy=strategy or workflow.settings.strategy)
            read.workflow = replace(workflow, version=versions.get(workflow.id, workflow.version), settings=settings)
        reads.append(read)
    _check_ids(reads)
    workflows = {read.workflow.id: read.workflow for read in reads if read.workflow is not None}
    for read in reads:
        if read.workflow is not None:
            errors = [found for found in read.findings if found.severity is Severity.ERROR]
            whole = all(found.code in _LOCAL for found in errors)
            read.findings.muted |= {found.position for found in errors}  # the same in other words
            _check(read, read.workflow, workflows, [] if whole else [found.position for found in errors], now)
            if whole:
                _analyse(read, read.workflow, workflows)
            else:
                _look_further(read, read.workflow, dialect)
    everything = Findings()
    for read in reads:
        everything.extend(read.findings.sorted())
    return reads, everything.sorted()


def _check_ids(reads: Sequence[_Read]) -> None:
    seen: dict[str, Workflow] = {}
    for read in reads:
        if read.workflow is None:
            continue
        first = seen.setdefault(read.workflow.id, read.workflow)
        if first is not read.workflow:
            read.findings.add(
                rules.DUPLICATE_WORKFLOW,
                f"{_named(first)} has the id {read.workflow.id!r} too",
                _id_at(read.workflow),
            )


def _id_at(workflow: Workflow) -> Position:
    """Where the id stands, or the name that it is made from."""
    source = workflow.source
    return next((source.at(key) for key in ("id", "name") if isinstance(source, Map) and source.get(key)), workflow.at)


def _named(workflow: Workflow) -> str:
    return workflow.at.file or "another definition"


def _check(
    read: _Read, workflow: Workflow, workflows: Mapping[str, Workflow], broken: Sequence[Position], now: datetime | None
) -> None:
    """What can be told of a definition even when parts of it, at the places `broken`, could not be read."""
    findings = read.findings
    check_steps(workflow, findings, broken, read.dialect)
    check_inputs(workflow, findings)
    report_policies(workflow, findings)
    report_settings(workflow, findings)
    check_triggers(workflow, findings, now)
    check_children(workflow, workflows, findings)


def _analyse(read: _Read, workflow: Workflow, workflows: Mapping[str, Workflow]) -> None:
    """Everything between the model and the machine. Later stages run only on what earlier ones left whole."""
    findings = read.findings
    undoing = prepare_rollback(workflow, workflows, findings)
    workflow = prepare_computed(workflow, findings)
    graph = build_graph(workflow, findings)
    if graph is None:
        check_names(workflow, findings)
        return
    workflow = resolve_names(workflow, graph, findings)
    # What could not be resolved reads as null, and would be found once more.
    wrong = around([*workflow.all_steps()], [found.position for found in findings if found.severity is Severity.ERROR])
    for scope in graph.scopes():
        for step in scope.steps:
            if step.id not in wrong:
                check_types(step, workflow, findings)
    check_outputs(workflow, [step for scope in graph.scopes() for step in scope.steps if step.id not in wrong], findings)
    rollback = finish_rollback(undoing, workflow, graph, findings) if undoing is not None else None
    if not findings.has_errors:
        read.workflow, read.graph, read.rollback = fold(workflow, graph), graph, rollback


def _look_further(read: _Read, workflow: Workflow, dialect: str | None) -> None:
    """What can be told of expressions, names and ids while parts of the definition could not be read.

    What may follow from these parts is left out: names that occur in them, and order.
    """
    document = load(read.source.text, Findings(), read.source.file)
    lost = words_of(document)
    workflow = prepare_computed(workflow, read.findings)
    check_names(workflow, read.findings, lost)
    beside = Findings(muted=read.findings.muted)
    build_graph(workflow, beside)
    gone = {repr(nfc(word)) for word in ids_of_steps(document)} - {repr(step.id) for step in workflow.all_steps()}
    read.findings.extend(tuple(
        found for found in beside if found.code == rules.DUPLICATE_ID.code
        or found.code == rules.UNKNOWN_STEP.code and not any(word in found.message for word in gone)
    ))


def _emitted(read: _Read, workflows: Mapping[str, Workflow], limit: int, *, fused: bool) -> Compilation:
    """The machine; an order that is too deep for the compiler's own stack is a finding."""
    try:
        return _emit(read, workflows, limit, fused=fused)
    except RecursionError:
        at = read.workflow.at if read.workflow is not None else Position(1, 1, file=read.source.file)
        read.findings.add(rules.TOO_DEEP, "conditions upon conditions, or steps inside of steps, are nested too deeply", at)
        raise TranslatorError(read.findings.sorted()) from None


def _emit(read: _Read, workflows: Mapping[str, Workflow], limit: int, *, fused: bool) -> Compilation:
    assert read.workflow is not None and read.graph is not None
    findings = read.findings
    check_execution_type(read.workflow, workflows, findings)
    report_choices(read.workflow, read.graph, findings)
    undo = read.rollback
    emitted = emit_machine(
        read.workflow, read.graph, workflows, findings,
        recorded=undo.recorded if undo is not None else unrecorded(read.workflow, read.graph),
        items=undo.items if undo is not None else frozenset(),
        undone_children=undo.children if undo is not None else frozenset(), rolls_back=undo is not None and undo.starts,
        called=any(step.workflow == read.workflow.id for other in workflows.values() for step in other.all_steps()),
        limit=limit, fused=fused,
    )
    kind = kind_of(read.workflow)
    check_machine(emitted.definition, emitted.origins, read.graph, read.workflow, findings, parts=emitted.parts)
    figures = estimate(emitted.definition, lengths=emitted.lengths, parts=emitted.parts, size=sum(emitted.sizes))
    alone = figures if not emitted.parts else None
    for one in emitted.machines if not findings.has_errors else ():
        check_limits(one, emitted.origins, read.workflow, findings, kind=kind, lengths=emitted.lengths, figures=alone)
    rollback = _emit_rollback(read, undo, workflows, limit, fused=fused) if undo is not None else None
    if findings.has_errors:
        raise TranslatorError(findings.sorted())
    return Compilation(
        read.workflow, read.dialect, emitted.definition, emitted.functions, emitted.workflows, findings.sorted(),
        emitted.origins, figures, read.graph, rollback, emitted.rollbacks, emitted.parts, emitted.arrangements, emitted.layouts,
        read.source,
    )


def _emit_rollback(
    read: _Read, undo: Rollback, workflows: Mapping[str, Workflow], limit: int, *, fused: bool
) -> Compilation:
    emitted = emit_machine(
        undo.workflow, undo.graph, workflows, read.findings, recorded=undo.undos, limit=limit, fused=fused
    )
    check_machine(emitted.definition, emitted.origins, undo.graph, undo.workflow, read.findings, parts=emitted.parts)
    for one in emitted.machines if not read.findings.has_errors else ():
        check_limits(one, emitted.origins, undo.workflow, read.findings, kind="STANDARD", lengths=emitted.lengths)
    return Compilation(
        undo.workflow, read.dialect, emitted.definition, emitted.functions, emitted.workflows, (), emitted.origins,
        estimate(emitted.definition, parts=emitted.parts, size=sum(emitted.sizes)), undo.graph, None, emitted.rollbacks,
        emitted.parts,
    )


def _bound(value: Any, targets: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: targets[item[2:-1]]
            if key in ("FunctionName", "StateMachineArn") and isinstance(item, str) and item.startswith("${")
            else _bound(item, targets)
            for key, item in value.items()
        }
    return [_bound(item, targets) for item in value] if isinstance(value, list) else value


