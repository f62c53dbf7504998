"""What a machine's role has to allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.asl.needs import Needs, needs_of
from translator.pipeline import Source, compile_sources

WORKFLOWS = Path(__file__).parents[3] / "infra" / "workflows"


def test_calls_starts_and_waits_are_told_apart() -> None:
    child = "id: child\nsteps:\n  - {id: one, type: http, config: {url: https://example.com}}\n"
    parent = (
        "id: parent\nsteps:\n"
        "  - {id: waits, type: workflow, workflow: child}\n"
        "  - {id: goes, type: workflow, workflow: child, wait_for_completion: false, depends_on: [waits]}\n"
    )
    one, two = compile_sources([Source(child), Source(parent)])
    assert one.needs == Needs(functions=frozenset({"http"}))
    assert two.needs.starts == two.needs.waits == {"workflow_child"}
    assert not two.needs.functions and not two.needs.runs_itself


def test_a_child_that_is_only_started_is_not_waited_for() -> None:
    state = {"Resource": "arn:aws:states:::states:startExecution", "Arguments": {"StateMachineArn": "${other}"}}
    assert needs_of({"States": {"a": state}}) == Needs(starts=frozenset({"other"}))


def test_a_distributed_map_runs_its_own_machine_and_reads_and_writes_objects() -> None:
    loop = {
        "Type": "Map", "ItemReader": {"Resource": "arn:aws:states:::s3:getObject"},
        "ResultWriter": {"Resource": "arn:aws:states:::s3:putObject"},
        "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "States": {}},
    }  # fmt: skip
    assert needs_of({"States": {"all": loop}}) == Needs(reads_objects=True, writes_objects=True, runs_itself=True)


@pytest.mark.parametrize("inside", ["ItemProcessor", "Branches"])
def test_what_is_nested_counts(inside: str) -> None:
    task = {"Resource": "arn:aws:states:::lambda:invoke", "Arguments": {"FunctionName": "${http}"}}
    body = {"States": {"x": task}}
    assert needs_of({"States": {"a": {inside: [body] if inside == "Branches" else body}}}).functions == {"http"}


def test_every_placeholder_of_what_ships_is_among_the_needs() -> None:
    sources = [Source(path.read_text(), path.name) for path in sorted(WORKFLOWS.glob("*.yaml"))]
    for one in compile_sources(sources):
        for machine in (one, one.rollback):
            if machine is not None:
                assert machine.needs.functions == set(machine.functions)
                assert machine.needs.starts == {*machine.workflows, *machine.rollbacks, *machine.parts}
