"""cfn-lint on the templates, with its schema of state machines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra.conftest import synthesize

# W3005: CDK writes dependencies that references imply. W2001, W8001: what CDK puts into every template.
LEFT_OUT = ("W3005", "W2001", "W8001")
# The schema takes a number alone, Step Functions an expression as well:
# https://docs.aws.amazon.com/step-functions/latest/dg/state-task.html (TimeoutSeconds)
TIME_LIMIT = re.compile(r'(\\"TimeoutSeconds\\":)\\"\{%.*?%\}\\"')


@pytest.mark.timeout(600)
def test_templates_are_clean(tmp_path: Path) -> None:
    done = synthesize(tmp_path / "out")
    assert done.returncode == 0, done.stderr[-2000:]
    paths, expressions = sorted((tmp_path / "out").glob("*.template.json")), 0
    assert len(paths) == 7
    for path in paths:
        text, count = TIME_LIMIT.subn(r"\1 60", path.read_text("utf-8"))
        json.loads(text)
        path.write_text(text, "utf-8")
        expressions += count
    assert expressions > 0
    program = str(Path(sys.executable).with_name("cfn-lint"))
    linted = subprocess.run(
        [program, "--format", "parseable", "--ignore-checks", *LEFT_OUT, "-t", *map(str, paths)],
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert linted.returncode == 0, linted.stdout[-4000:] + linted.stderr[-2000:]
