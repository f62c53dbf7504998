"""A message over one or several channels: SNS, Slack, a webhook, email, an event."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from aslant.configs.notify import NotifyConfig
from aslant.contracts import Json
from aslant.errors import StepError, ValidationError, http_error, retry_after
from aslant.events import SOURCE
from aslant.http_ports import Http, HttpRequest
from aslant.ports import Events, Mailer, Topics
from aslant.secrets import Redactor
from aslant.settings import Settings
from aslant.values import compact, render

_PATH = re.compile(r"[/?#\\]")
_ADDRESS = re.compile(r"[^\s@<>,;\"]+@[^\s@<>,;\"]+\Z")
_ANSWER = 10_000  # bytes of a webhook's answer that are read
_SUBJECT = 100    # characters that SNS takes


@dataclass(frozen=True, slots=True)
class Ports:
    """Each is made only when a message goes that way."""

    topics: Callable[[], Topics]
    mailer: Callable[[], Mailer]
    events: Callable[[], Events]
    http: Callable[[], Http]


class Sender(Protocol):
    """Who sends: a step that runs, or an approval."""

    @property
    def settings(self) -> Settings: ...
    @property
    def tenant(self) -> str: ...
    @property
    def execution(self) -> str: ...
    @property
    def workflow(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def idempotency_key(self) -> str: ...
    @property
    def redactor(self) -> Redactor: ...
    def remaining(self, limit: float | None = None) -> float: ...


def send(config: NotifyConfig, run: Sender, ports: Ports) -> list[Json]:
    """Sends the message over every channel; what was sent (channel, to, id), in the order of the configuration.

    Everything is checked before anything is sent. When one channel fails the others are still tried, and then the first
    error is raised with a message that says what was sent.
    """
    jobs = [job for channel in _list(config.channel) for job in _jobs(channel, config, run, ports)]
    if not jobs:
        raise ValidationError("the notification has no recipient")
    sent: list[Json] = []
    failures: list[tuple[str, StepError]] = []
    for channel, recipient, deliver in jobs:
        try:
            sent.append({"channel": channel, "to": recipient, "id": deliver()})
        except StepError as error:
            failures.append((f"{channel} to {recipient}", error))
    if failures:
        where, first = failures[0]
        done = f"; sent: {', '.join(entry['channel'] for entry in sent)}" if sent else ""
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise type(first)(f"{where}: {first}{more}{done}", retry_after=first.retry_after)
    return sent


Job = tuple[str, str, Callable[[], str]]


def _jobs(channel: str, config: NotifyConfig, run: Sender, ports: Ports) -> list[Job]:
    settings = run.settings
    text = render(config.message)
    if channel == "sns":
        topic = config.topic or settings.notify_topic
        if not topic:
            raise ValidationError("sns needs a `topic`")
        if not text:
            raise ValidationError("sns needs a `message`")  # it takes no empty one; the local cloud would
        return [("sns", topic, lambda: ports.topics().publish(topic, _subject(config.subject), text))]
    if channel == "email":
        return _emails(config, text, settings.email_from, ports)
    if channel == "event":
        if config.source == SOURCE:
            raise ValidationError(f"the source {SOURCE} is that of the installation's own events; give another one")
        # `tenant_id` is what triggers go by; `execution_id` says what a chain of executions began with.
        detail = {"message": config.message, "data": config.data, "execution": run.execution, "workflow": run.workflow,
                  "step": run.label, "tenant_id": run.tenant, "execution_id": run.execution}
        return [("event", settings.event_bus,
                 lambda: ports.events().put(settings.event_bus, config.source, config.event_type, detail))]
    if channel == "slack":
        urls = _list(config.url) or ([settings.slack_webhook] if settings.slack_webhook else [])
        body: dict[str, Json] = {"text": f"*{config.subject}*\n{text}" if config.subject else text}
        names = _list(config.to)
        bodies = [{**body, "channel": name} for name in names] or [body]
        return [_post("slack", url, each, config, run, ports, number)
                for url in _needed(urls, "slack") for number, each in enumerate(bodies)]
    payload = {"message": config.message, "subject": config.subject, "data": config.data, "execution": run.execution,
               "workflow": run.workflow, "step": run.label}
    return [_post("webhook", url, payload, config, run, ports, 0) for url in _needed(_list(config.url), "webhook")]


def _emails(config: NotifyConfig, text: str, sender: str, ports: Ports) -> list[Job]:
    if not sender:
        raise ValidationError("email needs a sender; ASLANT_EMAIL_FROM sets it")
    recipients = _list(config.to)
    wrong = next((each for each in recipients if not _ADDRESS.match(each)), None)
    if wrong is not None or not recipients:
        raise ValidationError(f"{wrong!r} is not an email address" if wrong else "email needs a `to`")
    subject = _subject(config.subject) or "Notification"
    return [("email", ", ".join(recipients), lambda: ports.mailer().send(sender, recipients, subject, text))]


def _post(
    channel: str, url: str, body: dict[str, Json], config: NotifyConfig, run: Sender, ports: Ports, number: int
) -> Job:
    headers = {"Content-Type": "application/json", "User-Agent": "aslant",
               "Idempotency-Key": f"{run.idempotency_key}-{channel}-{number}"}
    headers.update({name: render(value) for name, value in config.headers.items() if value is not None})
    if any(character in name + value for name, value in headers.items() for character in "\r\n\0"):
        raise ValidationError("a header holds a line break")

    def deliver() -> str:
        data = compact(body).encode("utf-8", "surrogatepass")
        response = ports.http().send(HttpRequest("POST", url, headers, data, run.remaining(config.timeout), _ANSWER))
        if response.status // 100 != 2:
            raise http_error(response.status, f"answered {response.status}",
                retry_after=retry_after(response.headers.get("retry-after"), time.time()))
        return ""

    # A webhook's address is a credential: only its host is shown, here and in what the client says.
    host, rest = _PATH.split(url.partition("://")[2], maxsplit=1)[0], url.partition("://")[2]
    run.redactor.learn(rest[len(host):].strip("/"), shortest=8)
    return channel, host.rpartition("@")[2], deliver


def _needed(urls: list[str], channel: str) -> list[str]:
    if not urls:
        raise ValidationError(f"{channel} needs a `url`")
    return urls


def _list(value: str | Sequence[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _subject(text: str) -> str:
    """One line of at most 100 characters, as SNS and email headers need it."""
    return " ".join(text.split())[:_SUBJECT]
