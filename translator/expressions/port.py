"""What a JSONata engine other than the original must do to agree with it, as far as compiled expressions notice.

`jsonata-python` 0.7.1 writes numbers inside of lists in Python's way, whole numbers of 16 digits with an exponent,
characters beyond ASCII inside of lists as escapes, numbers in a base with digits that a double does not have, and folds
case where JavaScript makes lower case. An engine binds these in place of its own functions of these names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from translator.expressions import values


def corrected(
    to_json: Callable[[Any], Any], string: Callable[[Any, Any], Any], format_base: Callable[[Any, Any], Any]
) -> dict[str, Callable[..., Any]]:
    """Functions by their JSONata name (without `$`).

    `to_json` turns a value of the engine into JSON and raises for a function; `string` and `format_base` are the engine's
    own, for the arguments that need no correction. An undefined argument is None. Wrong types raise `TypeError`.
    """

    def js_string(value: Any = None, prettify: Any = None) -> Any:
        if value is None or isinstance(value, str) or callable(value) or prettify is True:
            return string(value, prettify)
        return values.json_text(to_json(value), values.shortest)

    def js_format_base(value: Any = None, radix: Any = None) -> Any:
        if not values.is_number(value) or radix not in (None, 10):
            return format_base(value, radix)
        return values.digits(round(value))

    def js_lowercase(text: Any = None) -> Any:
        if text is not None and not isinstance(text, str):
            raise TypeError("$lowercase takes a text")
        return None if text is None else text.lower()

    return {"string": js_string, "formatBase": js_format_base, "lowercase": js_lowercase}
