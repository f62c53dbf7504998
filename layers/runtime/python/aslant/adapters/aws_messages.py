"""Messages through SNS, SES and EventBridge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.contracts import Json
from aslant.errors import ServerError
from aslant.values import compact


@dataclass(frozen=True, slots=True)
class SnsTopics:
    region: str

    def publish(self, topic: str, subject: str, message: str) -> str:
        arguments = {"TopicArn": topic, "Message": message}
        if subject:
            arguments["Subject"] = subject
        with calling("publishing to SNS"):
            return str(client("sns", self.region).publish(**arguments)["MessageId"])


@dataclass(frozen=True, slots=True)
class SesMailer:
    region: str

    def send(self, sender: str, to: Sequence[str], subject: str, text: str) -> str:
        with calling("sending an email"):
            answer = client("sesv2", self.region).send_email(
                FromEmailAddress=sender,
                Destination={"ToAddresses": list(to)},
                Content={"Simple": {"Subject": {"Data": subject, "Charset": "UTF-8"},
                                    "Body": {"Text": {"Data": text, "Charset": "UTF-8"}}}},
            )
        return str(answer["MessageId"])


@dataclass(frozen=True, slots=True)
class EventBus:
    region: str

    def put(self, bus: str, source: str, detail_type: str, detail: Mapping[str, Json]) -> str:
        entry = {"EventBusName": bus, "Source": source, "DetailType": detail_type, "Detail": compact(dict(detail))}
        with calling("putting an event"):
            answer = client("events", self.region).put_events(Entries=[entry])
        result = answer["Entries"][0]
        if answer.get("FailedEntryCount"):
            raise ServerError(f"putting an event failed: {result.get('ErrorCode')} {result.get('ErrorMessage', '')}")
        return str(result["EventId"])
