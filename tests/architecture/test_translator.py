"""The translator knows no cloud, and no module grows beyond what one reads at once. Import contracts: `make check`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("translator", "functions", "infra", "layers/runtime/python/aslant")
MODULES = sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
CLOUD = re.compile(r"\b(boto3|botocore|moto|localstack|powertools|aws_cdk|cloudformation)\b", re.IGNORECASE)
LONGEST = 450


def test_there_are_modules() -> None:
    assert len(MODULES) > 100
    assert {path.parts[0] for path in MODULES} == {package.split("/")[0] for package in PACKAGES}


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[0] == "translator"], ids=str)
def test_the_translator_says_no_word_of_clients(path: Path) -> None:
    assert CLOUD.findall((ROOT / path).read_text("utf-8")) == []


def test_no_module_is_longer_than_one_reads_at_once() -> None:
    long = {str(path): count for path in MODULES if (count := (ROOT / path).read_text("utf-8").count("\n")) > LONGEST}
    assert long == {}
