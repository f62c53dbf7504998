"""What Lambda functions and layers are made of: the files that a handler imports, and packages of the lock file."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path

from infra.inventory import FunctionSpec, Packages

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
RUNTIME = ROOT / "layers" / "runtime"
PYTHON = "3.13"
_PLATFORMS = ("manylinux_2_28_aarch64", "manylinux2014_aarch64", "manylinux_2_34_aarch64")
# What the dialects' registry imports by name.
_BY_NAME = {"translator.dialects.registry": "translator/dialects"}
_LEFT_OUT = ("__pycache__", "*.pyc", "README.md")
_UNUSED = ("tests", "test", "__pycache__", "bin", "*.pyi", "*.c", "*.h", "*.pyx", "*.pxd", "*.md")


class LayerError(Exception):
    """A layer that pip could not build."""


@cache
def modules(module: str) -> tuple[str, ...]:
    """The files of `functions` and `translator` that a handler imports, in functions too; relative to the project."""
    finder = ModuleFinder(path=[str(ROOT)])
    finder.import_hook(module)
    found = {
        Path(file).relative_to(ROOT)
        for name, each in finder.modules.items()
        if name.partition(".")[0] in ("functions", "translator") and (file := vars(each)["__file__"])
    }
    for loader, folder in _BY_NAME.items():
        if loader in finder.modules:
            found |= {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py")}
    return tuple(sorted(str(path) for path in found))


def stage(spec: FunctionSpec) -> Path:
    """A folder with just these files, made anew."""
    target = BUILD / "functions" / spec.name
    shutil.rmtree(target, ignore_errors=True)
    for name in modules(spec.module):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
    return target


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of third-party packages: `layers/<name>/requirements.txt`, with the versions and hashes of the lock file."""

    packages: Packages

    @property
    def requirements(self) -> str:
        """All packages with what they need in turn, as pip reads them. Raises LayerError for one that is not locked."""
        listed = (ROOT / "layers" / self.packages / "requirements.txt").read_text(encoding="utf-8")
        names = [line.strip() for line in listed.splitlines() if line.strip() and not line.startswith("#")]
        locked = _locked()
        missing = [name for name in names if name not in locked]
        if missing:
            raise LayerError(f"not in requirements.lock: {', '.join(missing)}")
        return "\n".join(locked[name] for name in names) + "\n"

    @property
    def hash(self) -> str:
        """Of everything that decides what is in it."""
        text = "\n".join([self.requirements, PYTHON, *_PLATFORMS, *_UNUSED])
        return hashlib.sha256(text.encode()).hexdigest()

    def empty(self) -> Path:
        """A folder in the layer's place, for templates that nobody deploys."""
        target = BUILD / "layers" / "empty"
        (target / "python").mkdir(parents=True, exist_ok=True)
        (target / "python" / ".keep").touch()
        return target

    def build(self) -> Path:
        """The folder that becomes the layer; built by pip unless that was done before. Needs no Docker. Raises LayerError."""
        target = BUILD / "layers" / f"{self.packages}-{self.hash[:16]}"
        if target.is_dir():
            return target
        work = target.with_suffix(".new")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        wanted = work / "requirements.txt"
        wanted.write_text(self.requirements, encoding="utf-8")
        platforms = [part for name in _PLATFORMS for part in ("--platform", name)]
        done = subprocess.run(
            [
                sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile",
                "--require-hashes", "--only-binary=:all:", *platforms, "--python-version", PYTHON, "--implementation", "cp",
                "--target", str(work / "python"), "-r", str(wanted),
            ],
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        if done.returncode:
            raise LayerError(f"pip could not build the layer {self.packages}: {done.stderr.strip()[-2000:]}")
        wanted.unlink()
        for pattern in _UNUSED:
            for path in [*(work / "python").rglob(pattern)]:
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        work.rename(target)
        return target


def runtime_exclude() -> Iterable[str]:
    """What of `layers/runtime` does not go into its layer."""
    return _LEFT_OUT


@cache
def _locked() -> dict[str, str]:
    """Entries of the lock file by the package's name, without comments."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries: dict[str, str] = {}
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text):
        if found := re.match(r"([A-Za-z0-9_.-]+)==", entry):
            lines = [line for line in entry.splitlines() if not line.strip().startswith("#")]
            entries[found[1].lower()] = "\n".join(lines).rstrip(" \\")
    return entries
