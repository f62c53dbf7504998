"""An upgrade from the last release replaces nothing that holds data, and nothing that others know by its name."""

from __future__ import annotations

import json

import pytest

from tests.infra.conftest import Assembly
from tests.infra.previous import FILE, fixed

pytestmark = pytest.mark.timeout(450)


def test_what_holds_data_stays_as_it_is(assembly: Assembly) -> None:
    before = json.loads(FILE.read_text("utf-8"))
    assert {one["Type"] for stack in before.values() for one in stack.values()} >= {
        "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::Cognito::UserPool",
    }  # fmt: skip
    for stack, resources in before.items():
        now = fixed(assembly.templates[stack])
        assert {id: now.get(id) for id in resources} == resources, stack
