"""The composition root: the one place that connects ports with adapters.

Each function gives the adapter of a port for some settings. Adapters are imported here, when they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aslant import ports
from aslant.settings import Settings

if TYPE_CHECKING:
    from aslant.approvals import Approvals


def secrets(settings: Settings) -> ports.Secrets:
    from aslant.adapters.aws_secrets import AwsSecrets

    return AwsSecrets(settings.region, settings.secret_prefix)


def http(settings: Settings) -> ports.Http:
    from aslant.adapters.guarded_http import GuardedHttp

    return GuardedHttp(settings.http_allow)


def functions(settings: Settings) -> ports.Functions:
    from aslant.adapters.aws_lambda import AwsLambda

    return AwsLambda(settings.region)


def models(settings: Settings, output_format: str) -> ports.Models:
    """Bedrock; the offline model where ASLANT_MODEL=offline."""
    from aslant.adapters.bedrock import Bedrock
    from aslant.adapters.offline_model import NAME, OfflineModel

    return OfflineModel(output_format) if settings.model == NAME else Bedrock(settings.region)


def topics(settings: Settings) -> ports.Topics:
    from aslant.adapters.aws_messages import SnsTopics

    return SnsTopics(settings.region)


def mailer(settings: Settings) -> ports.Mailer:
    from aslant.adapters.aws_messages import SesMailer

    return SesMailer(settings.region)


def events(settings: Settings) -> ports.Events:
    from aslant.adapters.aws_messages import EventBus

    return EventBus(settings.region)


def approvals(settings: Settings) -> Approvals:
    """Requests in the executions table, answers to the state machines of this account."""
    from aslant.adapters.aws_approvals import DynamoApprovals, StepFunctionsCallbacks
    from aslant.approvals import Approvals

    return Approvals(DynamoApprovals(settings.region, settings.executions_table), StepFunctionsCallbacks(settings.region))


def timers(settings: Settings) -> ports.Timers:
    from aslant.adapters.aws_scheduler import SchedulerTimers

    return SchedulerTimers(settings.region, settings.scheduler_role)


def artifacts(settings: Settings) -> ports.Artifacts:
    from aslant.adapters.s3_artifacts import S3Artifacts

    return S3Artifacts(settings.region, settings.bucket)


def steps(settings: Settings) -> ports.StepStore:
    """Step records in the executions table, large outputs in the bucket."""
    from aslant.adapters.dynamo_steps import DynamoSteps

    return DynamoSteps(settings.region, settings.executions_table, artifacts(settings))
