"""Visits from histories as AWS writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from aslant.history.timeline import Timeline

START = datetime(2026, 1, 1, tzinfo=UTC)


def history(*rows):
    """Events from (previous id, type, details); ids count from 1, a second apart."""
    events = []
    for number, (previous, kind, *details) in enumerate(rows, 1):
        event = {"id": number, "previousEventId": previous, "type": kind, "timestamp": START + timedelta(seconds=number)}
        if details:
            event["someEventDetails"] = details[0]
        events.append(event)
    return events


def seen(timeline):
    return [(visit.state, visit.path, visit.status) for visit in timeline.visits]


def test_a_task_with_a_retry():
    timeline = Timeline.from_events(
        history(
            (0, "ExecutionStarted", {"input": "{}"}),
            (1, "TaskStateEntered", {"name": "a"}),
            (2, "TaskScheduled", {"resource": "invoke"}),
            (3, "TaskStarted", {}),
            (4, "TaskFailed", {"error": "E", "cause": "c"}),
            (5, "TaskScheduled", {}),
            (6, "TaskStarted", {}),
            (7, "TaskSucceeded", {}),
            (8, "TaskStateExited", {"name": "a"}),
            (9, "ExecutionSucceeded", {"output": "{}"}),
        )
    )
    (visit,) = timeline.visits
    assert (visit.status, visit.retries, visit.error, visit.seconds) == ("succeeded", 1, None, 7)
    assert timeline.status == "succeeded"


def test_a_caught_error_stays_with_the_visit():
    timeline = Timeline.from_events(
        history(
            (0, "ExecutionStarted"),
            (1, "TaskStateEntered", {"name": "a"}),
            (2, "TaskScheduled", {}),
            (3, "TaskTimedOut", {"error": "States.Timeout"}),
            (4, "TaskStateExited", {"name": "a"}),
            (5, "SucceedStateEntered", {"name": "b"}),
        )
    )
    assert seen(timeline) == [("a", (), "caught"), ("b", (), "running")]
    assert timeline.visits[0].error == "States.Timeout"
    assert [visit.state for visit in timeline.running] == ["b"]


def test_branches_have_numbers_and_those_beside_a_failed_one_are_aborted():
    timeline = Timeline.from_events(
        history(
            (0, "ExecutionStarted"),
            (1, "ParallelStateEntered", {"name": "p"}),
            (2, "ParallelStateStarted"),
            (3, "WaitStateEntered", {"name": "w"}),
            (3, "FailStateEntered", {"name": "f"}),
            (5, "ParallelStateFailed"),
            (6, "ExecutionFailed", {"error": "E", "cause": "c"}),
        )
    )
    assert seen(timeline) == [("p", (), "failed"), ("w", (("p", 0),), "aborted"), ("f", (("p", 1),), "failed")]
    assert [visit.error for visit in timeline.visits] == ["E", None, "E"]


def test_items_nest_and_one_worker_does_several():
    timeline = Timeline.from_events(
        history(
            (0, "ExecutionStarted"),
            (1, "MapStateEntered", {"name": "outer"}),
            (2, "MapStateStarted", {"length": 2}),
            (3, "MapIterationStarted", {"name": "outer", "index": 0}),
            (4, "MapStateEntered", {"name": "inner"}),
            (5, "MapStateStarted", {"length": 1}),
            (6, "MapIterationStarted", {"name": "inner", "index": 0}),
            (7, "PassStateEntered", {"name": "x"}),
            (8, "PassStateExited", {"name": "x"}),
            (9, "MapIterationSucceeded", {"name": "inner", "index": 0}),
            (9, "MapStateSucceeded"),
            (9, "MapStateExited", {"name": "inner"}),
            (12, "MapIterationSucceeded", {"name": "outer", "index": 0}),
            (12, "MapIterationStarted", {"name": "outer", "index": 1}),
            (14, "MapStateEntered", {"name": "inner"}),
        )
    )
    assert seen(timeline) == [
        ("outer", (), "running"),
        ("inner", (("outer", 0),), "succeeded"),
        ("x", (("outer", 0), ("inner", 0)), "succeeded"),
        ("inner", (("outer", 1),), "running"),
    ]


def test_a_stop_and_a_timeout_end_what_runs():
    rows = [(0, "ExecutionStarted"), (1, "WaitStateEntered", {"name": "w"})]
    for kind, status in (("ExecutionAborted", "aborted"), ("ExecutionTimedOut", "timed_out")):
        timeline = Timeline.from_events(history(*rows, (0, kind, {})))
        assert timeline.status == status and seen(timeline) == [("w", (), status)]


def test_it_is_fed_in_parts_and_takes_each_event_once():
    events = history(
        (0, "ExecutionStarted"),
        (1, "PassStateEntered", {"name": "a"}),
        (2, "PassStateExited", {"name": "a"}),
        (3, "SomethingNew", {"name": "a"}),
        (4, "PassStateEntered", {"name": "b"}),
    )
    timeline = Timeline()
    assert [visit.state for visit in timeline.feed(events[:2])] == ["a"]
    assert [(visit.state, visit.status) for visit in timeline.feed(events[1:3])] == [("a", "succeeded")]
    assert [visit.state for visit in timeline.feed(events[3:])] == ["b"]
    assert timeline.last_id == 5 and len(timeline.visits) == 2


def test_events_that_make_no_sense_do_not_break_it():
    timeline = Timeline.from_events(
        [
            {},
            {"id": "x"},
            {"id": 1, "type": "PassStateExited"},
            {"id": 2, "type": "TaskFailed", "previousEventId": 99},
            {"id": 3, "type": "MapIterationStarted", "timestamp": "yesterday"},
            {"id": 4, "type": "ExecutionSucceeded"},
        ]
    )
    assert timeline.visits == [] and timeline.status == "succeeded"


def started(name, resource, output):
    return {"resourceType": "states", "resource": resource, "output": f'{{"ExecutionArn": "{name}", "StartDate": 1.5}}', **output}


def test_an_execution_that_a_state_waits_for_is_its_child_from_its_start_on_one_an_attempt():
    timeline = Timeline()
    events = history(
        (0, "ExecutionStarted"),
        (1, "TaskStateEntered", {"name": "call"}),
        (2, "TaskScheduled", {}),
        (3, "TaskStarted", {}),
        (4, "TaskSubmitted", started("arn:1", "startExecution.sync:2", {})),
        (5, "TaskFailed", {"error": "States.TaskFailed"}),
        (6, "TaskScheduled", {}),
        (7, "TaskSubmitted", started("arn:2", "startExecution.sync", {})),
        (8, "TaskSucceeded", started("arn:2", "startExecution.sync", {})),
        (9, "TaskStateExited", {"name": "call"}),
    )
    timeline.feed(events[:4])
    assert timeline.visits[0].children == []
    (changed,) = timeline.feed(events[4:5])
    assert (changed.state, changed.status, changed.children) == ("call", "running", ["arn:1"])
    timeline.feed(events[5:])
    assert timeline.visits[0].children == ["arn:1", "arn:2"]


def test_an_execution_that_nobody_waits_for_is_a_child_of_its_own_iteration():
    timeline = Timeline.from_events(
        history(
            (0, "ExecutionStarted"),
            (1, "MapStateEntered", {"name": "each"}),
            (2, "MapStateStarted", {"length": 2}),
            (3, "MapIterationStarted", {"name": "each", "index": 0}),
            (4, "TaskStateEntered", {"name": "call"}),
            (3, "MapIterationStarted", {"name": "each", "index": 1}),
            (6, "TaskStateEntered", {"name": "call"}),
            (7, "TaskSucceeded", started("arn:b", "startExecution", {})),
            (5, "TaskSucceeded", started("arn:a", "startExecution", {})),
        )
    )
    assert [(visit.path, visit.children) for visit in timeline.visits[1:]] == [
        ((("each", 0),), ["arn:a"]), ((("each", 1),), ["arn:b"]),
    ]  # fmt: skip


def test_what_names_no_execution_is_no_child():
    for details in (
        {"resourceType": "states", "resource": "startExecution.sync:2", "output": "{..."},
        {"resourceType": "states", "resource": "startExecution.sync:2", "output": "[1]"},
        {"resourceType": "states", "resource": "startExecution.sync:2"},
        started(1, "startExecution", {"output": '{"ExecutionArn": 1}'}),
        started("arn", "invoke", {"resourceType": "lambda"}),
    ):
        timeline = Timeline.from_events(history(
            (0, "ExecutionStarted"), (1, "TaskStateEntered", {"name": "a"}), (2, "TaskSubmitted", details),
        ))  # fmt: skip
        assert (timeline.visits[0].children, timeline.visits[0].status) == ([], "running")


def test_parallels_inside_of_each_other_fail_together():
    timeline = Timeline.from_events(
        history(
            (0, "ExecutionStarted"),
            (1, "ParallelStateEntered", {"name": "outer"}),
            (2, "ParallelStateStarted"),
            (3, "ParallelStateEntered", {"name": "inner"}),
            (4, "ParallelStateStarted"),
            (5, "TaskStateEntered", {"name": "a"}),
            (6, "TaskScheduled", {}),
            (7, "TaskFailed", {"error": "E"}),
            (8, "ParallelStateFailed", {}),
            (9, "ParallelStateFailed", {}),
            (10, "ParallelStateExited", {"name": "outer"}),
            (11, "PassStateEntered", {"name": "after"}),
            (12, "PassStateExited", {"name": "after"}),
            (13, "ExecutionSucceeded", {"output": "{}"}),
        )
    )
    statuses = {visit.state: visit.status for visit in timeline.visits}
    assert statuses == {"outer": "caught", "inner": "failed", "a": "failed", "after": "succeeded"}


def test_a_parallel_that_is_tried_again_ends_what_its_first_attempt_left():
    timeline = Timeline.from_events(
        history(
            (0, "ExecutionStarted"),
            (1, "ParallelStateEntered", {"name": "p"}),
            (2, "ParallelStateStarted"),
            (3, "TaskStateEntered", {"name": "a"}),
            (4, "TaskScheduled", {}),
            (5, "TaskFailed", {"error": "E"}),
            (6, "ParallelStateStarted"),
            (7, "TaskStateEntered", {"name": "a"}),
            (8, "TaskScheduled", {}),
            (9, "TaskSucceeded", {}),
            (10, "TaskStateExited", {"name": "a"}),
            (11, "ParallelStateSucceeded"),
            (12, "ParallelStateExited", {"name": "p"}),
            (13, "ExecutionSucceeded", {"output": "{}"}),
        )
    )
    assert seen(timeline) == [("p", (), "succeeded"), ("a", (("p", 0),), "failed"), ("a", (("p", 0),), "succeeded")]
    assert [visit.retries for visit in timeline.visits] == [1, 0, 0]
    assert timeline.visits[1].ended == START + timedelta(seconds=7)
