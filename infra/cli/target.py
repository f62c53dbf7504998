"""What a command talks to: a running `aslant dev`, found through its data directory, or another endpoint of AWS."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aslant.errors import NetworkError, NotFoundError, StepError
from aslant.settings import Settings
from infra.cli.errors import UsageError
from infra.local.home import DEFAULT, Address, Home, nearest

if TYPE_CHECKING:
    from aslant.approvals.service import Approvals
    from aslant.executions.records import Execution
    from aslant.executions.service import Executions
    from aslant.executions.view import Views
    from aslant.skill_specs import SkillSpec

TENANT = "default"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_WHOLE_ID = 36     # characters of an id that was made here
_SHORTEST = 4      # characters of the beginning of one
_LOOKED_AT = 1000  # of the newest executions, for the beginning of an id
_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Target:
    """`local`: the cloud is on this machine, and whoever asks may answer for everybody.

    `options`: what another command line needs to say to talk to it. `home`: its data directory, where that is known, and
    `functions` then the skills that are Python functions of that process, with what their versions say of themselves.
    """

    settings: Settings
    url: str
    local: bool
    user: str
    options: str = ""
    home: Home | None = None
    functions: Mapping[str, Sequence[SkillSpec]] | None = None

    @property
    def executions(self) -> Executions:
        from aslant import bootstrap

        return bootstrap.executions(self.settings)

    @property
    def views(self) -> Views:
        from aslant import bootstrap

        return bootstrap.views(self.settings)

    @property
    def approvals(self) -> Approvals:
        from aslant import bootstrap

        return bootstrap.approvals(self.settings)

    def meant(self, workflow: str) -> str:
        """What to say further of the id of a workflow that is not published: the published one that is like it."""
        from aslant import bootstrap
        from translator.nearest import nearest

        found = nearest(workflow, bootstrap.catalog(self.settings).published_ids(TENANT))
        return f"; did you mean {found}?" if found and found != workflow else ""

    def execution(self, id: str) -> Execution:
        """The execution of that id, or the only one whose id begins so. Raises UsageError."""
        try:
            return self.executions.get(TENANT, id)
        except NotFoundError:
            pass
        found = []
        if _SHORTEST <= len(id) < _WHOLE_ID:
            page = self.executions.list(TENANT, limit=_LOOKED_AT)
            found = [one for one in page.items if one.id.startswith(id)]
        if len(found) > 1:
            raise UsageError(f"{len(found)} executions have ids that begin with {id}: {', '.join(one.id for one in found[:5])}")
        if not found:
            raise UsageError(f"there is no execution {id}; `aslant list{self.options}` shows those there are")
        return found[0]


def add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where")
    group.add_argument("--data", metavar="DIR", help=f"the data directory of `aslant dev` (default: {DEFAULT}, also of a"
        " folder above)")
    group.add_argument("--endpoint", metavar="URL", help="the address of `aslant dev` instead")
    group.add_argument("--url", metavar="URL", help="an installation's HTTP API instead, with the token in ASLANT_TOKEN")
    group.add_argument("--profile", metavar="NAME", help="the same by its name in ~/.config/aslant/profiles.toml")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_user(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--as", dest="user", metavar="USER", help="who does it (default: the user of this machine)")


def same_target(args: argparse.Namespace) -> str:
    """The options of this command line that the next one needs to talk to the same target, a space in front."""
    given = (("--data", args.data), ("--endpoint", getattr(args, "endpoint", None)))
    return "".join(f" {name} {shlex.quote(value)}" for name, value in given if value and value != DEFAULT)


@contextlib.contextmanager
def connected(args: argparse.Namespace) -> Iterator[Target]:
    """Inside, clients of AWS talk to the target. What it refuses and errors of the line are UsageErrors."""
    from aslant import clock
    from aslant.adapters import clients

    url, address = _found(args)
    local = url is not None and urlsplit(url).hostname in _LOOPBACK
    values = {"AWS_ENDPOINT_URL": url} if url is not None else {}
    if local:
        values |= {
            # Real keys do not leave the process; the local cloud takes any.
            "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "",
            "AWS_DEFAULT_REGION": address.region if address is not None else _REGION,
            "AWS_REGION": address.region if address is not None else _REGION,
            "AWS_PROFILE": "", "AWS_EC2_METADATA_DISABLED": "true", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
            "NO_PROXY": ",".join([*filter(None, [os.environ.get("NO_PROXY")]), "localhost", "127.0.0.1"]),
            "ASLANT_SCHEDULER_ROLE": os.environ.get("ASLANT_SCHEDULER_ROLE") or "arn:aws:iam::123456789012:role/local",
        }
    before = {name: os.environ.get(name) for name in values}
    clients.forget()
    try:
        for name, value in values.items():
            os.environ.pop(name, None)
            if value:
                os.environ[name] = value
        if address is not None:
            clock.use(lambda: address.clock + (time.time() - address.real) * address.scale, address.scale)
        home = _home(args) if address is not None else None
        yield Target(
            Settings.read(), url or "", local, getattr(args, "user", None) or local_user(), same_target(args), home,
            _functions(address) if address is not None else None,
        )  # fmt: skip
    except NetworkError as error:
        raise UsageError(f"{url or 'AWS'} does not answer ({error})") from None
    except StepError as error:
        raise UsageError(str(error)) from None
    finally:
        clock.use()
        clients.forget()
        for name, earlier in before.items():
            os.environ.pop(name, None)
            if earlier is not None:
                os.environ[name] = earlier


def _functions(address: Address) -> dict[str, list[SkillSpec]]:
    from aslant.skill_specs import SkillSpec

    return {name: [SkillSpec(**each) for each in specs] for name, specs in address.functions.items()}


def _home(args: argparse.Namespace) -> Home | None:
    return Home(Path(args.data)) if args.data else nearest(Path.cwd())


def _found(args: argparse.Namespace) -> tuple[str | None, Address | None]:
    home = _home(args)
    address = home.running() if home is not None else None
    if args.endpoint:
        given = args.endpoint if "://" in args.endpoint else f"http://{args.endpoint}"
        if urlsplit(given).scheme not in ("http", "https") or not urlsplit(given).hostname:
            raise UsageError(f"--endpoint {args.endpoint} is no address; http://localhost:4599 is one")
        same = address is not None and _port(address.url) == _port(given) and urlsplit(given).hostname in _LOOPBACK
        return (address.url if same and address is not None else given), address if same else None
    if address is not None:
        return address.url, address
    where = str(home.path) if home is not None else str(args.data or DEFAULT)
    if home is not None and home.in_use():
        raise UsageError(f"the `aslant dev` on {where} is not ready yet; try again in a moment")
    data = f" --data {shlex.quote(args.data)}" if args.data and args.data != DEFAULT else ""
    raise UsageError(f"no `aslant dev` is running on {where}; start one with `aslant dev{data}`, or name one with --endpoint")


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        raise UsageError(f"{url} is no address") from None


def local_user() -> str:
    """The user of this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user id without a name, as in some containers
        return "local"
