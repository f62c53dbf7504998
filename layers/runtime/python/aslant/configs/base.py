"""What all configuration models share: strictness, and values that are not known before the step runs."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WrapValidator, model_validator


class _Unknown(Enum):
    """A value that an expression gives later. It satisfies every type; an enum member stays itself when copied."""

    UNKNOWN = "UNKNOWN"


UNKNOWN: Any = _Unknown.UNKNOWN


def known(*values: Any) -> bool:
    """Whether all of these are values already."""
    return all(value is not UNKNOWN for value in values)


def _pass_unknown(value: Any, handler: Any) -> Any:
    return value if value is UNKNOWN else handler(value)


def _upper(value: Any, handler: Any) -> Any:
    return value if value is UNKNOWN else handler(value.upper() if isinstance(value, str) else value)


def _lower(value: Any, handler: Any) -> Any:
    return value if value is UNKNOWN else handler(value.lower() if isinstance(value, str) else value)


MAYBE = WrapValidator(_pass_unknown)
UPPER = WrapValidator(_upper)
LOWER = WrapValidator(_lower)

Text = Annotated[str, MAYBE]
Name = Annotated[str, Field(min_length=1), MAYBE]
Number = Annotated[float, Field(allow_inf_nan=False), MAYBE]
Flag = Annotated[bool, MAYBE]
Seconds = Annotated[float, Field(gt=0, le=99_999_999, allow_inf_nan=False), MAYBE]
ScriptSeconds = Annotated[float, Field(gt=0, le=300, allow_inf_nan=False), MAYBE]
Scalar = Annotated[str | int | float | bool | None, MAYBE]
Texts = Annotated[list[Text], MAYBE]
TextOrTexts = Annotated[Name | list[Name], MAYBE]
Scalars = Annotated[dict[str, Scalar], MAYBE]
Data = Annotated[dict[str, Any], MAYBE]
DataFormat = Annotated[Literal["json", "csv", "text"], LOWER]


class Config(BaseModel):
    """A step's configuration. Unknown keys are errors, texts are not taken for numbers, and null is as if left out."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None}
        return data
