"""The Lambda functions and their layers."""

from __future__ import annotations

from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from aslant.installation import NAME
from infra.assets import RUNTIME, Layer, runtime_exclude
from infra.constructs.confined import confine
from infra.constructs.estate import Engine, Store
from infra.constructs.function import StepOrService
from infra.constructs.identity import Identity
from infra.constructs.nag import DEAD_LETTERS, accept
from infra.constructs.rights import statements
from infra.inventory import FUNCTIONS, Packages, Places, Right, environment
from infra.settings import StageSettings


class FunctionsStack(Stack):
    """`functions` by name; `dead_letters` has what asynchronous calls failed at. `layers=False`: empty ones."""

    def __init__(
        self, scope: Construct, id: str, *, settings: StageSettings, store: Store, engine: Engine, identity: Identity,
        layers: bool = True, **stack: Any,
    ) -> None:
        super().__init__(scope, id, **stack)
        runtime = _layer(self, "Runtime", lambda_.Code.from_asset(str(RUNTIME), exclude=[*runtime_exclude()]))
        packages = {each: _layer(self, each.title(), _code(Layer(each), layers)) for each in Packages}
        self.dead_letters = sqs.Queue(
            self, "DeadLetters", retention_period=Duration.days(14), enforce_ssl=True, encryption=sqs.QueueEncryption.KMS,
            encryption_master_key=store.key,
        )  # fmt: skip
        accept(self.dead_letters, DEAD_LETTERS)
        variables = environment(Places(
            executions_table=store.executions.table_name, catalog_table=store.catalog.table_name,
            events_table=store.events.table_name, connections_table=store.connections.table_name,
            bucket=store.bucket.bucket_name, key=store.key.key_arn, event_bus=engine.bus_name,
            scheduler_role=engine.scheduler_role.role_arn, machine_role=engine.machine_role.role_name,
            notify_topic=store.topic.topic_arn, token_issuer=identity.issuer, token_audience=identity.audience,
            stream_url=engine.sockets_url, token_keys=identity.keys_url, email_from=settings.email_from,
            public_url=f"https://{settings.domain}" if settings.domain else "", database_allow=settings.database_allow,
            name="" if settings.name == NAME else settings.name,
        ))  # fmt: skip
        self.functions: dict[str, lambda_.Function] = {}
        confined: list[StepOrService] = []
        for name, spec in FUNCTIONS.items():
            made = StepOrService(
                self, _id(name), spec=spec, statements=statements(spec.rights, self, store, engine, settings),
                layers=[runtime, *(packages[each] for each in spec.packages)], environment=variables, settings=settings,
                dead_letters=self.dead_letters,
                image=settings.scrape_image if name == "aslant-scrape" else "", tag=settings.scrape_tag,
            )  # fmt: skip
            self.functions[name] = made.function
            if Right.CONFINE in spec.rights:
                confined.append(made)
        confine(self, "TenantData", store, confined)


def _layer(stack: Stack, id: str, code: lambda_.Code) -> lambda_.LayerVersion:
    return lambda_.LayerVersion(
        stack, f"{id}Layer", code=code, compatible_architectures=[lambda_.Architecture.ARM_64],
        compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
    )  # fmt: skip


def _code(layer: Layer, build: bool) -> lambda_.Code:
    """The hash is that of its contents' description, so a template is the same wherever it was made."""
    return lambda_.Code.from_asset(str(layer.build() if build else layer.empty()), asset_hash=layer.hash)


def _id(name: str) -> str:
    return "".join(part.title() for part in name.removeprefix("aslant-").split("-"))
