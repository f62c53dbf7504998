"""One synthesis for all tests of all workers: it takes ten seconds and more."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
Template = dict[str, Any]


@dataclass(frozen=True)
class Assembly:
    """What `python -m infra.app` wrote: templates by the part of the stack's name behind the stage."""

    templates: Mapping[str, Template]
    folder: Path

    def of_type(self, kind: str, stack: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Resources of a type with their logical ids."""
        for name, template in self.templates.items():
            if stack in (None, name):
                yield from ((id, one) for id, one in template["Resources"].items() if one["Type"] == kind)


def synthesize(out: Path, **context: str) -> subprocess.CompletedProcess[str]:
    """Runs the app as the CDK command line tool does."""
    flags = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]
    given = flags | {"layers": "empty", "aws:cdk:enable-path-metadata": False} | context
    variables = {
        "CDK_OUTDIR": str(out), "CDK_CONTEXT_JSON": json.dumps(given), "PYTHONDONTWRITEBYTECODE": "1",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1", "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'layers' / 'runtime' / 'python'}",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "infra.app"], cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=400,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Assembly:
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "cdk-assembly"
    with open(shared.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.is_dir():
            work = shared.with_suffix(".new")
            done = synthesize(work)
            assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
            work.rename(shared)
    templates = {
        path.name.removeprefix("aslant-dev-").removesuffix(".template.json"): json.loads(path.read_text())
        for path in sorted(shared.glob("*.template.json"))
    }
    return Assembly(templates, shared)
