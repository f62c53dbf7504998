"""Where a database is: an address (`postgresql://user:password@host:5432/name?sslmode=…`), or an object as RDS writes it."""

from __future__ import annotations

import ipaddress
import urllib.parse
from collections.abc import Mapping
from typing import Any

from aslant.database_ports import DatabaseAddress
from aslant.errors import ValidationError

KINDS = {
    "postgresql": "postgresql", "postgres": "postgresql", "aurora-postgresql": "postgresql",
    "mysql": "mysql", "mariadb": "mysql", "aurora-mysql": "mysql", "aurora": "mysql",
    "redis": "redis", "rediss": "redis", "valkey": "redis", "mongodb": "mongodb",
    "mongo": "mongodb", "documentdb": "mongodb", "dynamodb": "dynamodb", "athena": "athena",
}
_PORTS = {"postgresql": 5432, "mysql": 3306, "redis": 6379, "mongodb": 27017}
_TLS = {
    "disable": "disable", "disabled": "disable", "false": "disable", "prefer": "prefer", "preferred": "prefer",
    "require": "require", "required": "require", "true": "require",
    "verify-ca": "verify-ca", "verify_ca": "verify-ca", "verify-full": "verify-full",
    "verify_identity": "verify-full", "verify-identity": "verify-full",
}
_MODES = ("sslmode", "ssl-mode", "ssl_mode", "tls", "ssl")


def address(given: str | Mapping[str, Any], kind: str | None, name: str | None) -> DatabaseAddress:
    """The address that a connection says; `kind` is asked for by the step, `name` the database where nothing else says it.

    Raises ValidationError, without anything of what was given: it is a secret.
    """
    facts = _of_url(given) if isinstance(given, str) else _of_object(given)
    said = KINDS.get(str(facts.get("kind") or "").lower())
    if facts.get("kind") and said is None:
        raise ValidationError("the connection is to no kind of database that query steps know")
    if kind and said and kind != said:
        raise ValidationError(f"the step asks for {kind}, and its connection is to {said}")
    found = kind or said or "postgresql"
    host = str(facts.get("host") or "").strip("[]")
    if not host or any(character <= " " or character in "/,@" for character in host):
        raise ValidationError("the connection has no host, or more than one")
    port = _PORTS.get(found, 0) if facts.get("port") is None else facts["port"]
    if isinstance(port, str) and port.isascii() and port.isdigit():
        port = int(port)
    if not isinstance(port, int) or not 0 < port < 65_536:
        raise ValidationError("the connection's port is none")
    base = str(facts.get("name") or name or "")
    if found == "redis" and base and not (base.isascii() and base.isdigit() and int(base) < 10_000):
        raise ValidationError("a database of Redis is a number")
    return DatabaseAddress(
        found, host, port, str(facts.get("user") or ""), str(facts.get("password") or ""), base, _tls(facts, found, host),
        str(facts.get("ca") or ""), str(facts.get("source") or "") if found == "mongodb" else "",
    )


def _of_url(text: str) -> dict[str, Any]:
    try:
        parts = urllib.parse.urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise ValidationError("the connection is no address") from None
    if not parts.scheme or not text.strip().startswith(parts.scheme + "://"):
        raise ValidationError("the connection is no address: it begins with postgresql://, mysql://, mongodb:// or redis://")
    options = dict(urllib.parse.parse_qsl(parts.query))
    scheme, _, driver = parts.scheme.partition("+")  # `mysql+pymysql` as SQLAlchemy writes it
    if scheme == "mongodb" and driver == "srv":
        raise ValidationError("the connection names a list of hosts that would be looked up (mongodb+srv); give one: mongodb://host:27017/name")
    of_mongo = ("authSource",) if KINDS.get(scheme) == "mongodb" else ()
    if set(options) - {*_MODES, "ca", *of_mongo}:
        shown = ", ".join(("sslmode", *of_mongo))
        raise ValidationError(f"the connection's options are {shown} and ca; others are not taken")
    return {
        "kind": scheme, "host": urllib.parse.unquote(parts.hostname or ""), "port": port,
        "user": urllib.parse.unquote(parts.username or ""),
        "password": urllib.parse.unquote(parts.password or ""), "name": urllib.parse.unquote(parts.path.lstrip("/")),
        "ca": options.get("ca"), "tls": next((options[name] for name in _MODES if name in options), None),
        "encrypted": scheme == "rediss", "source": options.get("authSource"),
    }


def _of_object(given: Mapping[str, Any]) -> dict[str, Any]:
    """https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_secret_json_structure.html"""
    names = {
        "engine": "kind", "kind": "kind", "host": "host", "port": "port", "username": "user", "user": "user",
        "password": "password", "dbname": "name", "database": "name", "ca": "ca", "authSource": "source",
        "dbInstanceIdentifier": "", "dbClusterIdentifier": "", "masterarn": "",
        **dict.fromkeys(_MODES, "tls"),
    }
    unknown = set(given) - set(names)
    if unknown:
        raise ValidationError("the connection has a key that is not taken; known are engine, host, port, username, password, "
                              "dbname, sslmode and ca")
    return {names[key]: value for key, value in given.items() if names[key]}


def _tls(facts: Mapping[str, Any], kind: str, host: str) -> str:
    """What is said, else `require`, or `prefer` on this machine; of Redis, `rediss` checks certificates, `redis` is plain."""
    said = facts.get("tls")
    if said is not None:
        mode = _TLS.get(str(said).lower())
        if mode is None:
            raise ValidationError("the connection's sslmode is disable, prefer, require, verify-ca or verify-full")
        return mode
    if kind == "redis":
        return "verify-full" if facts.get("encrypted") else "disable"
    return "prefer" if _is_loopback(host) else "require"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
