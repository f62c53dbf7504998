"""Draws a definition: steps coloured by kind, arrows labelled by outcome, loops and parallels as boxes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from infra.cli.errors import UsageError
from infra.cli.files import read, texts, write
from infra.cli.output import exit_code, print_findings
from infra.cli.siblings import compile_with_siblings
from translator.diagnostics import TranslatorError
from translator.diagram import FORMATS, draw

EXAMPLES = """\
examples:
  aslant graph release.yaml                        Mermaid, for a README
  aslant graph release.yaml -o release.svg         the form follows from the file's name
  aslant graph release.yaml --format dot | dot -Tpng > release.png
"""

_BY_SUFFIX = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}
_TEXTS = (".txt", ".md")  # may hold any form


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a definition, or - for standard input")
    parser.add_argument("--format", choices=FORMATS, metavar="FORM",
        help="mermaid (default), dot or svg; else what the name after -o says")
    parser.add_argument("-o", "--output", metavar="PATH", help="write here (default: standard output)")
    parser.add_argument("--dialect", help="read the file as this dialect instead of finding it out")


def execute(args: argparse.Namespace) -> int:
    form = _form(args.format, args.output)
    source = read(args.file)
    try:
        compilation = compile_with_siblings([source], args.dialect)[0]
    except TranslatorError as error:
        print_findings(error.diagnostics, texts([source]), "text", sys.stderr)
        return exit_code(error.diagnostics)
    write(draw(compilation.workflow, form), args.output)
    return 0


def _form(chosen: str | None, output: str | None) -> str:
    """The form that is asked for. Raises UsageError for a file name that stands for another one, or for none."""
    suffix = Path(output).suffix.lower() if output not in (None, "-") else ""
    named = _BY_SUFFIX.get(suffix)
    if chosen is None and suffix and named is None and suffix not in _TEXTS:
        raise UsageError(f"{output}: there is no drawing as {suffix} (but {', '.join(_BY_SUFFIX)}); Graphviz makes other"
            " forms of dot, such as `aslant graph FILE --format dot | dot -Tpng > FILE.png`")
    if chosen is not None and suffix not in ("", *_TEXTS) and named != chosen:
        raise UsageError(f"{output}: the file's name says {named or suffix}, --format says {chosen}")
    return chosen or named or "mermaid"
