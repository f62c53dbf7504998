"""What a JSONata engine other than the original must do to agree with it, as far as compiled expressions notice.

`jsonata-python` 0.7.1 writes whole numbers of 16 digits or more with an exponent, rounds halves to even where
JavaScript rounds them up, and folds case where JavaScript makes lower case. Bind these in place of its own functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from translator.expressions import values


def string_of_number(value: float) -> str:
    """JavaScript's `JSON.stringify(Number(value.toPrecision(15)))`."""
    return values.shortest(value)


def lowercase(text: str) -> str:
    return text.lower()


def corrected(original_string: Callable[[Any, Any], Any]) -> dict[str, Callable[..., Any]]:
    """Functions by their JSONata name (without `$`), given the engine's own `$string` for all but numbers.

    An undefined argument is None. Wrong types raise `TypeError`, which an engine reports as its own error.
    """
    def string(value: Any = None, prettify: Any = None) -> Any:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return string_of_number(value)
        return original_string(value, prettify)

    def lower(text: Any = None) -> Any:
        if text is None:
            return None
        if not isinstance(text, str):
            raise TypeError("$lowercase takes a text")
        return lowercase(text)

    return {"string": string, "lowercase": lower}
