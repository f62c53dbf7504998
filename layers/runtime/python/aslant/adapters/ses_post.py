"""Emails through Amazon SES (API version 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.contracts import Json
from aslant.mail_ports import AttachedFile, Envelope
from aslant.values import compact


@dataclass(frozen=True, slots=True)
class SesPost:
    region: str

    def carry(self, envelope: Envelope, message: bytes, timeout: float) -> tuple[str, Sequence[str]]:
        """SES decides on recipients later, by bounces: none is refused here."""
        return self._send(envelope, {"Raw": {"Data": message}}), ()

    def fill(
        self, envelope: Envelope, reply_to: Sequence[str], template: str, values: Mapping[str, Json],
        files: Sequence[AttachedFile],
    ) -> str:
        content: dict[str, Any] = {"TemplateName": template, "TemplateData": compact(dict(values))}
        if files:
            content["Attachments"] = [
                {"FileName": file.name, "ContentType": file.content_type, "RawContent": file.data,
                 "ContentDisposition": "ATTACHMENT", "ContentTransferEncoding": "BASE64"}
                for file in files
            ]
        return self._send(envelope, {"Template": content}, **({"ReplyToAddresses": list(reply_to)} if reply_to else {}))

    def _send(self, envelope: Envelope, content: Mapping[str, Any], **more: Any) -> str:
        named = {"ToAddresses": envelope.to, "CcAddresses": envelope.cc, "BccAddresses": envelope.bcc}
        destination = {name: list(addresses) for name, addresses in named.items() if addresses}
        with calling("sending an email"):
            answer = client("sesv2", self.region).send_email(
                FromEmailAddress=envelope.sender, Destination=destination, Content=content, **more
            )
        return str(answer["MessageId"])
