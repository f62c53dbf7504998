"""Compiles definitions into AWS Step Functions state machines (Amazon States Language, JSONata).

One definition is printed as it is, several as one JSON object by workflow id. The names of Lambda functions and child
machines are placeholders such as ${http}, as CloudFormation's DefinitionSubstitutions fill them in.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from infra.cli.errors import UsageError
from infra.cli.files import read_all, texts, write
from infra.cli.output import add_format, add_strategy, add_strict, exit_code, print_findings, telling
from infra.cli.report import as_json, as_text
from infra.cli.siblings import compile_with_siblings
from translator.comparison import compare
from translator.diagnostics import TranslatorError
from translator.pipeline import Compilation

EXAMPLES = """\
examples:
  aslant compile release.yaml -o release.asl.json
  aslant compile release.yaml --report             size, states, Lambda calls and events of a run
  aslant compile parent.yaml child.yaml -o build/  one file per workflow
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a definition, or - for standard input")
    parser.add_argument("-o", "--output", metavar="PATH",
        help="write here; a folder gets one file per workflow (default: standard output)")
    parser.add_argument("--report", action="store_true",
        help="print what the machine costs to run; the definition too only with -o")
    parser.add_argument("--json", action="store_true", help="print that as JSON (implies --report)")
    parser.add_argument("--dialect", help="read the files as this dialect instead of finding it out")
    add_strategy(parser)
    add_strict(parser)
    add_format(parser)


def execute(args: argparse.Namespace) -> int:
    sources = read_all(args.files)
    try:
        compilations = compile_with_siblings(sources, args.dialect, strategy=args.strategy)[: len(sources)]
    except TranslatorError as error:
        print_findings(error.diagnostics, texts(sources), args.format, sys.stderr)
        return exit_code(error.diagnostics, strict=args.strict)
    diagnostics = [found for compilation in compilations for found in compilation.diagnostics]
    report = args.report or args.json
    told = diagnostics if report or args.format != "text" else telling(diagnostics)
    print_findings(told, texts(sources), args.format, sys.stderr, quiet=True)
    code = exit_code(diagnostics, strict=args.strict)
    if code:
        return code
    if args.output is not None or not report:
        _write(compilations, args.output)
    if report:
        def again(strategy: str) -> list[Compilation]:
            return compile_with_siblings(sources, args.dialect, strategy=strategy)

        compared = compare(compilations, again)
        sys.stdout.write(as_json(compilations, compared) if args.json else as_text(compilations, compared))
    return 0


def _write(compilations: Sequence[Compilation], output: str | None) -> None:
    if output not in (None, "-") and (len(compilations) > 1 or Path(output).is_dir() or output.endswith("/")):
        folder = Path(output)
        names = {_file_name(compilation.workflow.id): compilation for compilation in compilations}
        if len(names) < len(compilations):
            raise UsageError("two workflows would be written to the same file; give them different ids")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: {error.strerror}") from None
        for name, compilation in names.items():
            write(_text(compilation.definition), str(folder / name))
    elif len(compilations) == 1:
        write(_text(compilations[0].definition), output)
    else:
        write(_text({compilation.workflow.id: compilation.definition for compilation in compilations}), output)


def _file_name(workflow: str) -> str:
    return re.sub(r"[^\w.-]+", "-", workflow).strip(".-") + ".asl.json"


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
