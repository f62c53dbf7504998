"""Reading a dialect: unknown keys, wrong types, shapes that fit no dialect. Codes start with D."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity

UNKNOWN_DIALECT = Rule("D001", Severity.ERROR, "the definition fits no dialect",
    "A definition is told by its shape: `steps` (steps), `workflow.stages` (stages), `nodes` with `connections`"
    " (graph), `tasks` (tasks), or `nodes` with `edges` (agents). Write one of these, or name the spelling at the top:"
    " `dialect: canonical`.")
AMBIGUOUS_DIALECT = Rule("D002", Severity.ERROR, "the definition fits more than one dialect",
    "Two shapes stand in one file, such as `steps` beside `tasks`. Remove one, or say which one counts:"
    " `dialect: tasks`.")
BAD_DIALECT = Rule("D003", Severity.ERROR, "unknown dialect name",
    "`dialect` is one of steps, stages, graph, tasks, agents and canonical.")
UNKNOWN_KEY = Rule("D010", Severity.ERROR, "unknown key",
    "A key that nothing reads is refused, since it is nearly always a misspelling. Keys of your own belong into"
    " `labels`, or under a top-level key that starts with `x-`.")
MISSING_KEY = Rule("D011", Severity.ERROR, "a key is missing",
    "The mapping needs this key. Add it at the place that the message names.")
WRONG_TYPE = Rule("D012", Severity.ERROR, "wrong type of value",
    "Values are never converted silently: `timeout: \"30\"` is a text, not a number. Remove or add the quotes, or write"
    " a list or mapping where one is expected.")
NOT_ALLOWED = Rule("D013", Severity.ERROR, "value not allowed",
    "The key takes only the values that the message lists.")
OUT_OF_RANGE = Rule("D014", Severity.ERROR, "value out of range",
    "The number, text or list is smaller or larger than the key takes.")
TOO_MANY_PROBLEMS = Rule("D019", Severity.ERROR, "too many problems to list",
    "Only the first problems of a kind are listed. Put those right and check again.")
VERSION_NUMBER = Rule("D020", Severity.ERROR, "version written as a number",
    "`version: 1.10` is the number 1.1 to YAML, so a digit is lost. Quote it: `version: \"1.10\"`.")
VERSION_LABEL = Rule("D021", Severity.WARNING, "version is not semantic",
    "Versions order as MAJOR.MINOR.PATCH. Any other text is kept as a label and compares with no other version:"
    " write `version: \"1.4.0\"`.")
BAD_DURATION = Rule("D022", Severity.ERROR, "not a duration",
    "A time is a number, or a text with units (`30s`, `500ms`, `1h30m`, `2d`) or in ISO 8601 (`PT15M`).")
BEYOND_DIALECT = Rule("D023", Severity.WARNING, "beyond the dialect's own limit",
    "The dialect documents a smaller limit than the product has. The value is taken as it is written; another reader of"
    " this dialect may refuse it.")
MILLISECONDS = Rule("D024", Severity.ERROR, "less than a second where milliseconds are meant",
    "Times of a `steps` definition are milliseconds, at least 1000. A small number is nearly always meant in seconds:"
    " write 30000 or `30s` instead of 30. (`500ms` says that so little is meant.)")
UNKNOWN_TYPE = Rule("D030", Severity.ERROR, "unknown step type",
    "The type is none that the product has. Functions of your own are called by `type: skill`.")
CUSTOM_TYPE = Rule("D031", Severity.WARNING, "type that nearly is a known one",
    "A type that is none of the product's own names a function that you registered, as `type: skill` would. This one is so"
    " close to one of the product's that it looks like a slip. Correct it, or write `skill` with the name of the function.")
BRANCHES = Rule("D032", Severity.ERROR, "branches that cannot be read",
    "A conditional step has `condition` with `branches: {true: {target_step: a}, false: {target_step: b}}`, or a list"
    " of branches, each with `condition` and `target_step`, with a `default`.")
WRITTEN_TWICE = Rule("D033", Severity.ERROR, "said in two ways",
    "Two keys say the same thing, and only one of them could count. Remove the other.")
LITERAL_BRACES = Rule("D034", Severity.WARNING, "braces that are plain text",
    "The stages dialect marks expressions by `${{ }}`; `{{ }}` without the dollar sign stays text.")
MISSING_FIELD = Rule("D035", Severity.ERROR, "a setting of this step type is missing",
    "The step's type cannot do anything without this setting.")
UNKNOWN_TARGET = Rule("D036", Severity.ERROR, "branch leads to a step that is not in this list",
    "A branch names a step of the same list (in the stages dialect: of any stage). Correct the id, or move the step.")
NO_EFFECT = Rule("D040", Severity.INFO, "a setting without effect",
    "The setting is understood, but there is nothing for it to change here. The message says why.")
NOT_MERGED = Rule("D041", Severity.UNSUPPORTED, "outputs are not merged into one context",
    "Outputs are kept apart by step, so that no step overwrites another's: read `steps.<id>.output`. They stay readable"
    " until the execution ends.")
NO_INVALIDATION = Rule("D042", Severity.UNSUPPORTED, "cached results expire by time alone",
    "A cached result is used again until its `ttl` is over. Put what must renew it into the `key`.")
OWN_COMPENSATION = Rule("D043", Severity.UNSUPPORTED, "a failed step is not compensated itself",
    "Compensation undoes completed steps, latest first, never the one that failed. Give one compensation per step.")
UNKNOWN_ROLLBACK_STEP = Rule("D044", Severity.WARNING, "no such rollback step",
    "`steps` of an error handler selects steps of the `rollback` section by id. Names that are none of these are left"
    " out; when none is left, the whole rollback section runs.")
STAGE_LIMIT = Rule("D045", Severity.UNSUPPORTED, "max_parallel of this stage is not enforced",
    "A stage runs all of its steps at once when a decision leads from one of them into another stage, or from another stage"
    " to one of them.")
UNKNOWN_FORMAT = Rule("D046", Severity.WARNING, "format of an input is not known",
    "`format` is checked for date, date-time, time, duration, email, hostname, ipv4, ipv6, uri, url and uuid. Any other word"
    " is kept and changes nothing; write a `pattern` to have a text checked.")
FORMAT_NOTE = Rule("D047", Severity.INFO, "format of an input is a note",
    "The format says how people see or write the value, such as `password`. It is kept and nothing is checked by it.")
FOREIGN_HOLE = Rule("D048", Severity.WARNING, "hole of another dialect",
    "Each dialect marks expressions in its own way: `{{ x }}` in steps, graph and canonical, `${{ x }}` in stages, `${x}` in"
    " tasks, `{x}` in agents. What another one writes stays text.")
CANNOT_SAY = Rule("D050", Severity.WARNING, "the dialect cannot say this",
    "What the other spelling has no word for is written with the canonical key, changed, or left out; the message says"
    " which.")

ONE_OR_OTHER = Rule("D125", Severity.INFO, "step that does not run after the approval before it",
    "Of the steps that branches lead to just one runs, wherever they stand; what stands after both runs after either. A step"
    " that is to run in any case is no branch's target: it stands after the conditional and what the other branch leads to.")
RUNS_EITHER_WAY = Rule("D051", Severity.INFO, "step that runs whichever branch is taken",
    "A branch decides about the steps that it names. What stands between the conditional and such a step without being"
    " named waits for the conditional and runs in any case: nothing is jumped over.")

# graph, tasks, agents

BRANCH_TARGET = Rule("D103", Severity.ERROR, "branch names an unknown step",
    "A branch lists the ids of steps that exist in the same scope as the step that decides.")
NOT_STREAMED = Rule("D105", Severity.UNSUPPORTED, "output is not streamed",
    "The output of a task arrives when the task has ended; a function's output can't be read before. The task runs as if"
    " `stream_output` were false.")
ROLLBACK_DISABLED = Rule("D107", Severity.WARNING, "rollback switched off",
    "The task asks for a rollback when it fails, and `enable_rollback: false` switches rollbacks off: a failure of the"
    " task then fails the execution. Remove one of the two.")
UNKNOWN_NODE = Rule("D109", Severity.ERROR, "connection to an unknown node",
    "A connection or an edge joins two nodes of the same definition. Check the spelling of the id.")
EDGE_LABEL = Rule("D110", Severity.INFO, "condition of the edge is only a label",
    "The edge leaves a router, whose own condition decides which of its targets is entered. The text at the edge names"
    " no outcome and is no expression with operators, so it is read as a label.")
ROUTER_DEFAULT = Rule("D111", Severity.UNSUPPORTED, "default of a router is not entered on an error",
    "A router whose condition can't be evaluated fails like any other step, and its `on_failure` or an error handler"
    " decides. Its `default` node is entered when the condition gives neither true nor false, which never happens; write"
    " the condition so that it can't fail (`default(state.score, 0) > 0.8`), or give the router an `on_failure`.")
HOLE_AS_TEXT = Rule("D112", Severity.WARNING, "braces kept as text",
    "The text in braces looks like a reference, but its first name is no output key, input, variable or root that is"
    " known here, so it is kept as it stands. Correct the name, or write `\\{` to say that it is meant as text.")
CHANNEL_FROM_SECRET = Rule("D113", Severity.INFO, "address of the channel comes from a secret",
    "A notification channel is named without an address. The address is read from a secret with a fixed name when the"
    " message is sent. Give the URL, address or topic as the channel to have it in the definition.")
CHANNEL_MISSING = Rule("D114", Severity.INFO, "notification goes to the event bus",
    "A notification on failure is asked for without a channel. It is published as an event; name a channel (slack,"
    " email, sns, an address or a URL) to have it delivered elsewhere.")
OUTPUT_NOT_PRODUCED = Rule("D115", Severity.WARNING, "declared output that no node gives",
    "The output schema names a property that is no node's output key, so nothing gives it a value. Name it like the"
    " node's `output_key`, or add an `outputs` mapping that says what it is.")
UNKNOWN_INPUT_KEY = Rule("D116", Severity.ERROR, "unknown input key",
    "An input key of a node is the output key of another node, a declared input or a variable.")
MAP_WITHOUT_INPUT = Rule("D117", Severity.ERROR, "nothing to go through",
    "A node that is run for each item of a list names the list as its first input key (`input_keys: [reviews]`).")
TIMEOUTS_DIFFER = Rule("D118", Severity.WARNING, "two timeouts for one wait",
    "The step has a timeout and so has the question it asks. The time people have to answer counts.")
NOT_A_TRIGGER = Rule("D119", Severity.ERROR, "trigger in the middle of the graph",
    "A trigger node starts an execution, so nothing leads to it. Remove the connection, or use a node of another type.")
FREQUENCY = Rule("D121", Severity.ERROR, "unknown checkpoint frequency",
    "Checkpoints are written `every_node`, `every_<n>_nodes` (such as every_5_nodes), or `on_failure`.")
NO_OUTCOME = Rule("D122", Severity.ERROR, "edge names no outcome of the router",
    "An edge out of a router is taken for one of its outcomes. Name the target in the router's `if_true`, `if_false` or"
    " `default`, or write the outcome as the edge's `condition`: true, false, or the name of a case.")
ANY_STATUS = Rule("D123", Severity.INFO, "every status of the answer is accepted",
    "An `api` node fails on a status outside of 2xx. Here another place reads the `status_code` of its answer, so it is"
    " left to decide: every status is a result. Give the node `expected_status` to have it otherwise.")
EVERY_OUTCOME = Rule("D124", Severity.WARNING, "connection is taken for every outcome",
    "The source decides between outcomes and the connection names none, so it is always taken. Name the outcome as"
    " `sourceOutput`.")
