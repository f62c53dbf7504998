"""Addresses of emails, and their text: MIME by the standard library, headers by rules of our own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aslant.errors import ValidationError
from aslant.mail_ports import AttachedFile

Mailbox = tuple[str, str]  # a name, which may be empty, and a plain address

_LONGEST = 254  # characters of an address (RFC 5321, 4.5.3.1.3, without its brackets)
_LONGEST_NAMED = 1000  # with a name and spaces around it
_NAMED = re.compile(r"\s*(?P<name>[^<>@,;:\x00-\x1f\x7f\u2028\u2029]{0,100}?)\s*<(?P<address>[^<>\s]+)>\s*\Z")
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z")  # a dot-atom of RFC 5322
_DOMAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\Z")


def mailbox(text: str) -> Mailbox:
    """`ada@example.com` or `Ada <ada@example.com>`, taken apart. Raises ValidationError for anything else."""
    if len(text) > _LONGEST_NAMED:
        raise ValidationError(f"a text of {len(text):,} characters is not an email address")
    named = _NAMED.match(text)
    name, address = (named["name"].strip('" '), named["address"]) if named else ("", text)
    local, _, domain = address.rpartition("@")
    if not domain.isascii():
        try:
            domain = domain.encode("idna").decode()
        except UnicodeError:
            domain = ""
    address = f"{local}@{domain}"
    if len(local) > 64 or len(address) > _LONGEST or not _LOCAL.match(local) or not _DOMAIN.match(domain):
        raise ValidationError(f"{' '.join(text.split())[:100]!r} is not an email address")
    return name, address


def shown(mailbox: Mailbox) -> str:
    """A mailbox as a header has it."""
    from email.utils import formataddr

    return formataddr(mailbox)


def compose(
    sender: Mailbox, to: Sequence[Mailbox], cc: Sequence[Mailbox], reply_to: Sequence[Mailbox], subject: str,
    text: str | None, html: str | None, files: Sequence[AttachedFile], key: str,
) -> tuple[bytes, str]:
    """A message of 7-bit lines that end in CRLF, and its id, which is the same for the same `key`.

    Who gets a blind copy is not in it. Headers that hold a text of somebody's are written here, not by `EmailMessage`: that
    one decodes what looks like an encoded word (RFC 2047) before it writes it, line breaks included.
    """
    from email.message import EmailMessage
    from email.policy import SMTP
    from email.utils import format_datetime, localtime

    identifier = f"<{key}@{sender[1].rpartition('@')[2]}>"
    head = [("From", shown(sender)), ("To", _joined(to)), ("Cc", _joined(cc)), ("Reply-To", _joined(reply_to)),
            ("Subject", _encoded(subject)), ("Date", format_datetime(localtime())), ("Message-ID", identifier),
            ("Auto-Submitted", "auto-generated")]  # RFC 3834: nobody's vacation notice answers it
    content = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
    if text is not None:
        content.set_content(text)
        if html is not None:
            content.add_alternative(html, subtype="html")
    else:
        content.set_content(html or "", subtype="html")
    for file in files:
        main, sub = file.content_type.split("/")
        content.add_attachment(file.data, maintype=main, subtype=sub, filename=file.name)
    lines = "".join(f"{name}: {value}\r\n" for name, value in head if value)
    return lines.encode("ascii") + content.as_bytes(), identifier


def _joined(mailboxes: Sequence[Mailbox]) -> str:
    return ",\r\n ".join(map(shown, mailboxes))


def _encoded(subject: str) -> str:
    """A subject as it is when it is plain, else in encoded words."""
    from email.header import Header

    folds = all(len(word) < 60 for word in subject.split())
    plain = folds and subject.isascii() and subject.isprintable() and "=?" not in subject
    return Header(subject, "us-ascii" if plain else "utf-8", header_name="Subject").encode(linesep="\r\n")
