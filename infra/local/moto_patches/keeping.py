"""What the journal keeps of the services: written after each change, and put back into moto when a cloud starts."""

from __future__ import annotations

import base64
import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from infra.local.functions import ACCOUNT
from infra.local.moto_patches.registry import patch
from infra.local.runtime import current

if TYPE_CHECKING:
    from infra.local.journal import Journal

_READS = ("Get", "List", "Describe", "Batch", "Encrypt", "Decrypt", "Generate", "ReEncrypt", "Verify", "Sign")
_PLAIN = (str, int, float, bool, bytes, type(None), list, dict)
_snapshot = threading.Lock()


def _journal() -> Journal | None:
    return current().journal


def _kept(target: str, kept: Callable[[Journal, Any, dict[str, Any], Any], None]) -> None:
    """Lets `kept(journal, self, arguments, result)` follow each call of a method of a backend."""

    def follow(original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            if (journal := _journal()) is not None:
                bound = signature.bind(self, *args, **kwargs)
                kept(journal, self, dict(bound.arguments), result)
            return result

        return call

    patch(target, gap="nothing outlives the process", fingerprint=_FINGERPRINTS[target], wraps=True)(follow)


def _plain(value: Any) -> dict[str, Any]:
    return {name: part for name, part in vars(value).items() if isinstance(part, _PLAIN)}


def _table(journal: Journal, backend: Any, given: dict[str, Any], table: Any) -> None:
    journal.keep("table", table.name, {name: value for name, value in given.items() if name != "self"})


def _no_table(journal: Journal, backend: Any, given: dict[str, Any], table: Any) -> None:
    journal.drop("table", table.name)
    journal.drop_items(table.name)


def _machine(journal: Journal, backend: Any, given: dict[str, Any], machine: Any) -> None:
    arn = given.get("arn")
    found = next((each for each in backend.state_machines if each.arn == arn), machine)
    kept = {"name": found.name, "definition": found.definition, "roleArn": found.roleArn, "sm_type": str(found.sm_type)}
    journal.keep("machine", found.arn, kept)


def _object(journal: Journal, backend: Any, given: dict[str, Any], key: Any) -> None:
    journal.keep_object(key.bucket_name, key.name, key.value)


def _metadata(journal: Journal, key: Any, given: dict[str, Any], result: Any) -> None:
    if key.bucket_name:
        journal.describe_object(key.bucket_name, key.name, key.metadata)


_TABLES = "moto.dynamodb.models:DynamoDBBackend."
_S3 = "moto.s3.models:S3Backend."
_MACHINES = "moto.stepfunctions."
_FINGERPRINTS = {
    _TABLES + "create_table": "2bb8105ad9fa",
    _TABLES + "delete_table": "bab269fa8eff",
    _MACHINES + "parser.models:StepFunctionsParserBackend.create_state_machine": "dc56ec54216f",
    _MACHINES + "parser.models:StepFunctionsParserBackend.update_state_machine": "03b6b2ec8ffd",
    _MACHINES + "models:StepFunctionBackend.delete_state_machine": "3181befe1f47",
    _S3 + "create_bucket": "f7ecc576c5d2",
    _S3 + "delete_bucket": "5507210f9b04",
    _S3 + "put_object": "db803f2da9d7",
    _S3 + "delete_object": "5c1677b52971",
    "moto.s3.models:FakeKey.set_metadata": "2e0d9b90a6e6",
}

_kept(_TABLES + "create_table", _table)
_kept(_TABLES + "delete_table", _no_table)
_kept(_MACHINES + "parser.models:StepFunctionsParserBackend.create_state_machine", _machine)
_kept(_MACHINES + "parser.models:StepFunctionsParserBackend.update_state_machine", _machine)
_kept(
    _MACHINES + "models:StepFunctionBackend.delete_state_machine",
    lambda journal, backend, given, result: journal.drop("machine", given["arn"]),
)
_kept(_S3 + "create_bucket", lambda journal, backend, given, bucket: journal.keep("bucket", given["bucket_name"], {}))
_kept(_S3 + "delete_bucket", lambda journal, backend, given, bucket: journal.drop("bucket", given["bucket_name"]))
_kept(_S3 + "put_object", _object)
_kept(
    _S3 + "delete_object",
    lambda journal, backend, given, result: journal.drop_object(given["bucket_name"], given["key_name"]),
)
_kept("moto.s3.models:FakeKey.set_metadata", _metadata)


def _after_call(kind: str, values: Callable[[], dict[str, Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keeps everything of a small service after each call that may have changed it."""

    def follow(original: Callable[..., Any]) -> Callable[..., Any]:
        def call_action(self: Any) -> Any:
            try:
                return original(self)
            finally:
                if (journal := _journal()) is not None and not self._get_action().startswith(_READS):
                    with _snapshot:
                        now = values()
                        before = dict(journal.kept(kind))
                        for name in before.keys() - now.keys():
                            journal.drop(kind, name)
                        for name, value in now.items():
                            if before.get(name) != value:
                                journal.keep(kind, name, value)

        return call_action

    return follow


def _keys() -> dict[str, Any]:
    from moto.kms.models import kms_backends

    keys = kms_backends[ACCOUNT][current().region].keys
    return {name: {**_plain(key), "grants": {}, "aliases": sorted(key.aliases)} for name, key in keys.items()}


def _secrets() -> dict[str, Any]:
    from moto.secretsmanager.models import secretsmanager_backends

    secrets = secretsmanager_backends[ACCOUNT][current().region].secrets
    return {secret.name: _plain(secret) for secret in dict.values(secrets)}


patch(
    "moto.kms.responses:KmsResponse.call_action", gap="nothing outlives the process", fingerprint="26076963fd17", wraps=True
)(_after_call("key", _keys))
patch(
    "moto.secretsmanager.responses:SecretsManagerResponse.call_action", gap="nothing outlives the process",
    fingerprint="26076963fd17", wraps=True,
)(_after_call("secret", _secrets))  # fmt: skip


def load(journal: Journal, region: str) -> list[Any]:
    """Puts everything into moto's backends; the schedules, which are to be fired."""
    _load_tables(journal, region)
    _load_objects(journal, region)
    _load_secrets(journal, region)
    from moto.scheduler.models import scheduler_backends
    from moto.stepfunctions.parser.models import stepfunctions_parser_backends

    machines: Any = stepfunctions_parser_backends[ACCOUNT][region]
    for _, machine in journal.kept("machine"):
        machines.create_state_machine(**machine)
    scheduler: Any = scheduler_backends[ACCOUNT][region]
    schedules = []
    for _, values in journal.kept("schedule"):
        names = ("description", "end_date", "flexible_time_window", "group_name", "kms_key_arn", "name",
                 "schedule_expression", "schedule_expression_timezone", "start_date", "state", "target",
                 "action_after_completion")  # fmt: skip
        if values["group_name"] not in scheduler.schedule_groups:
            scheduler.create_schedule_group(values["group_name"], [])
        schedule = scheduler.create_schedule(**{name: values[name] for name in names})
        vars(schedule).update(values)
        schedules.append(schedule)
    return schedules


def _load_tables(journal: Journal, region: str) -> None:
    from moto.dynamodb.models import dynamodb_backends

    backend: Any = dynamodb_backends[ACCOUNT][region]
    for name, arguments in journal.kept("table"):
        table = backend.create_table(**arguments)
        for item in journal.items(name):
            table.put_item({column: _attribute(value) for column, value in item.items()}, overwrite=True)


def _attribute(value: dict[str, Any]) -> dict[str, Any]:
    """An attribute from the journal with its bytes as bytes."""
    kind, content = next(iter(value.items()))
    if kind == "B":
        return {kind: base64.b64decode(content)}
    if kind == "BS":
        return {kind: [base64.b64decode(each) for each in content]}
    if kind == "M":
        return {kind: {name: _attribute(part) for name, part in content.items()}}
    return {kind: [_attribute(part) for part in content]} if kind == "L" else value


def _load_objects(journal: Journal, region: str) -> None:
    buckets = journal.kept("bucket")
    if not buckets:
        return
    from moto.s3.models import s3_backends

    backend: Any = s3_backends[ACCOUNT]["aws"]
    for name, _ in buckets:
        backend.create_bucket(name, region)
    for bucket, name, body, meta in journal.objects():
        key = backend.put_object(bucket, name, body, disable_notification=True)
        key.set_metadata(meta)


def _load_secrets(journal: Journal, region: str) -> None:
    if keys := journal.kept("key"):
        from moto.kms.models import kms_backends

        kms: Any = kms_backends[ACCOUNT][region]
        for name, values in keys:
            key = kms.create_key("", "", "SYMMETRIC_DEFAULT", "", None)
            del kms.keys[key.id]
            vars(key).update({field: value for field, value in values.items() if field != "aliases"})
            kms.keys[name] = key
            for alias in values["aliases"]:
                kms.create_alias(name, alias)
    if secrets := journal.kept("secret"):
        from moto.secretsmanager.models import FakeSecret, secretsmanager_backends

        backend: Any = secretsmanager_backends[ACCOUNT][region]
        for name, values in secrets:
            secret: Any = FakeSecret(ACCOUNT, region, name, {}, "")
            vars(secret).update(values)
            backend.secrets[name] = secret
