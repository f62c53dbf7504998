"""Printing findings and choosing colours."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from infra.cli.errors import FINDINGS, FINE
from translator import reporting
from translator.diagnostics import Diagnostic, Severity
from translator.graph.strategies.choice import STRATEGIES

_STYLES = {
    "error": "bold red", "unsupported": "bold magenta", "warning": "bold yellow", "info": "bold blue",
    "place": "bold", "source": "dim", "hint": "cyan",
}


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=reporting.FORMATS, default="text", metavar="FORM",
        help="how findings are printed: text (default), json, sarif or github")


def add_strict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="warnings and unsupported features count as errors")


def add_strategy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strategy", choices=STRATEGIES, metavar="NAME",
        help=f"how steps wait for each other where their order is not series-parallel: {', '.join(STRATEGIES)}")


def exit_code(diagnostics: Iterable[Diagnostic], *, strict: bool = False) -> int:
    """1 when a finding keeps the definition from being used; with `strict` when any but an info is there."""
    bad = {Severity.ERROR, Severity.WARNING, Severity.UNSUPPORTED} if strict else {Severity.ERROR}
    return FINDINGS if any(found.severity in bad for found in diagnostics) else FINE


def telling(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without the infos, which belong into a check: who runs or publishes a definition again knows them."""
    return [found for found in diagnostics if found.severity is not Severity.INFO]


def print_findings(
    diagnostics: Sequence[Diagnostic], sources: Mapping[str, str], form: str, stream: IO[str], *, quiet: bool = False
) -> None:
    """All findings in one of the formats of `reporting`; `quiet` leaves out the summary when there are none."""
    if form == "json":
        stream.write(reporting.as_json(diagnostics))
    elif form == "sarif":
        stream.write(reporting.as_sarif(diagnostics, version()))
    elif form == "github":
        stream.write(reporting.as_github(diagnostics))
    elif colours(stream):
        _print_coloured(diagnostics, sources, stream)
    else:
        stream.write(reporting.as_text(diagnostics, sources))
    if form == "text" and (diagnostics or not quiet):
        stream.write(reporting.summary(diagnostics) + "\n")


def version() -> str:
    """The installed version of the product; `0` in a tree that was never installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("aslant")
    except PackageNotFoundError:
        return "0"


def colours(stream: IO[str]) -> bool:
    """Whether to colour: on a terminal that can, unless NO_COLOR is set (no-color.org)."""
    return live(stream) and not os.environ.get("NO_COLOR")


def live(stream: IO[str]) -> bool:
    """Whether `stream` is a terminal that can be drawn on again and again."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def person() -> bool:
    """Whether somebody can be asked: questions go to standard error, answers come from standard input."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def console(stream: IO[str]) -> Any:
    """A rich console that changes nothing in the text: no wrapping, no markup, no emoji."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _print_coloured(diagnostics: Sequence[Diagnostic], sources: Mapping[str, str], stream: IO[str]) -> None:
    from rich.text import Text

    out = console(stream)
    for line in reporting.text_lines(diagnostics, sources):
        out.print(Text.assemble(*((part.text, _STYLES.get(part.style, "")) for part in line)))


def put_json(document: Any) -> None:
    """Prints a document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")
