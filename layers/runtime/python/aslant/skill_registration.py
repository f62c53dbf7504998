"""Registering a skill: a written specification is checked, and is complete afterwards."""

from __future__ import annotations

from typing import Any

from aslant.configs.check import problems
from aslant.errors import ValidationError
from aslant.skill_specs import SkillSpec, registration, schema_problem
from aslant.skills import is_remote


def read_spec(written: Any) -> tuple[SkillSpec | None, list[str]]:
    """What somebody wrote as a specification, in either spelling (`registration`), or all that is wrong with it."""
    try:
        one = registration(written) if isinstance(written, dict) else written
    except ValidationError as error:
        return None, [str(error)]
    found = [f"{'.'.join(map(str, path))} {message}".strip() for path, message in problems(SkillSpec, one)]
    if not found:
        found = [each for what in ("parameters", "returns") if (each := schema_problem(one.get(what), what))]
    if not found and bool(one.get("code")) == bool(one.get("target")):
        found = ["one of `target` and `code` is needed; Python functions of a module are given with --skills"]
    if not found and one.get("target") and not is_remote(one["target"]):
        found = ["target is no ARN of a Lambda function or a task definition, and no https address"]
    if not found and one.get("code") and "execute" not in one["code"]:
        found = ["code defines no function `execute`"]
    return (None, found) if found else (SkillSpec.model_validate(one), [])
