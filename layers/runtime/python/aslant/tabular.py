"""CSV text <-> a list of objects."""

from __future__ import annotations

import csv
import io

from aslant.contracts import Json
from aslant.errors import ValidationError
from aslant.values import render


def read_csv(text: str) -> list[dict[str, Json]]:
    """One object per row with the first row as keys; every value is a text, a missing one null."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise ValidationError(f"the data is not CSV: line {reader.line_num}: {error}") from None
    if any(None in row for row in rows):
        raise ValidationError("the data is not CSV: a row has more values than the header")
    return [dict(row) for row in rows]


def write_csv(value: Json) -> str:
    """Objects as rows (columns in the order in which they first occur), lists as rows, other values one to a row.

    Lines end with a line feed. Raises ValidationError when objects and other values are mixed.
    """
    rows = value if isinstance(value, list) else [value]
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    if rows and all(isinstance(row, dict) for row in rows):
        columns = list(dict.fromkeys(key for row in rows for key in row))
        writer.writerow(columns)
        writer.writerows([render(row.get(column)) for column in columns] for row in rows)
    elif any(isinstance(row, dict) for row in rows):
        raise ValidationError("CSV needs objects only, or none")
    else:
        writer.writerows([render(cell) for cell in (row if isinstance(row, list) else [row])] for row in rows)
    return output.getvalue()
