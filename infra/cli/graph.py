"""Draws a definition: steps coloured by kind, arrows labelled by outcome, loops and parallels as boxes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from infra.cli.files import read, texts, write
from infra.cli.output import exit_code, print_findings
from translator.diagnostics import TranslatorError
from translator.diagram import FORMATS, draw
from translator.pipeline import compile_sources

EXAMPLES = """\
examples:
  aslant graph release.yaml                        Mermaid, for a README
  aslant graph release.yaml -o release.svg         the form follows from the file's name
  aslant graph release.yaml --format dot | dot -Tpng > release.png
"""

_BY_SUFFIX = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a definition, or - for standard input")
    parser.add_argument("--format", choices=FORMATS, metavar="FORM",
        help="mermaid (default), dot or svg; else what the name after -o says")
    parser.add_argument("-o", "--output", metavar="PATH", help="write here (default: standard output)")
    parser.add_argument("--dialect", help="read the file as this dialect instead of finding it out")


def execute(args: argparse.Namespace) -> int:
    source = read(args.file)
    try:
        compilation = compile_sources([source], dialect=args.dialect)[0]
    except TranslatorError as error:
        print_findings(error.diagnostics, texts([source]), "text", sys.stderr)
        return exit_code(error.diagnostics)
    form = args.format or _BY_SUFFIX.get(Path(args.output or "").suffix.lower(), "mermaid")
    write(draw(compilation.workflow, form), args.output)
    return 0
