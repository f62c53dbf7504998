"""Copies a workflow from one installation to another, and publishes it there.

Profiles name the installations (~/.config/aslant/profiles.toml). What is different in the other environment stands in a file:
objects are merged, lists of things with an id or name thing by thing, and null takes something out.
"""

from __future__ import annotations

import argparse
import json
import sys

from infra.cli.errors import FINDINGS, FINE, UsageError
from infra.cli.files import read, texts
from infra.cli.output import print_findings, put_json
from infra.cli.profiles import named
from translator.diagnostics import Findings, TranslatorError
from translator.pipeline import compile_source
from translator.reporting import visible
from translator.source import load, plain

EXAMPLES = """\
examples:
  aslant copy release --from staging --to production --override production.yaml
  aslant copy release --from staging --to production --version 2.4.0 --draft
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workflow", metavar="WORKFLOW", help="its id")
    parser.add_argument("--from", dest="source", required=True, metavar="PROFILE", help="where it is")
    parser.add_argument("--to", dest="target", required=True, metavar="PROFILE", help="where it goes")
    parser.add_argument("--version", dest="wanted", metavar="V", help="a version (default: the published one)")
    parser.add_argument("--override", action="append", default=[], metavar="FILE",
        help="what is different there; of several the later wins")
    parser.add_argument("--draft", action="store_true", help="do not publish it")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(args: argparse.Namespace) -> int:
    from infra.cli.remote import told
    from infra.client import ApiProblem

    source, target = named(args.source), named(args.target)
    try:
        found = source.workflow(args.workflow)
        wanted = args.wanted or found.published or found.latest
        if wanted != found.latest:
            found = source.workflow(args.workflow, wanted)
        text = _overridden(found.definition, args.override)
        try:
            compile_source(text, dialect=found.dialect)
        except TranslatorError as error:
            print_findings(error.diagnostics, {"": text}, "text", sys.stderr)
            return FINDINGS
        made = target.put(text, id=args.workflow, dialect=found.dialect)
        done = made if args.draft else target.publish(args.workflow, made.latest)
    except ApiProblem as problem:
        return told(problem)
    if args.json:
        put_json({"workflow": done.id, "from": wanted, "version": made.latest, "published": done.published})
    else:
        print(visible(f"{done.id} {wanted} is {made.latest} there, {'a draft' if args.draft else 'published'}"))
    return FINE


def _overridden(text: str, files: list[str]) -> str:
    """The definition with what the files say; as it was written without any. Raises UsageError."""
    from infra.overrides import merged

    if not files:
        return text
    document = plain(load(text, Findings()))
    for name in files:
        source, findings = read(name), Findings()
        over = load(source.text, findings, source.file)
        if over is None or findings.has_errors:
            print_findings(list(findings), texts([source]), "text", sys.stderr)
            raise UsageError(f"{name} cannot be read")
        try:
            document = merged(document, plain(over))
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None
    return json.dumps(document, indent=2, ensure_ascii=False)
