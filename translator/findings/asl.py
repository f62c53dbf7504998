"""What a state machine can or cannot say, and its limits. Codes start with A."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity

DEFINITION_SIZE = Rule("A001", Severity.ERROR, "state machine too large",
    "AWS takes definitions of up to 1 MiB. Move parts of the workflow into workflows of their own (`type: workflow`).")
DEFINITION_SIZE_NEAR = Rule("A002", Severity.WARNING, "state machine near its size limit",
    "The definition has more than half of the 1 MiB that AWS takes. From 80 % on, parts of it become state machines of their"
    " own.")
HISTORY_NEAR = Rule("A003", Severity.WARNING, "history near its limit",
    "A Standard execution ends with an error after 25,000 events. Loops count for each item: move a long loop's body or a part"
    " of the steps into a workflow of its own.")
MAP_CONCURRENCY = Rule("A004", Severity.WARNING, "loop runs at most 40 items at once",
    "An inline Map runs at most 40 iterations at the same time, and an Express execution has no other; the loop is bounded to"
    " that.")
WHOLE_SECONDS = Rule("A005", Severity.WARNING, "time rounded up to whole seconds",
    "Waits, timeouts and retry delays of a state machine are whole seconds; fractions are rounded up.")
SHORTEST_DELAY = Rule("A006", Severity.INFO, "immediate retries wait one second",
    "The shortest delay before a retry that a state machine knows is one second.")
FAILURE_ACTION = Rule("A007", Severity.UNSUPPORTED, "failure handling without effect",
    "What is written for a failure cannot be carried out where it stands. Steps of an error handler are rollback steps: they"
    " run when the handler's action is `rollback` or `compensate`. Choices and waits are evaluated by the state machine, where"
    " nothing catches a failure: let a transform before them compute the value.")
COMPOSITE_TIMEOUT = Rule("A008", Severity.UNSUPPORTED, "time limit on a step that holds steps",
    "A state machine has no time limit for a parallel or a loop as a whole. Give the limit to the steps inside of it, or to the"
    " workflow.")
NOT_CARRIED_OUT = Rule("A009", Severity.UNSUPPORTED, "setting without effect so far",
    "The setting is read, checked and kept with the definition, but nothing acts on it yet.")
SECRET_PLACE = Rule("A010", Severity.ERROR, "secret outside of a step's configuration",
    "A secret is put in inside of the step's function, so that it is never seen by the state machine. It can stand in the"
    " configuration of a step that runs in a function, alone or inside of a text; it cannot be computed with, compared,"
    " looped over or handed to another workflow.")
EXPRESS = Rule("A011", Severity.ERROR, "not possible in an Express execution",
    "Express executions last at most five minutes and know neither approvals nor waiting for another execution, as a child"
    " workflow or a rollback is; and none can be waited for. Use `execution: standard`, which `auto` always is, since Express"
    " executions cannot be paused, cancelled or continued, and leave no history.")
LAMBDA_EXPRESSION = Rule("A012", Severity.INFO, "expression evaluated in a Lambda function",
    "Most expressions run inside of the state machine. This one needs the evaluator function, which costs one more state and"
    " one Lambda call.")
BAD_TIME = Rule("A013", Severity.ERROR, "not an instant",
    "An instant is written as ISO 8601 with a date, a time and an offset: 2026-01-31T09:00:00Z.")
RETRY_APPROXIMATED = Rule("A014", Severity.INFO, "retry schedule for timeouts approximated",
    "Linear, fibonacci and adaptive delays are exact for errors that the step's function reports. An attempt that the state"
    " machine itself times out is repeated with the nearest schedule that it knows.")
BROKEN_MACHINE = Rule("A015", Severity.ERROR, "the compiler made a machine that fails its own check",
    "Every machine is checked after it was made: targets exist, every step is reachable, every edge is respected. A failure"
    " here is a fault of the compiler: please report it with the definition.")
NATIVE_FAILURE = Rule("A017", Severity.INFO, "expression moved to a function so that its failure can be handled",
    "Native states cannot catch an expression's error. A transform with `on_failure: continue` or an error handler runs in the"
    " evaluator function instead.")
NO_NOTIFICATION = Rule("A018", Severity.WARNING, "nobody to notify",
    "The handler asks for a notification, and the workflow declares none for failures. Add one under `notifications`.")
TOO_MUCH_OUTPUT = Rule("A022", Severity.ERROR, "result cannot be put together",
    "What a branch or an iteration gives is put together from its last steps, in one expression of at most 32,000 characters."
    " Let one step that comes last combine what is needed.")
VALUE_SIZE = Rule("A023", Severity.ERROR, "value too large for a state",
    "A state takes, gives and assigns 256 KiB of JSON at most. Put a text or list of that size into the input, a file or the"
    " answer of a step instead of the definition.")
DISTRIBUTED = Rule("A024", Severity.INFO, "loop as a Distributed Map",
    "An inline Map runs at most 40 iterations at the same time, and all of them are in the history of one execution, which has"
    " 25,000 events at most. In a Distributed Map each item is an execution of its own.")
KEPT_ACTION = Rule("A030", Severity.WARNING, "kept result of a step that may act",
    "While the result of a step is kept (`cache`), the step is not run again: what it does to the world is not done either."
    " Keep results of steps that only answer, and say so with `pure: true` where the type does not tell.")
NOTHING_TO_UNDO = Rule("A019", Severity.WARNING, "rollback without anything to undo",
    "`rollback` and `compensate` run the compensations of completed steps, newest first, and `rollback` the workflow's rollback"
    " steps after them. Give steps a `compensation`, or the workflow `rollback` steps.")
NEVER_RETRIED = Rule("A031", Severity.WARNING, "error that is never retried",
    "What is wrong with a request stays wrong: errors of validation, authentication and authorization, and secrets that are not"
    " there, fail a step at its first attempt, listed or not. Leave the name out of `retry.on`; `on_failure` or an error"
    " handler says what such a failure leads to.")
