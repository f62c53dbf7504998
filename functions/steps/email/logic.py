"""One email: checked recipients, a MIME message or a stored template, files of the bucket of artifacts."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from aslant import keys
from aslant.configs.email import Attachment, EmailConfig
from aslant.contracts import Json, StepResult
from aslant.errors import AuthorizationError, PayloadTooLarge, StepError, ValidationError
from aslant.mail_ports import AttachedFile, Envelope, Post, TemplatePost
from aslant.ports import Artifacts
from aslant.step import StepRun, result
from functions.steps.email.message import Mailbox, compose, mailbox, shown

MOST_RECIPIENTS = 50             # docs.aws.amazon.com/ses/latest/dg/quotas.html: recipients of a message
MOST_FILES = 20
MOST_BYTES = 15_000_000          # of all files; base64 makes a third more of them, and SES takes 40 MB
LONGEST_SUBJECT = 900            # characters; a line of a header has 998 at most
_TAG = re.compile(r"\s*<(?:!doctype|[a-z][a-z0-9]*)[\s/>]", re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_TEMPLATE = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_MEDIA = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}/[A-Za-z0-9][\w.+-]{0,99}\Z", re.ASCII)
_NAMES_LEFT_OUT = re.compile(r"[\x00-\x1f\x7f\"\\/:*?<>|\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class Ports:
    """Each is made only when it is needed."""

    artifacts: Callable[[], Artifacts]
    post: Callable[[], Post]
    templates: Callable[[], TemplatePost]


def send(config: EmailConfig, run: StepRun, ports: Ports) -> StepResult:
    """Sends the email; the output is `sent`, `message_id`, `by`, `to`, `cc`, `bcc`, `refused` and `attachments`.

    Everything is checked before anything is sent. Raises ValidationError for what is no address, subject or sender,
    AuthorizationError for a sender that is not permitted, NotFoundError for a file that is not there, PayloadTooLarge.
    """
    if config.smtp is not None:
        run.redactor.learn(config.smtp.password)
    sender = _sender(config, run)
    envelope = Envelope(shown(sender), *(
        [mailbox(text)[1] for text in _list(each)] for each in (config.to, config.cc, config.bcc)
    ))
    if not envelope.to:
        raise ValidationError("an email needs a recipient in `to`")
    if len(envelope.recipients) > MOST_RECIPIENTS:
        raise ValidationError(f"{len(envelope.recipients)} recipients; {MOST_RECIPIENTS} are the limit of an email")
    reply_to = [mailbox(text) for text in _list(config.reply_to)]
    subject = " ".join(_CONTROLS.sub(" ", config.subject).split())
    if len(subject) > LONGEST_SUBJECT:
        raise ValidationError(f"the subject has {len(subject)} characters; {LONGEST_SUBJECT} are the limit")
    files = list(_files(config, run, ports.artifacts))
    refused: Sequence[str] = ()
    if config.template is not None:
        if not _TEMPLATE.match(config.template):
            raise ValidationError("the template's name holds more than letters, digits, _ and -")
        named = [address for _, address in reply_to]
        identifier = ports.templates().fill(envelope, named, config.template, config.values, files)
    else:
        text, html = _bodies(config)
        message, own = compose(
            sender, [mailbox(each) for each in _list(config.to)],
            [mailbox(each) for each in _list(config.cc)], reply_to, subject, text, html, files, run.idempotency_key,
        )
        identifier, refused = ports.post().carry(envelope, message, run.remaining(60))
        identifier = identifier or own
    output: dict[str, Json] = {
        "sent": True, "message_id": identifier, "by": "smtp" if config.smtp else "ses", "to": list(envelope.to),
        "cc": list(envelope.cc), "bcc": list(envelope.bcc), "refused": list(refused),
        "attachments": [{"name": file.name, "content_type": file.content_type, "bytes": len(file.data)} for file in files],
    }
    return result(output) if config.smtp else result(output, calls=len(envelope.recipients))  # what SES counts


def _sender(config: EmailConfig, run: StepRun) -> Mailbox:
    """Who sends. SES lets the whole installation send as each of its senders; a step may only as those that are listed."""
    settings = run.settings
    text = config.sender or settings.email_from
    if not text:
        raise ValidationError("email needs a sender; ASLANT_EMAIL_FROM sets it")
    sender = mailbox(text)
    if config.sender is None or config.smtp is not None:
        return sender
    permitted = {mailbox(each)[1].lower() for each in (settings.email_from,) if each}
    permitted |= {each.lower() for each in settings.email_senders}
    address = sender[1].lower()
    if not {address, "@" + address.rpartition("@")[2]} & permitted:
        raise AuthorizationError(f"{address} is no sender of this installation; ASLANT_EMAIL_SENDERS can permit it")
    return sender


def _bodies(config: EmailConfig) -> tuple[str | None, str | None]:
    """The text and the HTML."""
    if config.html is None and config.body is not None and _TAG.match(config.body):
        return None, config.body
    return config.body, config.html


def _files(config: EmailConfig, run: StepRun, artifacts: Callable[[], Artifacts]) -> Iterator[AttachedFile]:
    given = config.attachments if isinstance(config.attachments, list) else [config.attachments]
    wanted = [each for each in given if each is not None]
    if len(wanted) > MOST_FILES:
        raise ValidationError(f"{len(wanted)} attachments; {MOST_FILES} are the limit")
    left = MOST_BYTES
    store = artifacts() if wanted else None
    for each in wanted:
        file = Attachment(artifact=each) if isinstance(each, str) else each
        inside = file.artifact.startswith(keys.artifacts(run.tenant))
        key = file.artifact if inside else keys.artifact(run.tenant, run.execution, file.artifact)
        # Redacted first: what a cleaned name has left of a secret would not be recognized.
        name = _name(run.redactor.text(file.name or file.artifact).rpartition("/")[2])
        assert store is not None
        try:
            data = store.get(run.tenant, key, left)
        except PayloadTooLarge:
            raise PayloadTooLarge(f"the attachments have more than {MOST_BYTES:,} bytes") from None
        except StepError as error:
            raise type(error)(f"attachment {name}: {error}", retry_after=error.retry_after) from None
        left -= len(data)
        yield AttachedFile(name, _content_type(file, name), data)


def _content_type(file: Attachment, name: str) -> str:
    """What is given, or what the name says; never a kind that has structure of its own in an email."""
    kind = file.content_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
    if not _MEDIA.match(kind):
        raise ValidationError(f"attachment {name}: the content type is none")
    return "application/octet-stream" if kind.lower().startswith(("multipart/", "message/")) else kind


def _name(text: str) -> str:
    """A file name without what could mislead, or end the name."""
    return _NAMES_LEFT_OUT.sub("_", text).strip(" .")[:200] or "attachment"


def _list(value: str | Sequence[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)
