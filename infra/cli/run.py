"""Runs a definition on this machine: real state machine, real step functions, no account and no network of AWS.

The first FILE is run. Further FILEs are sub-workflows that it calls; those in the same folder are found by their id.
The output goes to standard output as JSON, everything else to standard error.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from aslant.errors import PayloadTooLarge, ValidationError
from aslant.inputs import InputProblem
from aslant.settings import Settings
from infra.cli import needs, skill_findings
from infra.cli.arguments import answers, gather, print_problems
from infra.cli.diverted import diverted
from infra.cli.errors import FINDINGS, RUN_FAILED, USAGE, UsageError
from infra.cli.files import read_all, texts
from infra.cli.output import add_format, add_strategy, add_strict, console, exit_code, live, person, print_findings, telling
from infra.cli.siblings import compile_with_siblings, missing
from translator.diagnostics import Diagnostic, Severity, TranslatorError
from translator.findings.graph import UNKNOWN_WORKFLOW
from translator.pipeline import Compilation

EXAMPLES = """\
examples:
  aslant run hello.yaml
  aslant run release.yaml -i version=1.4.0 -i dry_run=true
  aslant run release.yaml --input @input.json --skills skills.py
  aslant run release.yaml --simulate --approve sign-off --approve "choose=blue" --approve review/2=reject
  aslant run nightly.yaml --time-scale 60 --json

Steps of a sub-workflow are shown beneath the step that calls it, in lines as `call[1] > step`; each attempt is told apart.
With --json a step of type workflow has `children`: its executions with their own `steps`, one an attempt.
What a failed run undoes is shown beneath `rollback`; with --json `status` is rolled_back then, with `undone` and `not_undone`.
Approvals that no --approve answers are asked for on a terminal; elsewhere they wait until their timeout.
Agent steps are answered by an offline model unless ASLANT_MODEL names one.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="the definition to run, then sub-workflows; or -")
    parser.add_argument("-i", "--input", action="append", default=[], metavar="INPUT",
        help="a JSON object, @FILE with one, or NAME=VALUE (read by the declared type); may be repeated")
    parser.add_argument("--skills", action="append", default=[], metavar="MODULE",
        help="a Python module or file with skills; may be repeated")
    parser.add_argument("--simulate", action="store_true",
        help="skills, step types and sub-workflows that are not there give a result marked as simulated")
    parser.add_argument("--approve", action="append", default=[], metavar="STEP[=ANSWER]",
        help="answer an approval: approve (default), reject, a text or a choice; STEP/2 for one iteration, * for all")
    parser.add_argument("--secret", action="append", default=[], metavar="NAME[=VALUE]",
        help="a secret; without a value it is taken from the environment variable NAME")
    parser.add_argument("--time-scale", type=scale, default=1.0, metavar="N",
        help="waits, retry pauses, approvals and the time of the whole run go N times faster; the work of steps and"
            " their own timeouts stay real")
    parser.add_argument("--timeout", type=_seconds, metavar="S", help="stop the run after S seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON document with everything at the end")
    parser.add_argument("--watch", action=argparse.BooleanOptionalAction, default=None,
        help="show progress (default: yes, as a live tree on a terminal and as lines elsewhere; not with --json)")
    parser.add_argument("--timeline", action="store_true", help="show at the end when each step ran, as a bar chart")
    parser.add_argument("--dialect", help="read the files as this dialect instead of finding it out")
    add_strategy(parser)
    add_strict(parser)
    add_format(parser)


def scale(text: str) -> float:
    """The value of `--time-scale`."""
    value = _number(text)
    if not 0 < value <= 1_000_000:
        raise argparse.ArgumentTypeError("must be above 0 and at most 1,000,000")
    return value


