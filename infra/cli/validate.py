"""Checks definitions and prints every finding with its place, the reason and what to write instead.

FILE is a definition (YAML or JSON), a folder of definitions, or - for standard input. Definitions that are given
together may call each other as sub-workflows.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from infra.cli.errors import UsageError
from infra.cli.files import read_all, texts
from infra.cli.output import add_format, add_strict, exit_code, print_findings
from infra.cli.siblings import awaited, siblings
from translator.diagnostics import Diagnostic
from translator.pipeline import Source, check_sources

EXAMPLES = """\
examples:
  aslant validate release.yaml
  aslant validate workflows/ --strict
  aslant validate release.yaml --format github     annotations in a pull request
  aslant validate workflows/ --format sarif > findings.sarif
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a definition, a folder of definitions, or -")
    parser.add_argument("--dialect", help="read the files as this dialect instead of finding it out")
    parser.add_argument("--skills", action="append", default=[], metavar="MODULE",
        help="a Python module or file with skills, to check calls against")
    add_strict(parser)
    add_format(parser)


def execute(args: argparse.Namespace) -> int:
    sources = read_all(args.files, folders=True)
    diagnostics = _check(sources, args.dialect)
    if args.skills and not exit_code(diagnostics, strict=False):
        diagnostics += _calls(sources, args.dialect, args.skills)
    print_findings(diagnostics, texts(sources), args.format, sys.stdout)
    return exit_code(diagnostics, strict=args.strict)


def _calls(sources: list[Source], dialect: str | None, modules: list[str]) -> tuple[Diagnostic, ...]:
    """Findings about calls of skills."""
    from aslant.errors import ValidationError
    from aslant.settings import Settings
    from aslant.skills import load_module
    from infra.cli.siblings import compile_with_siblings
    from infra.cli.skill_findings import of_process

    sys.path.insert(0, "")  # a module is looked for here first, as with `python -m`
    try:
        for module in modules:
            load_module(module)
    except ValidationError as error:
        raise UsageError(str(error)) from None
    return of_process(compile_with_siblings(sources, dialect), Settings.read())


def _check(sources: list[Source], dialect: str | None) -> tuple[Diagnostic, ...]:
    """Findings of `sources`; what they call is looked for in their folders."""
    files = {source.file for source in sources}
    together = check_sources([*sources, *siblings(sources, dialect)], dialect=dialect, now=datetime.now(UTC))
    return (*(found for found in together if found.position.file in files), *awaited(sources, dialect))
