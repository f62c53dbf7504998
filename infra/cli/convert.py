"""Rewrites a definition in another dialect. What the other dialect cannot say is a finding, never lost silently."""

from __future__ import annotations

import argparse
import sys

from infra.cli.errors import FINDINGS
from infra.cli.files import read, texts, write
from infra.cli.output import add_format, add_strict, exit_code, print_findings
from translator.diagnostics import Findings
from translator.dialects.convert import convert
from translator.dialects.registry import DIALECTS
from translator.source import load

EXAMPLES = """\
examples:
  aslant convert release.yaml --to canonical
  aslant convert release.yaml --to tasks -o release-tasks.yaml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a definition, or - for standard input")
    parser.add_argument("--to", required=True, choices=sorted(DIALECTS), metavar="DIALECT",
        help=f"one of {', '.join(sorted(DIALECTS))}")
    parser.add_argument("--dialect", help="read the file as this dialect instead of finding it out")
    parser.add_argument("-o", "--output", metavar="PATH", help="write here (default: standard output)")
    add_strict(parser)
    add_format(parser)


def execute(args: argparse.Namespace) -> int:
    source = read(args.file)
    findings = Findings()
    document = load(source.text, findings, source.file)
    if document is not None and args.dialect is not None:
        document.put("dialect", args.dialect)
    text = convert(document, args.to, findings) if document is not None else None
    diagnostics = findings.sorted()
    print_findings(diagnostics, texts([source]), args.format, sys.stderr, quiet=True)
    code = exit_code(diagnostics, strict=args.strict)
    if code or text is None:
        return code or FINDINGS
    write(text, args.output)
    return 0
