"""Makes a token for the HTTP API of `aslant dev`.

It is signed by a key of the data directory, so that it is good for the API of that directory alone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from aslant.access import ROLES
from infra.cli.errors import FINE, UsageError
from infra.local.home import DEFAULT, Home, nearest

EXAMPLES = """\
examples:
  aslant token
  aslant token --user ben --role approver --role finance
  curl -H "Authorization: Bearer $(aslant token)" http://localhost:4600/api/v1/workflows
"""
_MOST = 366 * 24 * 3600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from infra.local.provision import TENANT

    parser.add_argument("--tenant", type=_name, default=TENANT, metavar="NAME", help=f"whose workflows (default {TENANT})")
    parser.add_argument("--user", type=_name, default="local", metavar="NAME", help="who calls (default local)")
    parser.add_argument("--role", action="append", type=_name, default=[], metavar="ROLE",
        help=f"{', '.join(ROLES)}, or a role that approvals name; may be repeated (default admin)")
    parser.add_argument("--seconds", type=_seconds, default=3600, metavar="N", help="how long it is good for (default 3600)")
    parser.add_argument("--data", metavar="DIR", help=f"the data directory of `aslant dev` (default: the nearest {DEFAULT})")


def _name(text: str) -> str:
    if not 0 < len(text) <= 200 or not text.isprintable():
        raise argparse.ArgumentTypeError("must have 1 to 200 printable characters")
    return text


def _seconds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 1 to {_MOST:,}")
    return int(text)


def execute(args: argparse.Namespace) -> int:
    from aslant.settings import Settings
    from infra.local.issuer import Issuer

    home = Home(Path(args.data)) if args.data else nearest(Path.cwd())
    if home is None or not home.path.is_dir():
        raise UsageError(f"there is no data directory {args.data or DEFAULT}; `aslant dev` makes it")
    token = Issuer(home.path).token(
        tenant=args.tenant, user=args.user, roles=args.role or ["admin"], seconds=args.seconds, settings=Settings.read()
    )
    sys.stdout.write(token + "\n")
    return FINE
