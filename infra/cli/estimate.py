"""Says what an execution of a definition costs: transitions, Lambda calls, events, dollars. The same as `compile --report`.

Loops of unknown length count with none to ten items.
"""

from __future__ import annotations

import argparse

from infra.cli import compile as compiling
from infra.cli.output import add_format, add_strategy, add_strict

EXAMPLES = """\
examples:
  aslant estimate release.yaml
  aslant estimate release.yaml --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a definition, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--dialect", help="read the files as this dialect instead of finding it out")
    add_strategy(parser)
    add_strict(parser)
    add_format(parser)
    parser.set_defaults(report=True, output=None)


def execute(args: argparse.Namespace) -> int:
    return compiling.execute(args)
