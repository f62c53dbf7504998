"""Failed expressions are told in the words of the expression language, AWS's wording and the local engine's alike."""

from __future__ import annotations

import json

import pytest

from aslant.history.steps import message_of

AWS = "An error occurred while executing the state 'two' (entered at the event id #2). The JSONata expression '%s' specified for " \
    "the field 'Output' %s"


@pytest.mark.parametrize(("said", "told"), [
    ('threw an error during evaluation. T0410: Argument 1 of function "uppercase" does not match function signature',
        "upper takes a text, and got something else"),
    ("threw an error during evaluation. T0410: Argument 1 of Object uppercase does not match Object signature (value: 7)",
        "upper takes a text, not 7"),
    ('threw an error during evaluation. T2009: The values 7 and a either side of operator ">" must be of the same data type',
        "> compares two numbers or two texts, not 7 with a"),
    ('threw an error during evaluation. T2010: The expressions either side of operator "<" must evaluate to numeric or string'
        " values (value: null)", "< compares two numbers or two texts, not null"),
    ('threw an error during evaluation. T2001: The left side of the "*" operator must evaluate to a number',
        "the left side of * must be a number"),
    ("threw an error during evaluation. D1001: Number out of range: Infinity",
        "the number is too large, or none (a division by zero)"),
    ("threw an error during evaluation. D3137: not a list", "not a list"),
    ("threw an error during evaluation. X9999: something new", "something new"),
    ("returned nothing (undefined).", "the expression has no value"),
    ("returned an unexpected result type. Expected 'boolean', but was 'number' for value: 1",
        "the value must be true or false, not 1"),
])
def test_what_the_engine_says(said: str, told: str) -> None:
    cause = AWS % ("{% $uppercase('it''s') %}", said)
    assert message_of(cause) == told
    assert message_of(json.dumps({"errorMessage": cause})) == told


def test_other_messages_stay() -> None:
    assert message_of("The JSONata expression is a nice thing") == "The JSONata expression is a nice thing"
    assert message_of('{"errorMessage": "no such order"}') == "no such order"
