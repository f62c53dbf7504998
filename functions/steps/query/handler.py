"""The Lambda function of query steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.query import QueryConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.query import logic


@step("query", QueryConfig)
def handler(config: QueryConfig, run: StepRun) -> StepResult:
    settings = run.settings
    return logic.call(config, run, logic.Ports(
        secrets=lambda: bootstrap.secrets(settings), server=lambda where: bootstrap.database(settings, where),
        data_api=lambda kind, resource, secret, name: bootstrap.data_api(settings, kind, resource, secret, name, run.tenant),
        dynamodb=lambda: bootstrap.partiql(settings, run.tenant),
        athena=lambda workgroup, catalog, name: bootstrap.athena(settings, workgroup, catalog, name, run.tenant),
    ))
