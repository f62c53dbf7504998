"""What email steps need from the outside. The other ports are in `aslant.ports`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from aslant.contracts import Json


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who an email is from and to: plain addresses, but `sender` may have a name in front."""

    sender: str
    to: Sequence[str]
    cc: Sequence[str] = ()
    bcc: Sequence[str] = ()

    @property
    def recipients(self) -> list[str]:
        """Everybody, once."""
        return list(dict.fromkeys((*self.to, *self.cc, *self.bcc)))


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that goes along with an email."""

    name: str
    content_type: str
    data: bytes


class Post(Protocol):
    def carry(self, envelope: Envelope, message: bytes, timeout: float) -> tuple[str, Sequence[str]]:
        """Hands over a MIME message: its id, and the recipients that were refused while others were not.

        Raises AuthenticationError, ValidationError (refused for good), ServerError (refused for now), NetworkError,
        StepTimeout or PayloadTooLarge.
        """


class TemplatePost(Protocol):
    def fill(
        self, envelope: Envelope, reply_to: Sequence[str], template: str, values: Mapping[str, Json],
        files: Sequence[AttachedFile],
    ) -> str:
        """The id of an email that was made of a stored template. Raises NotFoundError for a template that is not there."""
