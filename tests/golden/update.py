"""`python -m tests.golden.update` writes what the compiler makes now; look at the difference before you commit it."""

from __future__ import annotations

import json
from pathlib import Path

from translator.diagnostics import TranslatorError
from translator.pipeline import Source, compile_sources
from translator.reporting import place

HERE = Path(__file__).parent


def golden(definition: Path) -> tuple[str, str]:
    """The file's ending and text for a definition: its machine, or its findings when it has errors."""
    try:
        (compiled,) = compile_sources([Source(definition.read_text(encoding="utf-8"), definition.name)])
    except TranslatorError as error:
        lines = [f"{place(one.position)}: {one.severity} {one.code} {one.message}" for one in error.diagnostics]
        return ".findings.txt", "\n".join(lines) + "\n"
    made = compiled.definition
    if compiled.rollback is not None:
        made = {"machine": made, "rollback": compiled.rollback.definition}
    return ".asl.json", json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    for definition in sorted(HERE.glob("*.yaml")):
        ending, text = golden(definition)
        definition.with_suffix(ending).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
