"""The JSON Schemas of configurations: they say what each field is, and take what the models take."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from aslant.configs.check import config_model
from aslant.configs.schema import config_schema
from aslant.step_types import STEP_TYPES

CONFIGURED = [name for name, kind in STEP_TYPES.items() if kind.model is not None]
SAMPLES = Path(__file__).parents[3] / "events" / "steps"


@pytest.mark.parametrize("step_type", CONFIGURED)
def test_every_field_is_described(step_type):
    schema = config_schema(step_type)
    model = config_model(step_type)
    assert set(schema["properties"]) == {field.alias or name for name, field in model.model_fields.items()}
    assert schema["additionalProperties"] is False
    for part in (schema, *schema.get("$defs", {}).values()):
        assert part["description"]
        for name, row in part.get("properties", {}).items():
            assert row.get("description"), f"{step_type}: {name}"


@pytest.mark.parametrize("step_type", [name for name in CONFIGURED if (SAMPLES / f"{name}.json").exists()])
def test_samples_fit_and_unknown_keys_do_not(step_type):
    config = json.loads((SAMPLES / f"{step_type}.json").read_text())["config"]
    check = jsonschema_rs.validator_for(config_schema(step_type))
    assert check.is_valid(config)
    assert not check.is_valid({**config, "no_such_key": 1})


def test_native_types_have_none():
    assert config_schema("choice") is None
