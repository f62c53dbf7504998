"""Publishes definitions to a running `aslant dev`: their state machines, and what is known of them.

New executions take the published version; those that began on an earlier one stay on it, unless `resume --version` or
`retry --version` says otherwise. A definition that has changed under the same version is published as VERSION-2, and so on.
"""

from __future__ import annotations

import argparse
import functools
import sys
from datetime import UTC, datetime

from aslant.errors import SecretNotFound, StepError
from infra.cli import pictures
from infra.cli.dev import about_published
from infra.cli.errors import FINDINGS, FINE
from infra.cli.files import read_all, texts
from infra.cli.output import add_format, add_strategy, add_strict, exit_code, print_findings, put_json, telling
from infra.cli.publishing import note_files, publish_files
from infra.cli.siblings import compile_with_siblings
from infra.cli.target import TENANT, Target, add_json, add_target, connected, local_user
from translator.diagnostics import TranslatorError
from translator.reporting import visible

EXAMPLES = """\
examples:
  aslant push release.yaml
  aslant push workflows/ --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="definitions, or folders of them; or -")
    parser.add_argument("--dialect", help="read the files as this dialect instead of finding it out")
    add_strategy(parser)
    add_json(parser)
    add_strict(parser)
    add_format(parser)
    add_target(parser)


def execute(args: argparse.Namespace) -> int:
    from infra.cli import needs
    from infra.cli.skill_findings import of_registry
    from translator.pipeline import MissingWorkflow

    sources = read_all(args.files, folders=True)
    try:
        compilations = compile_with_siblings(sources, args.dialect, strategy=args.strategy, now=datetime.now(UTC))
        found = [each for one in compilations for each in one.diagnostics]
    except TranslatorError as error:
        print_findings(error.diagnostics, texts(sources), args.format, sys.stderr)
        return FINDINGS
    if told := telling(found):
        print_findings(told, texts(sources), args.format, sys.stderr)
    if exit_code(found, strict=args.strict):
        return FINDINGS

    with connected(args) as target:
        calls = of_registry(compilations, target.settings, TENANT, target.functions)
        if calls:
            print_findings(calls, texts(sources), args.format, sys.stderr)
        if exit_code(calls, strict=args.strict):
            return FINDINGS
        try:
            published = publish_files(
                compilations, target.settings, by=local_user(), dialect=args.dialect, strategy=args.strategy
            )
        except MissingWorkflow as error:
            print(f"aslant: {visible(str(error))}, and not published either", file=sys.stderr)
            return FINDINGS
        for text in needs.unsigned(compilations, functools.partial(_has_secret, target)):
            print(f"note: {text}", file=sys.stderr)
        if target.home is not None:
            note_files(target.home, compilations)
    if args.json:
        put_json([
            {"workflow": one.workflow, "version": one.version, "written": one.written, "state": one.state,
             "machine": one.machine, "rollback": one.rollback or None} for one in published
        ])  # fmt: skip
    else:
        pictures.put([[(visible(f"{one.workflow} {one.version}{about_published(one)}"), "")] for one in published], sys.stdout)
    return FINE


def _has_secret(target: Target, name: str) -> bool:
    """Whether an installation has a secret, as far as whoever asks may know."""
    from aslant import bootstrap

    try:
        bootstrap.secrets(target.settings).get(TENANT, name)
    except SecretNotFound:
        return False
    except StepError:
        return True
    return True
