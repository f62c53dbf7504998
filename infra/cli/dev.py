"""Keeps a local cloud running: state machines, functions, tables, events, until it is stopped.

Everything is kept in a data directory. Executions that ran when it was stopped, or killed, go on when it is started again:
steps that were finished are not repeated. The other commands (start, list, show, watch, approve ...) find it by that
directory; so does any AWS client with AWS_ENDPOINT_URL set to its address.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from aslant.errors import StepError, ValidationError
from infra.cli.diverted import diverted
from infra.cli.errors import FINDINGS, FINE, UsageError
from infra.cli.files import read_all, texts
from infra.cli.output import add_format, exit_code, print_findings
from infra.cli.publishing import note_files, overtaken, publish_files
from infra.cli.run import scale, secrets_of_options
from infra.cli.siblings import compile_with_siblings
from infra.cli.signals import leave
from infra.cli.target import TENANT, local_user, same_target
from infra.local.home import DEFAULT, Home, InUse, Unusable
from translator.diagnostics import Diagnostic, Severity, TranslatorError
from translator.pipeline import Compilation, Source
from translator.reporting import visible

if TYPE_CHECKING:
    from functions.publish_definition.logic import Published
    from infra.local.dev import Continued, Dev

PORT = 4599
_PATIENCE = 4.0  # seconds for an orderly end; what is left is in the journal anyway
EXAMPLES = """\
examples:
  aslant dev                                      what was published before is still there
  aslant dev workflows/ --skills skills.py        publish every definition of a folder, then stay
  aslant dev release.yaml --secret API_TOKEN --time-scale 60

then, in another terminal:
  aslant start release -i version=2.4.0
  aslant watch 3f2a          the beginning of an id is enough
  aslant approvals
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="definitions, or folders of them, to publish first")
    parser.add_argument("--port", type=_port, default=PORT, metavar="N", help=f"where to listen (default {PORT}; 0: any)")
    parser.add_argument("--api-port", type=_port, metavar="N",
        help=f"where the HTTP API listens (default: the port after that, {PORT + 1}; 0: any)")
    parser.add_argument("--data", default=DEFAULT, metavar="DIR", help=f"where everything is kept (default {DEFAULT})")
    parser.add_argument("--skills", action="append", default=[], metavar="MODULE",
        help="a Python module or file with skills; may be repeated")
    parser.add_argument("--simulate", action="store_true",
        help="skills and step types that are not there give a result marked as simulated")
    parser.add_argument("--secret", action="append", default=[], metavar="NAME[=VALUE]",
        help="a secret; without a value it is taken from the environment variable NAME")
    parser.add_argument("--time-scale", type=scale, default=1.0, metavar="N", help="waits, pauses and limits go N times faster")
    parser.add_argument("--json", action="store_true", help="print one line of JSON when it is ready, and nothing else")
    parser.add_argument("--dialect", help="read the files as this dialect instead of finding it out")
    add_format(parser)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def execute(args: argparse.Namespace) -> int:
    if not args.json:
        print("starting…", flush=True)
    given = read_all(args.files, folders=True) if args.files else []
    sources, compilations, found = usable(given, args.dialect)
    _tell_findings(args, found, texts(given))
    if given and not sources:
        return FINDINGS
    _tell_left_out(args, [source.file for source in given if source not in sources])
    secrets = secrets_of_options(args.secret)
    if args.skills:
        sys.path.insert(0, os.getcwd())  # a module is looked for here first, as with `python -m`
    try:
        with diverted(secrets.values()) as stdout:
            return _stay(args, sources, compilations, secrets, stdout)
    except (ValidationError, InUse, Unusable) as error:
        raise UsageError(str(error)) from None


