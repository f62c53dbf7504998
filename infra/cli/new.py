"""Writes a commented starter definition. It runs as it is: `aslant run NAME.yaml`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from infra.cli.errors import UsageError

EXAMPLES = """\
examples:
  aslant new                                       hello.yaml
  aslant new invoices --dialect tasks              invoices.yaml, in the dialect `tasks`
  aslant new release --template approval -o -      print it instead
"""

TEMPLATES = Path(__file__).parent / "templates"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,79}\Z", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dialects, templates = _known()
    parser.add_argument("name", nargs="?", default="hello", metavar="NAME",
        help="the workflow's name, or NAME.yaml: letters, digits, - _ . (default: hello)")
    parser.add_argument("--dialect", choices=dialects, default="steps", metavar="DIALECT",
        help=f"one of {', '.join(dialects)} (default: steps)")
    parser.add_argument("--template", choices=templates, default="hello", metavar="TEMPLATE",
        help=f"one of {', '.join(templates)} (default: hello)")
    parser.add_argument("-o", "--output", metavar="PATH", help="the file (default: NAME.yaml; - prints it)")


def execute(args: argparse.Namespace) -> int:
    args.name = re.sub(r"(?<=.)\.ya?ml\Z", "", args.name, flags=re.IGNORECASE)  # who names the file means the same
    if not _NAME.match(args.name):
        raise UsageError(f"{args.name!r} is no name: letters, digits, - _ . up to 80 characters are")
    template = TEMPLATES / f"{args.template}-{args.dialect}.yaml"
    if not template.is_file():
        have = sorted(file.stem.split("-", 1)[1] for file in TEMPLATES.glob(f"{args.template}-*.yaml"))
        raise UsageError(f"the template {args.template} is there for {', '.join(have)}, not for {args.dialect}")
    text = template.read_text(encoding="utf-8").replace("NAME", args.name)
    if args.output == "-":
        print(text, end="")
        return 0
    path = Path(args.output or f"{args.name}.yaml")
    try:
        with path.open("x", encoding="utf-8") as file:  # x: refuse to overwrite, without a race
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already; choose another name or remove it") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    print(f"wrote {path}\nnext: aslant validate {path}\n      aslant run {path}")
    return 0


def _known() -> tuple[list[str], list[str]]:
    pairs = [file.stem.split("-", 1) for file in TEMPLATES.glob("*.yaml")]
    return sorted({dialect for _, dialect in pairs}), sorted({template for template, _ in pairs})