def _seconds(text: str) -> float:
    value = _number(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be above 0")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def execute(args: argparse.Namespace) -> int:
    try:
        return _execute(args)
    except UsageError as error:
        if args.json:
            _say("refused", str(error))
        raise
    except KeyboardInterrupt as stop:
        if args.json:
            _say("cancelled", getattr(stop, "word", "interrupted"))
        raise


def _say(status: str, message: str) -> None:
    """A JSON document in place of a run's."""
    document = {"status": status, "message": message, "findings": [], "input_problems": []}
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _execute(args: argparse.Namespace) -> int:
    sources = read_all(args.files)
    shown = texts(sources)
    try:
        compilations = compile_with_siblings(sources, args.dialect, strategy=args.strategy)
    except TranslatorError as error:
        return _refused(args, error.diagnostics, shown)
    diagnostics = _with_missing(compilations, simulate=args.simulate)
    if exit_code(diagnostics, strict=args.strict):
        return _refused(args, diagnostics, shown)
    given, problems = gather(compilations[0].workflow.inputs, args.input)
    if problems:
        return _refused(args, diagnostics, shown, problems)
    return _run(args, compilations, diagnostics, given, shown)


def _with_missing(compilations: Sequence[Compilation], *, simulate: bool) -> list[Diagnostic]:
    """All findings; a sub-workflow that is nowhere is an error here, unless it is simulated."""
    lost = missing(compilations)
    result = []
    for compilation in compilations:
        for found in compilation.diagnostics:
            if found.code != UNKNOWN_WORKFLOW.code:
                result.append(found)
            elif lost and not simulate:
                hint = "give its file too, or use --simulate"
                result.append(dataclasses.replace(found, severity=Severity.ERROR, hint=hint))
    return result


def _refused(
    args: argparse.Namespace, diagnostics: Sequence[Diagnostic], shown: dict[str, str],
    problems: Sequence[InputProblem] = (), *, lacks: Sequence[needs.Lack] = (), stdout: TextIO | None = None,
) -> int:
    """Nothing was started: the findings, and with --json a document that says so."""
    from translator import reporting

    _tell(args, diagnostics, shown)
    print_problems(problems)
    if args.json:
        document = {
            "status": "refused", **json.loads(reporting.as_json(diagnostics)),
            "input_problems": [problem._asdict() for problem in problems],
            **({"missing": [lack.as_dict() for lack in lacks]} if lacks else {}),
        }
        (stdout or sys.stdout).write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return USAGE if problems else FINDINGS


def _tell(args: argparse.Namespace, diagnostics: Sequence[Diagnostic], shown: dict[str, str]) -> None:
    if told := telling(diagnostics):
        print_findings(told, shown, args.format, sys.stderr)


def _run(
    args: argparse.Namespace, compilations: Sequence[Compilation], diagnostics: Sequence[Diagnostic],
    given: dict[str, object], shown: dict[str, str],
) -> int:
    # The local cloud is slow to import: only a run that really starts pays for it.
    from infra.cli import ask, outcome, watch
    from infra.local.runner import registered_skills, run

    asking = ask.Person() if person() and "-" not in args.files and not args.json else None
    prepared = answers(args.approve, outcome.approval_steps(compilations))
    secrets = secrets_of_options(args.secret)
    showing = args.watch if args.watch is not None else not args.json
    observer = watch.Silent()
    if showing:
        observer = watch.Tree(console(sys.stderr)) if live(sys.stderr) else watch.Lines(sys.stderr)
    if args.skills:
        sys.path.insert(0, os.getcwd())  # a module is looked for here first, as with `python -m`
    with diverted(secrets.values()) as stdout:
        try:
            with registered_skills(args.skills):
                lacks = needs.lacking(compilations, secrets, Settings.read())
                diagnostics = [*diagnostics, *skill_findings.of_process(compilations, Settings.read())]
                if lacks and not args.simulate or exit_code(diagnostics, strict=args.strict):
                    found = [*diagnostics, *(lack.finding for lack in lacks if not args.simulate)]
                    return _refused(args, found, shown, lacks=lacks, stdout=stdout)
                if asking is None:
                    diagnostics = [*diagnostics, *needs.unanswered(compilations, prepared)]
                    if exit_code(diagnostics, strict=args.strict):
                        return _refused(args, diagnostics, shown, stdout=stdout)
                _tell(args, diagnostics, shown)
                stand_ins = {lack.name: f"simulated-secret-{lack.name}" for lack in lacks if lack.kind == "secret"}
                result = run(
                    compilations, given, simulate=args.simulate, secrets=secrets | stand_ins,
                    approver=ask.Prepared(prepared, asking), time_scale=args.time_scale, timeout=args.timeout,
                    observer=observer,
                )
        except (ValidationError, PayloadTooLarge, ask.BadAnswer) as error:
            raise UsageError(str(error)) from None
        result = dataclasses.replace(result, notes=(*_notes(compilations, secrets, stand_ins), *result.notes))
        if args.json:
            stdout.write(outcome.as_json(result))
        else:
            if args.timeline:
                from infra.cli.gantt import chart

                sys.stderr.write("\n" + chart(result))
            sys.stderr.write(outcome.as_text(result, shown))
            if result.status == "completed":
                stdout.write(json.dumps(result.output, indent=2, ensure_ascii=False) + "\n")
    return 0 if result.status == "completed" else RUN_FAILED


def _notes(
    compilations: Sequence[Compilation], secrets: Mapping[str, str], stand_ins: Mapping[str, str]
) -> Iterator[str]:
    if stand_ins:
        yield f"secrets that were not given had a stand-in: {', '.join(stand_ins)}"
    used = needs.secrets_of(compilations)
    if unused := [name for name in secrets if name not in used]:
        yield f"no step uses the secret {', '.join(unused)}"


def secrets_of_options(options: Sequence[str]) -> dict[str, str]:
    """Secrets from `--secret NAME[=VALUE]`."""
    secrets = {}
    for option in options:
        name, given, value = option.partition("=")
        if not given:
            if name not in os.environ:
                raise UsageError(f"--secret {name}: there is no environment variable of that name")
            value = os.environ[name]
        secrets[name] = value
    return secrets