def usable(
    sources: Sequence[Source], dialect: str | None
) -> tuple[Sequence[Source], Sequence[Compilation], list[Diagnostic]]:
    """The definitions that can be used, compiled, and all findings: one with mistakes does not keep the others from it."""
    told: list[Diagnostic] = []
    while sources:
        try:
            compilations = compile_with_siblings(sources, dialect)
            found = [each for one in compilations for each in one.diagnostics]
            if not exit_code(found):
                return sources, compilations, [*told, *found]
        except TranslatorError as error:
            found = list(error.diagnostics)
        told += found
        bad = {each.position.file for each in found if each.severity is Severity.ERROR}
        left = [source for source in sources if source.file not in bad]
        if len(left) == len(sources):  # the mistake is in what they call
            left = [source for source in sources if len(sources) > 1 and usable([source], dialect)[0]]
        sources = left
    return [], [], told


def _tell_findings(args: argparse.Namespace, found: Sequence[Diagnostic], shown: Mapping[str, str]) -> None:
    """What is wrong in full; of features that are not supported how many there are."""
    minor = [each for each in found if each.severity in (Severity.UNSUPPORTED, Severity.INFO) and args.format == "text"]
    rest = [each for each in found if each not in minor]
    if rest:
        print_findings(rest, shown, args.format, sys.stderr)
    if minor:
        files = " ".join(map(shlex.quote, dict.fromkeys(args.files)))
        print(f"{len(minor)} further {'finding' if len(minor) == 1 else 'findings'} about what is unsupported or worth knowing:"
            f" `aslant validate {visible(files)}` shows all", file=sys.stderr)


def _stay(
    args: argparse.Namespace, sources: Sequence[Source], compilations: Sequence[Compilation], secrets: Mapping[str, str],
    stdout: TextIO,
) -> int:
    # Slow to import: nothing above needs it.
    from infra.local.dev import dev
    from infra.local.journal import JournalError
    from infra.local.server import PortTaken

    home = Home(Path(args.data))
    ready = False
    try:
        with dev(
            home, port=args.port, api_port=args.api_port, time_scale=args.time_scale, skill_modules=args.skills,
            simulate=args.simulate,
        ) as running:
            running.store_secrets(secrets)
            kept = overtaken(home, compilations, running.settings)
            fresh = _sound(args, [one for one in compilations if one.workflow.id not in kept], running, texts(sources))
            published = _publish(fresh, args.dialect, running)
            if sources and not published and not kept:
                return FINDINGS
            _tell_lacks(running, compilations)
            continued = running.go_on()
            running.announce()
            ready = True
            _say(args, running, published, _files_of(compilations, kept), continued, stdout)
            stdout.flush()
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                watchdog = threading.Timer(_PATIENCE, leave, [FINE])
                watchdog.daemon = True
                watchdog.start()
                raise
    except PortTaken as error:
        raise UsageError(f"{error}; give another with --port, or 0 for any that is free") from None
    except JournalError as error:
        raise UsageError(str(error)) from None
    except StepError as error:
        raise UsageError(str(error)) from None
    except KeyboardInterrupt:
        if not ready:
            raise
        print("aslant dev has stopped; what ran goes on when it is started again", file=sys.stderr)
        leave(FINE)  # a skill may hang, and nothing of it is lost
    return FINE


def _tell_left_out(args: argparse.Namespace, files: Sequence[str]) -> None:
    if files:
        print(f"not published: {visible(', '.join(files))}; once it is right, `aslant push FILE{same_target(args)}` does it",
            file=sys.stderr)


def _sound(
    args: argparse.Namespace, compilations: Sequence[Compilation], running: Dev, shown: Mapping[str, str]
) -> Sequence[Compilation]:
    """Those that call skills as these want to be called; tells what is wrong with the others."""
    from infra.cli.skill_findings import of_registry

    calls = of_registry(compilations, running.settings, TENANT, None)
    _tell_findings(args, calls, shown)
    wrong = {each.position.file for each in calls if each.severity is Severity.ERROR}
    _tell_left_out(args, sorted(wrong))
    return [one for one in compilations if one.source.file not in wrong]


def _publish(compilations: Sequence[Compilation], dialect: str | None, running: Dev) -> list[Published]:
    """Publishes all but those that call what nobody defines, which it tells."""
    from translator.pipeline import MissingWorkflow

    while compilations:
        try:
            published = publish_files(compilations, running.settings, by=local_user(), dialect=dialect)
        except MissingWorkflow as error:
            print(f"aslant: {visible(str(error))}, and not published either", file=sys.stderr)
            compilations = [one for one in compilations if one.workflow.id != error.caller]
        else:
            note_files(running.home, compilations)
            return published
    return []


