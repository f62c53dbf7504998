"""Histories of executions in the journal: what one cloud ran can be read in the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.local.cloud import LocalCloud
from infra.local.journal import KEPT_HISTORIES, Journal

WAITS = {"QueryLanguage": "JSONata", "StartAt": "rest", "States": {"rest": {"Type": "Wait", "Seconds": 3600, "End": True}}}
PASSES = {"QueryLanguage": "JSONata", "StartAt": "done", "States": {"done": {"Type": "Pass", "Output": {"n": 1}, "End": True}}}


def history(cloud: LocalCloud, arn: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = cloud.client("stepfunctions").get_execution_history(executionArn=arn)["events"]
    return events


def test_the_history_of_what_ended_and_of_what_ran_is_there_in_the_next_cloud(tmp_path: Path) -> None:
    with LocalCloud(journal=tmp_path / "j") as cloud:
        ended = cloud.start(cloud.state_machine("passes", PASSES), {"in": True})
        assert ended.wait(20).status == "SUCCEEDED"
        ran = cloud.start(cloud.state_machine("waits", WAITS), {})
        while not any(event["type"] == "WaitStateEntered" for event in ran.events()):
            pass
        before = {arn: history(cloud, arn) for arn in (ended.arn, ran.arn)}
    for _ in range(2):
        with LocalCloud(journal=tmp_path / "j") as cloud:
            assert {arn: history(cloud, arn) for arn in before} == before, "and the end of the cloud is no part of it"
            states = cloud.client("stepfunctions")
            for call in (states.describe_execution, states.get_execution_history):
                with pytest.raises(states.exceptions.ExecutionDoesNotExist):
                    call(executionArn=ended.arn + "x")
            with pytest.raises(states.exceptions.ExecutionDoesNotExist):
                states.describe_execution(executionArn=ran.arn)


def test_histories_of_a_run_that_was_stopped_and_of_the_one_that_undoes_it_are_their_own(tmp_path: Path) -> None:
    def names(cloud: LocalCloud, arn: str) -> set[str]:
        return {event["stateEnteredEventDetails"]["name"] for event in history(cloud, arn) if "stateEnteredEventDetails" in event}

    with LocalCloud(journal=tmp_path / "j") as cloud:
        stopped = cloud.start(cloud.state_machine("waits", WAITS), {}, name="e1-r2")
        while not any(event["type"] == "WaitStateEntered" for event in stopped.events()):
            pass
        cloud.client("stepfunctions").stop_execution(executionArn=stopped.arn)
        undoing = cloud.start(cloud.state_machine("passes", PASSES), {}, name="e1-r2")  # of the same name on purpose
        undoing.wait(20)
        before = {arn: history(cloud, arn) for arn in (stopped.arn, undoing.arn)}
        assert (names(cloud, stopped.arn), names(cloud, undoing.arn)) == ({"rest"}, {"done"})
        assert [before[arn][-1]["type"] for arn in before] == ["ExecutionAborted", "ExecutionSucceeded"]
    with LocalCloud(journal=tmp_path / "j") as cloud:
        assert {arn: history(cloud, arn) for arn in before} == before


def test_only_the_latest_histories_are_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    for number in range(KEPT_HISTORIES + 3):
        journal.add_event(f"arn{number}", {"id": 1, "type": "ExecutionStarted"})
        journal.pack_history(f"arn{number}")
    assert journal.history("arn2") == [] and journal.unpacked() == []
    assert journal.history("arn3") == [{"id": 1, "type": "ExecutionStarted"}]
    journal.close()
