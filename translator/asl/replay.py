"""What a later run of the same execution takes over from earlier ones, read by the machine itself from its input.

A run that goes on after a pause, a failure or a restore starts from the beginning: steps answer from their records, and
waits and approvals keep the deadline that they got when they were first entered (`execution.entered` of the input).
"""

from __future__ import annotations

from collections.abc import Sequence

from translator.asl.values import query
from translator.expressions.jsonata import text_literal

# The execution's id; its ARN when the machine was started by hand.
EXECUTION_ID = "$states.context.Execution.([Input.execution.id,Id][0])"
_ENTERED = "$states.context.Execution.Input.execution"


def label(step: str, places: Sequence[str]) -> str:
    """The source of a step's label in its iteration, `step[2][0]`; `places` are the sources of the texts in brackets."""
    return "&".join([text_literal(step), *places])


def remaining(step: str, places: Sequence[str], seconds: str, least: int, *, round: str = "") -> str:
    """The field that says how many whole seconds are left of `seconds`, counted from when the state was first entered.

    `round` is the source of a number that tells visits of the state apart.
    """
    name = label(step, places) + (f'&"#"&$string({round})' if round else "")
    return query(
        f"($seconds:={seconds};$at:=$lookup({_ENTERED}.entered,{_ENTERED}.id&\"/\"&{name});"
        f"$exists($at)?$max([{least},$ceil($seconds-($millis()-$at)/1000)]):$seconds)"
    )


def execution_name(identifier: str) -> str:
    """The source of the name of a child's execution of the state machine: its id, and in a later run its number too."""
    run = "$states.context.Execution.Input.execution.run"
    return f'({identifier})&({run}>1?"-r"&$string({run}):"")'