def _files_of(compilations: Sequence[Compilation], kept: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Version and file of each workflow that was left as it is."""
    files = {one.workflow.id: one.source.file for one in compilations}
    return {id: (version, files[id]) for id, version in kept.items()}


def _tell_lacks(running: Dev, compilations: Sequence[Compilation]) -> None:
    """Skills and secrets that steps name and nobody gave: they fail when they come to it."""
    from infra.cli import needs

    given = running.secrets()
    for text in needs.unsigned(compilations, given.__contains__):
        print(f"note: {text}; --secret NAME gives it", file=sys.stderr)
    if running.settings.simulate:
        return
    lacks = needs.lacking(compilations, given, running.settings)
    for kind, option in (("skill", "--skills MODULE"), ("secret", "--secret NAME")):
        steps: dict[str, str] = {}
        for lack in lacks:
            if lack.kind == kind:
                steps.setdefault(lack.name, lack.step)
        if steps:
            names = ", ".join(f"{name} (step {step})" for name, step in steps.items())
            print(f"note: steps fail for want of a {kind}, unless {option} gives it: {visible(names)}", file=sys.stderr)


def _say(
    args: argparse.Namespace, running: Dev, published: Sequence[Published], kept: Mapping[str, tuple[str, str]],
    continued: Sequence[Continued], stdout: TextIO,
) -> None:
    workflows = running.workflows()
    if args.json:
        document: dict[str, Any] = {
            "url": running.server.url, "api": running.api.url, "pid": os.getpid(), "data": str(running.home.path),
            "workflows": [{"workflow": id, "version": version} for id, version in workflows],
            "published": [{"workflow": one.workflow, "version": one.version, "state": one.state} for one in published],
            "kept": [{"workflow": id, "version": version or None, "file": file} for id, (version, file) in kept.items()],
            "continued": [
                {"id": one.execution.id, "workflow": one.execution.workflow, "status": one.execution.status,
                 "problem": one.problem or None} for one in continued
            ],
        }  # fmt: skip
        stdout.write(json.dumps(document) + "\n")
        return
    states = {one.workflow: one for one in published}
    options = same_target(args)
    lines = []
    for id, version in workflows:
        lines.append(f"  {visible(id)} {visible(version)}{about_published(states.get(id))}")
    for id, (version, file) in kept.items():
        text = "published after it" if version else "archived"
        lines.append(f"  {visible(id)} stays {visible(version or 'archived')}: {visible(file)} has not changed since that was"
            f" {text}; `aslant push {visible(shlex.quote(file))}{options}` publishes the file")
    for one in continued:
        text = f"cannot go on: {one.problem}" if one.problem else "goes on"
        lines.append(f"  execution {one.execution.id} of {visible(one.execution.workflow)} {visible(text)}")
    first = published[0].workflow if published else workflows[0][0] if workflows else "WORKFLOW"
    lines += [
        *([] if workflows else [f"  no workflow is published yet: aslant push FILE{options}"]),
        f"start one:   aslant start {visible(first)}{options}",
        f"look on:     aslant list{options}, aslant watch ID{options}, aslant approvals{options}",
        f"HTTP API:    {running.api.url}/api/v1 (described by /openapi.json), with a token: aslant token{options}",
        f"any client:  export AWS_ENDPOINT_URL={running.server.url} AWS_DEFAULT_REGION={running.settings.region}"
        " AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local",
        f"functions log to {running.home.log}",
        f"aslant dev listens on {running.server.url}; it keeps everything in {running.home.path}; Ctrl-C stops",
    ]
    if running.cloud.clock.scale != 1:
        lines.insert(0, f"  time runs {running.cloud.clock.scale:g} times as fast")
    stdout.write("\n".join(lines) + "\n")


def about_published(one: Published | None) -> str:
    if one is None:
        return ""
    if one.version != one.written and one.state == "changed":
        return f"  (new: {one.written} was published with other contents)"
    return f"  ({one.state})"
