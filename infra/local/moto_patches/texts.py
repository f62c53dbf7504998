"""Texts of a definition, and the names of fields in errors."""

from __future__ import annotations

import copy
import json
from typing import Any

from moto.stepfunctions.parser.asl.antlr.runtime.ASLLexer import ASLLexer
from moto.stepfunctions.parser.asl.antlt4utils.antlr4utils import is_terminal

from infra.local.moto_patches.registry import patch


def _text(source: str) -> str:
    if len(source) < 2 or not source.startswith('"') or not source.endswith('"'):
        return source
    try:
        return str(json.loads(source, strict=False))
    except ValueError:
        return source[1:-1]


@patch(
    "parser.asl.parse.preprocessor:from_string_literal",
    gap="escapes are read as Python's: a pair of surrogates stays two halves, a slash keeps its backslash",
    fingerprint="516a21a5607f",
)
def string_literal(parser_rule_context: Any) -> str:
    return _text(parser_rule_context.getText())


@patch(
    "parser.asl.parse.preprocessor:Preprocessor._inner_string_of",
    gap="escapes in names of states, fields and errors, and in literals of Assign, are left as they are",
    fingerprint="d9f476327b5b",
)
def inner_string(parser_rule_context: Any) -> str | None:
    if is_terminal(parser_rule_context, ASLLexer.NULL):
        return None
    return _text(parser_rule_context.getText())


@patch(
    "parser.asl.component.common.path.result_path:ResultPath._eval_body",
    gap="the path `$`, which every task has, is parsed anew for each state (1.2 ms)",
    fingerprint="a6d93b4e5a33",
    wraps=True,
)
def result_path(original: Any) -> Any:
    def eval_body(self: Any, env: Any) -> None:
        if self.result_path_src != "$":  # `$` replaces the whole: the result stays on the stack
            data = env.states._states_data
            data["input"] = copy.deepcopy(data["input"])  # what follows changes it in place
            original(self, env)

    return eval_body


def _no_field(self: Any) -> None:
    """The field around it is what an error names."""


for _target in (
    "common.jsonata.jsonata_template_value_terminal:JSONataTemplateValueTerminalStringJSONata",
    "common.assign.assign_template_value_terminal:AssignTemplateValueTerminalStringJSONata",
):
    patch(
        f"parser.asl.component.{_target}._field_name",
        gap="an error of an expression names a class of moto instead of the field",
        fingerprint="513b699fede4",
    )(_no_field)
