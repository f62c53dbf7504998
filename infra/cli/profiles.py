"""Installations that commands talk to over HTTP: an address and a token, named in a file or given."""

from __future__ import annotations

import argparse
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from infra.cli.errors import UsageError

if TYPE_CHECKING:
    from infra.client import Client

TOKEN = "ASLANT_TOKEN"
FILE = "ASLANT_PROFILES"  # names another file
_KEYS = frozenset({"url", "token_env", "token_file"})


def path() -> Path:
    if given := os.environ.get(FILE):
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "aslant" / "profiles.toml"


def client_of(args: argparse.Namespace) -> Client:
    """The client for `--url` or `--profile`. Raises UsageError."""
    if args.url and args.profile:
        raise UsageError("--url and --profile exclude each other")
    return named(args.profile) if args.profile else _client(args.url, os.environ.get(TOKEN, ""), f"the variable {TOKEN}")


def named(profile: str) -> Client:
    """The client of a profile. Raises UsageError."""
    file = path()
    try:
        data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no file of profiles {file}; it has a part for each: [{profile}] and url = …") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: {error}") from None
    found = data.get(profile)
    if not isinstance(found, dict):
        raise UsageError(f"{file} has no profile {profile}; it has {', '.join(sorted(data)) or 'none'}")
    strange = sorted(set(found) - _KEYS)
    if strange or not all(isinstance(value, str) for value in found.values()) or "url" not in found:
        raise UsageError(f"{file}: the profile {profile} takes texts for {', '.join(sorted(_KEYS))}, url among them")
    if "token_file" in found:
        try:
            token = (file.parent / Path(found["token_file"]).expanduser()).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UsageError(f"{found['token_file']}: {error.strerror or error}") from None
        return _client(found["url"], token, found["token_file"])
    variable = found.get("token_env", TOKEN)
    return _client(found["url"], os.environ.get(variable, ""), f"the variable {variable}")


def _client(url: str, token: str, where: str) -> Client:
    from infra.client import Client

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url} is no address of an API; https://api.example.com is one")
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise UsageError(f"{url} would carry the token in the open; use https")
    if not token:
        raise UsageError(f"there is no token: {where} is empty")
    return Client(url, token)
