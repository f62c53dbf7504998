"""State machines and the catalog on AWS, by moto."""

from __future__ import annotations

import json

import pytest

from aslant import keys
from aslant.errors import ConflictError, NotFoundError, ValidationError
from tests.unit.executions.memory import facts, release

REGION = "us-east-1"


@pytest.fixture
def machines(shared_aws):
    from aslant.adapters.aws_machines import StepFunctionsMachines

    return StepFunctionsMachines(REGION)


@pytest.fixture
def machine(shared_aws, request):
    from aslant.adapters.clients import client

    definition = {"StartAt": "a", "States": {"a": {"Type": "Pass", "End": True}}}
    answer = client("stepfunctions", REGION).create_state_machine(
        name=f"m{abs(hash(request.node.name))}", definition=json.dumps(definition), roleArn="arn:aws:iam::123456789012:role/r"
    )
    return answer["stateMachineArn"]


def test_a_start_is_the_same_however_often(machines, machine):
    from aslant.executions.naming import arn_of

    arn = machines.start(machine, "x", {"n": 1})
    assert arn == arn_of(machine, "x")
    assert machines.start(machine, "x", {"n": 1}) == arn
    with pytest.raises(ConflictError):
        machines.start(machine, "x", {"n": 2})
    machines.stop(arn, "Paused", "lunch")
    assert machines.start(machine, "x", {"n": 1}) == arn
    assert json.loads(machines.describe(arn)["input"]) == {"n": 1}


def test_stopping_twice_and_what_is_not_there(machines, machine):
    arn = machines.start(machine, "x", {})
    machines.stop(arn, "E" * 300, "c" * 40_000)
    machines.stop(arn, "Paused", "")
    assert machines.describe(arn)["status"] == "ABORTED"
    for call in (
        lambda: machines.stop(f"{arn}-no", "E", "c"), lambda: machines.describe(f"{arn}-no"),
        lambda: list(machines.history(f"{arn}-no")), lambda: machines.start(f"{machine}-no", "x", {}),
    ):
        with pytest.raises(NotFoundError):
            call()


@pytest.fixture
def catalog(shared_aws, request):
    from aslant.adapters.clients import client
    from aslant.adapters.dynamo_catalog import DynamoCatalog

    table = f"catalog-{abs(hash(request.node.name))}"
    client("dynamodb", REGION).create_table(**keys.catalog_table(table))
    return DynamoCatalog(REGION, table)


def test_versions_and_the_published_one(catalog):
    one, two = release(version="1.0.0", inputs={"n": {"type": "integer"}}), release({"z": facts()}, version="1.10.0")
    two["machine"] += "-two"
    catalog.put("acme", one)
    assert catalog.get("acme", "flow") == one
    catalog.put("acme", two)
    assert (catalog.get("acme", "flow"), catalog.get("acme", "flow", "1.0.0")) == (two, one)
    catalog.put("acme", one)
    assert catalog.get("acme", "flow") == one
    assert catalog.of_machine("acme", two["machine"]) == two
    for call in (
        lambda: catalog.get("acme", "flow", "2.0.0"), lambda: catalog.get("acme", "flo"), lambda: catalog.get("other", "flow"),
        lambda: catalog.get("acme#workflow#flow", ""), lambda: catalog.of_machine("other", two["machine"]),
    ):
        with pytest.raises(NotFoundError):
            call()


def test_a_release_of_many_steps(catalog):
    large = release({f"a step with a rather long name, number {number}": facts(hash=f"{number:064x}") for number in range(3000)})
    catalog.put("acme", large)
    assert catalog.get("acme", "flow") == large


def test_a_release_that_no_item_can_hold(catalog):
    import hashlib

    huge = release({hashlib.sha512(str(number).encode()).hexdigest(): facts() for number in range(6000)})
    with pytest.raises(ValidationError, match="bytes"):
        catalog.put("acme", huge)
