"""Reading definitions from files, folders and standard input; writing results."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from infra.cli.errors import UsageError
from translator.pipeline import Source
from translator.reporting import visible
from translator.source import MAX_BYTES

SUFFIXES = (".yaml", ".yml", ".json")
READ_LIMIT = 16 * MAX_BYTES  # beyond, even the message about the size would cost too much


def read_all(paths: Sequence[str], *, folders: bool = False) -> list[Source]:
    """The definitions at `paths`; `-` is standard input, and a folder stands for every definition in it."""
    if paths.count("-") > 1:
        raise UsageError("standard input (-) can be read once only")
    found: list[Source] = []
    for path in paths:
        if path != "-" and os.path.isdir(path):
            if not folders:
                raise UsageError(f"{path} is a folder; name the definition in it")
            inside = [*definitions_in(Path(path))]
            if not inside:
                raise UsageError(f"{path} holds no definition ({', '.join('*' + suffix for suffix in SUFFIXES)})")
            found += [read(str(file)) for file in inside]
        else:
            found.append(read(path))
    return found


def definitions_in(folder: Path, *, deep: bool = True) -> Iterable[Path]:
    """The YAML and JSON files of a folder in the order of their names, hidden ones left out."""
    files = folder.rglob("*") if deep else folder.iterdir()
    for file in sorted(files):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if file.suffix.lower() in SUFFIXES and not hidden and file.is_file():
            yield file


def read(path: str) -> Source:
    """One definition. Raises UsageError when there is no readable text."""
    if path == "-":
        return Source(_checked(_bytes(sys.stdin.buffer), "standard input"), "<stdin>")
    try:
        with open(path, "rb") as file:
            raw = _bytes(file)
    except OSError as error:
        raise UsageError(f"{path}: {_reason(error)}") from None
    except ValueError:  # a zero byte in the name
        raise UsageError(f"{path!r} is not a file name") from None
    return Source(_checked(raw, path), path)


def write(text: str, path: str | None) -> None:
    """`text` to a file, which standard error tells of; or to standard output without one (or with `-`)."""
    if path is None or path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no folder {Path(path).parent}") from None
    except OSError as error:
        raise UsageError(f"{path}: {_reason(error)}") from None
    sys.stderr.write(f"wrote {visible(path)} ({len(text.encode()):,} bytes)\n")


def texts(sources: Iterable[Source]) -> dict[str, str]:
    """Each source's text by its name, for the excerpts in messages."""
    return {
        source.file: source.text if isinstance(source.text, str) else source.text.decode("utf-8", "replace")
        for source in sources
    }


def _bytes(file: IO[bytes]) -> bytes:
    return file.read(READ_LIMIT + 1)


def _checked(raw: bytes, name: str) -> bytes:
    if b"\0" in raw[:8192]:
        raise UsageError(f"{name} is not a text file (UTF-8 YAML or JSON is wanted)")
    if len(raw) > READ_LIMIT:
        raise UsageError(f"{name} is larger than {READ_LIMIT:,} bytes; a definition has {MAX_BYTES:,} at most")
    return raw


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, IsADirectoryError):
        return "is a folder, not a file"
    if isinstance(error, PermissionError):
        return "permission denied"
    return error.strerror or str(error)
