"""Configuration of query steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from aslant.configs.base import LOWER, MAYBE, UNKNOWN, Config, Data, Flag, Name, Seconds

Parameters = Annotated[list[Any], MAYBE] | Data


class Statement(Config):
    """One of several queries that happen together."""

    query: Name
    """The SQL text, the command of Redis, or MongoDB's command as JSON: `{"find": "orders", "filter": {"customer": ":id"}}`."""
    parameters: Parameters = Field(default_factory=list)
    """Values that are bound to its placeholders."""


class QueryConfig(Config):
    """One query or command of a database, or several in one transaction."""

    query: Name | None = None
    """The SQL text, the command of Redis, or MongoDB's command as JSON: `{"find": "orders", "filter": {"customer": ":id"}}`."""
    parameters: Parameters = Field(default_factory=list)
    """Values that are bound to the query's placeholders: a list for `$1` or `?`, an object for `:name`. Never pasted in."""
    statements: Annotated[list[Statement], Field(max_length=100), MAYBE] = Field(default_factory=list)
    """Several queries instead of one: all of them happen or none."""
    query_type: Name | None = None
    """What kind of query it is: `select`, `insert`, `sql`, or the name of a database."""
    database: Annotated[
        Literal["postgresql", "postgres", "mysql", "mariadb", "dynamodb", "athena", "mongodb", "redis"], LOWER
    ] | None = None
    """The kind of database; when left out, what the connection or `query_type` says, else PostgreSQL."""
    connection: Name | None = None
    """The name of the secret that says where the database is: an address, or an object like those of RDS."""
    connection_string: Name | Data | None = None
    """The same itself: `{{ secrets.x }}`. Without both, the secret `database_url`."""
    database_name: Name | None = None
    """The database on the server, where the connection does not say it; Athena's database."""
    resource_arn: Name | None = None
    """The cluster, for a query by the RDS Data API."""
    secret_arn: Name | None = None
    """The secret of the cluster's user, for the RDS Data API."""
    workgroup: Name = "primary"
    """Athena's workgroup."""
    catalog: Name | None = None
    """Athena's catalog."""
    read_only: Flag = False
    """Refuse everything that writes."""
    isolation: Annotated[
        Literal["read uncommitted", "read committed", "repeatable read", "serializable"], LOWER
    ] | None = None
    """The isolation level of the transaction; the database's own when left out."""
    max_rows: Annotated[int, Field(ge=1, le=100_000), MAYBE] = 1000
    """Rows that are read at most."""
    timeout: Seconds = 30
    """Seconds that everything may take."""

    @model_validator(mode="after")
    def _whole(self) -> QueryConfig:
        if self.query is None and not self.statements:
            raise ValueError("a query needs `query`, or `statements`")
        if self.query is not None and self.statements:
            raise ValueError("a query has either `query` or `statements`")
        if self.connection is not None and self.connection_string is not None:
            raise ValueError("a query has either `connection` or `connection_string`")
        if (self.resource_arn is None) != (self.secret_arn is None):
            raise ValueError("the RDS Data API needs both `resource_arn` and `secret_arn`")
        if self.statements is not UNKNOWN and self.statements and self.parameters:
            raise ValueError("the parameters of `statements` stand in each of them")
        return self
