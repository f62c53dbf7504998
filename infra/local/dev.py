"""`aslant dev`: a local cloud that stays, with everything that executions need around their state machines.

What happens to executions is kept in a journal. Those that ran when the process ended, however it ended, go on by replay
when the next one starts on the same directory.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from aslant import bootstrap, event_log, skills
from aslant.adapters import clients
from aslant.errors import StepError
from aslant.executions.records import Execution
from aslant.settings import Settings
from infra.inventory import API, NOTICES, PUBLISH_EVENTS, QUEUES, RECORD_EXECUTION, RULES
from infra.local import provision
from infra.local.cloud import LocalCloud
from infra.local.gateway import gateway
from infra.local.home import Address, Home
from infra.local.issuer import ISSUER, PATH, Issuer
from infra.local.provision import TENANT
from infra.local.runner import environment, registered_skills
from infra.local.server import Server
from infra.local.variables import variables
from infra.local.websocket import Sockets

PORT = 4599
_ACTIVE = ("running", "rolling_back", "pending")
_SETTLE = 10.0  # seconds for what was on its way to functions when the last process ended
_BEAT = 1.0     # seconds between notes of the time, where it runs faster
_CLOCK = "clock.json"
_LOG_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Continued:
    """An execution that ran when the last process ended. `problem` says why it could not go on."""

    execution: Execution
    problem: str = ""


@dataclass(slots=True)
class Dev:
    """A running `aslant dev`."""

    home: Home
    cloud: LocalCloud
    server: Server
    api: Server
    settings: Settings

    def store_secrets(self, secrets: Mapping[str, str]) -> None:
        """Puts secrets where steps look for them, over earlier ones."""
        client = self.cloud.client("secretsmanager")
        known = self.secrets()
        for name, value in secrets.items():
            full = f"{self.settings.secret_prefix}{TENANT}/{name}"
            if name in known:
                client.put_secret_value(SecretId=full, SecretString=value)
            else:
                client.create_secret(Name=full, SecretString=value)

    def secrets(self) -> set[str]:
        """Names of the secrets that steps find."""
        prefix = f"{self.settings.secret_prefix}{TENANT}/"
        pages = self.cloud.client("secretsmanager").get_paginator("list_secrets").paginate()
        names = {str(row["Name"]) for page in pages for row in page["SecretList"]}
        return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}

    def workflows(self) -> list[tuple[str, str]]:
        """Published workflows with their versions, by id."""
        pages = self.cloud.client("dynamodb").get_paginator("scan").paginate(
            TableName=self.settings.catalog_table, FilterExpression="sk = :kind AND attribute_exists(published)",
            ExpressionAttributeValues={":kind": {"S": "workflow"}},
        )  # fmt: skip
        return sorted((row["workflow"]["S"], row["published"]["S"]) for page in pages for row in page["Items"])

    def go_on(self) -> list[Continued]:
        """Lets executions go on that ran when the last process ended; children go on with their parents."""
        self.cloud.settle(_SETTLE)  # the last process may have ended before it told of an end
        executions = bootstrap.executions(self.settings)
        found: list[Continued] = []
        for execution in _active(self.settings):
            try:
                after = executions.reconcile(execution.tenant, execution.id)
            except StepError as error:
                found.append(Continued(execution, f"{type(error).__name__}: {error}"))
                continue
            if execution.parent is None and after.status in _ACTIVE:
                found.append(Continued(after))
        for arn in self.cloud.lost():
            self.cloud.recovered(arn)
        return found

    def announce(self) -> None:
        """Lets commands find it."""
        self.home.announce(Address(
            f"http://127.0.0.1:{self.server.port}", os.getpid(), self.settings.region, self.cloud.clock.scale,
            self.cloud.clock.now().timestamp(), time.time(), skills.specifications(),
        ))  # fmt: skip


@contextmanager
def dev(
    home: Home, *, port: int = PORT, api_port: int | None = None, time_scale: float = 1.0,
    skill_modules: Sequence[str] = (), simulate: bool = False,
) -> Iterator[Dev]:
    """A running one, until it is left. The API's port is the next one where none is given; 0 is any free one, for both then.

    Raises home.InUse and home.Unusable, server.PortTaken, journal.JournalError, and ValidationError for skills that cannot
    be loaded.
    """
    with ExitStack() as stack:
        stack.enter_context(home.taken())
        stack.enter_context(_without_endpoints())
        stack.enter_context(_logged(home))
        stack.enter_context(registered_skills(skill_modules))
        beat = home.path / _CLOCK
        cloud = stack.enter_context(LocalCloud(
            time_scale=time_scale, environment=environment(simulate), journal=home.journal, not_before=_reached(beat),
        ))  # fmt: skip
        clients.forget()  # those made outside would talk to AWS
        stack.callback(clients.forget)
        settings = Settings.read()
        provision.create_store(cloud, settings)
        _free_leases(cloud, settings)
        _connect(cloud, settings, warm=time_scale > 1)
        server = stack.enter_context(Server(port))
        issuer = Issuer(home.path)
        api_at = port and port + 1 if api_port is None else api_port
        sockets = Sockets(cloud.functions, event_log.STREAM)
        api = stack.enter_context(Server(api_at, gateway(cloud.functions, API, issuer.keys, sockets)))
        stack.callback(sockets.close)
        stack.enter_context(variables({
            "ASLANT_TOKEN_ISSUER": ISSUER, "ASLANT_TOKEN_KEYS": api.url + PATH,
            "ASLANT_STREAM_URL": f"http://127.0.0.1:{api.port}",
            "ASLANT_PUBLIC_URL": os.environ.get("ASLANT_PUBLIC_URL") or api.url,
        }))  # fmt: skip
        stack.callback(home.withdraw)
        stack.enter_context(_beating(cloud, beat))
        yield Dev(home, cloud, server, api, settings)


def _connect(cloud: LocalCloud, settings: Settings, *, warm: bool) -> None:
    """Functions, what calls them, and where messages go."""
    provision.register_everything(cloud, lambda handler: handler, warm=warm)
    events = cloud.client("events")
    if settings.event_bus != "default":
        with contextlib.suppress(events.exceptions.ResourceAlreadyExistsException):
            events.create_event_bus(Name=settings.event_bus)
    for rule in RULES:
        cloud.rule(rule.name, rule.pattern, rule.function, bus=settings.event_bus)
    cloud.rule("aslant-executions", NOTICES, RECORD_EXECUTION)
    for queue in QUEUES:
        cloud.queue(queue.name, queue.function, dead=queue.dead, receives=queue.receives)
        for name, pattern in queue.rules.items():
            cloud.rule(name, pattern, queue.name, bus=settings.event_bus, service="sqs")
    for table in (settings.executions_table, settings.catalog_table):
        cloud.stream(table, PUBLISH_EVENTS)
    if settings.notify_topic == provision.NOTIFY_TOPIC:
        cloud.client("sns").create_topic(Name=provision.NOTIFY_TOPIC.rpartition(":")[2])
    if settings.email_from:
        cloud.client("ses").verify_email_identity(EmailAddress=settings.email_from)


def _active(settings: Settings) -> list[Execution]:
    """Everything that the records show as going on, parents before their children."""
    executions = bootstrap.executions(settings)
    found: list[Execution] = []
    for status in _ACTIVE:
        cursor: str | None = None
        while True:
            page = executions.list(TENANT, status=status, limit=1000, cursor=cursor)
            found += page.items
            if (cursor := page.next) is None:
                break
    return sorted(found, key=lambda one: (one.parent is not None, one.started_at))


def _free_leases(cloud: LocalCloud, settings: Settings) -> None:
    """Ends the leases of steps: whoever held one ended with the last process."""
    dynamodb: Any = cloud.client("dynamodb")
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=settings.executions_table, FilterExpression="begins_with(sk, :step) AND attribute_exists(lease_until)",
        ProjectionExpression="pk, sk", ExpressionAttributeValues={":step": {"S": "step#"}},
    )  # fmt: skip
    for key in [row for page in pages for row in page["Items"]]:
        dynamodb.update_item(
            TableName=settings.executions_table, Key=key, UpdateExpression="SET lease_until = :over",
            ExpressionAttributeValues={":over": {"N": "0"}},
        )  # fmt: skip


@contextmanager
def _logged(home: Home) -> Iterator[None]:
    """Inside, what functions log goes to a file."""
    os.close(os.open(home.log, os.O_CREAT | os.O_WRONLY, 0o600))
    logger = logging.getLogger("aslant")
    handler = RotatingFileHandler(home.log, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()


@contextmanager
def _without_endpoints() -> Iterator[None]:
    """Inside, no variable sends clients elsewhere: not to the address of an earlier `aslant dev`, for one."""
    names = [name for name in os.environ if name.startswith("AWS_ENDPOINT_URL") or name == "AWS_PROFILE"]
    kept = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(kept)


def _reached(path: Path) -> datetime | None:
    """The time that the last process had come to, if its time ran faster."""
    try:
        return datetime.fromtimestamp(float(json.loads(path.read_text(encoding="ascii"))), UTC)
    except (OSError, ValueError, TypeError, OverflowError):
        return None


@contextmanager
def _beating(cloud: LocalCloud, path: Path) -> Iterator[None]:
    """Notes the time from time to time, a little ahead, so that the next process does not go back in it."""
    if cloud.clock.scale == 1 and not path.exists():
        yield
        return
    over = threading.Event()

    def beat() -> None:
        while True:
            ahead = 2 * _BEAT * cloud.clock.scale
            with contextlib.suppress(OSError):
                beside = path.with_suffix(".new")
                beside.write_text(json.dumps(cloud.clock.now().timestamp() + ahead), encoding="ascii")
                beside.replace(path)
            if over.wait(_BEAT):
                return

    thread = threading.Thread(target=beat, daemon=True, name="aslant-beat")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(1)
