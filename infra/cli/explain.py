"""Says what a finding's code means and what to write instead. Without a code: lists every one."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import textwrap
from collections.abc import Iterable

from infra.cli.errors import UsageError
from translator.diagnostics import Rule
from translator.findings.catalogue import RULES

EXAMPLES = """\
examples:
  aslant explain S005
  aslant explain                     every code in one line each
  aslant explain --markdown          the whole catalogue, for documentation
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("codes", nargs="*", metavar="CODE", help="codes such as S005")
    parser.add_argument("--markdown", action="store_true", help="as Markdown")
    parser.add_argument("--json", action="store_true", help="as JSON")


def execute(args: argparse.Namespace) -> int:
    rules = [_rule(code) for code in args.codes] or sorted(RULES.values(), key=lambda rule: rule.code)
    if args.json:
        text = json.dumps([_row(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n"
    elif args.markdown:
        text = markdown(rules)
    elif args.codes:
        text = "\n".join(_page(rule) for rule in rules)
    else:
        text = "".join(f"{rule.code}  {rule.severity.value:<11}  {rule.title}\n" for rule in rules)
    sys.stdout.write(text)
    return 0


def markdown(rules: Iterable[Rule]) -> str:
    """The catalogue as a page with a heading per code."""
    parts = ["# Findings\n"]
    for rule in rules:
        parts.append(f"## {rule.code} {rule.title}\n\n*{rule.severity.value}*\n\n{rule.explanation.strip()}\n")
    return "\n".join(parts)


def _rule(code: str) -> Rule:
    if (rule := RULES.get(code.strip().upper())) is not None:
        return rule
    close = difflib.get_close_matches(code.upper(), sorted(RULES), 3, 0.5)
    raise UsageError(f"there is no code {code}; " + (f"did you mean {', '.join(close)}? " if close else "")
        + "`aslant explain` lists them all")


def _row(rule: Rule) -> dict[str, str]:
    return {"code": rule.code, "severity": rule.severity.value, "title": rule.title, "explanation": rule.explanation}


def _page(rule: Rule) -> str:
    """The explanation wrapped to 88 columns; lines that start with a space (examples) stay as they are."""
    blocks = []
    for block in rule.explanation.strip().split("\n\n"):
        keep = any(line.startswith(" ") for line in block.split("\n"))
        blocks.append(block if keep else textwrap.fill(block, 88, break_long_words=False, break_on_hyphens=False))
    return f"{rule.code} ({rule.severity.value}): {rule.title}\n\n" + "\n\n".join(blocks) + "\n"
