"""What starts executions. Codes start with T."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity

TRIGGER_CONFIG = Rule("T001", Severity.ERROR, "trigger that cannot start anything",
    "A schedule says its times in words (`daily at 9am`), as a cron expression of five fields or AWS's six, as an interval or"
    " as one moment; its time zone is an IANA name such as Europe/Berlin. An `event` names the event's type, and may have a"
    " `filter` (a pattern of EventBridge) and a condition `where`; a `workflow` names the workflow whose end it waits for.")
TRIGGER_GUESSED = Rule("T002", Severity.WARNING, "schedule that can be read in more than one way",
    "The schedule was read as the message says. Write it out if something else is meant.")
NEVER_AGAIN = Rule("T007", Severity.WARNING, "schedule whose time is over",
    "All of its moments are in the past, so it starts nothing any more. Write a moment that is to come, or remove the trigger.")
INPUT = Rule("T008", Severity.ERROR, "trigger that gives an input that the workflow refuses",
    "`input` gives constants, `fields` the inputs that are taken from what came; both name declared inputs. An execution that"
    " is given an input that it does not take is never started.")
LACKING = Rule("T010", Severity.WARNING, "trigger that lacks a required input",
    "Each start by this trigger is refused: give the input under `input` (or `fields`, where something comes with it), or give"
    " it a default. By hand the workflow can be started all the same.")
AWAITED = Rule("T009", Severity.WARNING, "trigger that waits for a workflow that is not there",
    "`workflow` is the id of the workflow whose end starts this one. Publish that one, or put the id right.")
NO_SECRET = Rule("T003", Severity.WARNING, "webhook that nobody can call",
    "Whoever calls a webhook signs what it sends with a secret that both sides know. Store one for the tenant, and name it:"
    " `config: {secret: shop_webhook}`.")
CONDITION = Rule("T004", Severity.ERROR, "condition of a trigger that reads something else",
    "A trigger's `where` is asked before there is an execution: it knows the `event` alone, as in `event.total > 100`.")
STEP_EVENTS = Rule("T005", Severity.WARNING, "trigger by events that it never gets",
    "Events of steps (node_started and so on) are too many to be routed. Wait for an end of the workflow instead, or have the"
    " step tell something by `notify` with `channel: event`.")
OWN_END = Rule("T006", Severity.WARNING, "workflow that starts itself when it ends",
    "A chain of executions that start one another ends after ten. Loop inside of the workflow, or start it by a schedule.")
