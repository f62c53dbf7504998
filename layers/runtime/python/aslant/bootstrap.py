"""The composition root: the one place that connects ports with adapters.

Each function gives the adapter of a port for some settings. Adapters are imported here, when they are needed.
"""

from __future__ import annotations

from aslant import ports
from aslant.settings import Settings


def secrets(settings: Settings) -> ports.Secrets:
    from aslant.adapters.aws_secrets import AwsSecrets

    return AwsSecrets(settings.region, settings.secret_prefix)


def http(settings: Settings) -> ports.Http:
    from aslant.adapters.guarded_http import GuardedHttp

    return GuardedHttp(settings.http_allow)


def functions(settings: Settings) -> ports.Functions:
    from aslant.adapters.aws_lambda import AwsLambda

    return AwsLambda(settings.region)
