"""CSV text <-> a list of objects."""

from __future__ import annotations

import csv
import io

from aslant.contracts import Json
from aslant.errors import ValidationError
from aslant.values import render

MOST_CELLS = 1_000_000  # a wide header makes each short row as wide


def read_csv(text: str) -> list[dict[str, Json]]:
    """One object per row with the first row as keys; every value is a text, a missing one null.

    Raises ValidationError for what is no CSV, for two columns of one name, and for more than a million values.
    """
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # the whole text is in memory as it is
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        names = reader.fieldnames or ()
        twice = next((name for name in names if names.count(name) > 1), None) if len({*names}) < len(names) else None
        if twice is not None:
            raise ValidationError(f"the data has two columns that are called {twice[:80]!r}")
        rows: list[dict[str, Json]] = []
        for row in reader:
            if None in row:
                raise ValidationError("the data is not CSV: a row has more values than the header")
            rows.append(row)
            check_cells(len(names), len(rows))
    except csv.Error as error:
        raise ValidationError(f"the data is not CSV: line {reader.line_num}: {error}") from None
    return rows


def check_cells(columns: int, rows: int) -> None:
    """Raises ValidationError for a table that is too large."""
    if columns * rows > MOST_CELLS:
        raise ValidationError(f"the table has more than {MOST_CELLS:,} cells")


def write_csv(value: Json) -> str:
    """Objects as rows (columns in the order in which they first occur), lists as rows, other values one to a row.

    Lines end with a line feed. Raises ValidationError when objects and other values are mixed, and for too large a table.
    """
    rows = value if isinstance(value, list) else [value]
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    if rows and all(isinstance(row, dict) for row in rows):
        columns = list(dict.fromkeys(key for row in rows for key in row))
        check_cells(len(columns), len(rows))
        writer.writerow(columns)
        writer.writerows([render(row.get(column)) for column in columns] for row in rows)
    elif any(isinstance(row, dict) for row in rows):
        raise ValidationError("CSV needs objects only, or none")
    else:
        writer.writerows([render(cell) for cell in (row if isinstance(row, list) else [row])] for row in rows)
    return output.getvalue()
