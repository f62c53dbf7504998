"""Configuration of query steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from aslant.configs.base import LOWER, MAYBE, Config, Data, Flag, Name, Seconds


class QueryConfig(Config):
    """One query or command of a database."""

    query: Name
    """The SQL text, or the command of MongoDB or Redis."""
    query_type: Name | None = None
    """What kind of query it is: `select`, `insert`, `sql`, `promql` …"""
    database: Annotated[
        Literal["postgresql", "mysql", "dynamodb", "athena", "mongodb", "redis"], LOWER
    ] = "postgresql"
    """The kind of database."""
    connection_string: Name | None = None
    """Where the database is; a secret."""
    parameters: Annotated[list[Any], MAYBE] | Data = Field(default_factory=list)
    """Values that are bound to the query's placeholders: a list for `$1`, an object for names. Never pasted in."""
    read_only: Flag = False
    """Refuse everything that writes."""
    max_rows: Annotated[int, Field(ge=1), MAYBE] = 1000
    """Rows that are read at most."""
    timeout: Seconds = 30
    """Seconds that the query may take."""
