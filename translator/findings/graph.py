"""Steps and the edges between them. Codes start with G."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity

DUPLICATE_ID = Rule("G001", Severity.ERROR, "step id used twice",
    "Every step of a workflow needs an id of its own, also steps inside of branches and loops, so that"
    " `steps.<id>.output` names one step. Rename one of the two.")
UNKNOWN_STEP = Rule("G002", Severity.ERROR, "unknown step",
    "A dependency, branch target or rollback step names a step that is not in the workflow.")
CYCLE = Rule("G003", Severity.ERROR, "steps wait for each other",
    "The steps form a circle in which each waits for the next, so none could ever start. Remove one of the edges. To repeat"
    " steps, use a loop.")
OTHER_SCOPE = Rule("G004", Severity.ERROR, "dependency across a scope",
    "A step can depend on steps of its own list only. Depend on the parallel or loop step that holds the other step.")
UNKNOWN_OUTCOME = Rule("G005", Severity.ERROR, "unknown outcome of a choice",
    "An edge names an outcome that the choice does not have.")
NOT_A_CHOICE = Rule("G006", Severity.ERROR, "outcome of a step that is no choice",
    "Only choice steps have outcomes. Remove `on`, or give the edge a condition with `when`.")
NEVER_RUNS = Rule("G007", Severity.ERROR, "step can never run",
    "None of the edges that lead to the step can become live.")
NOT_RUN_BEFORE = Rule("G008", Severity.ERROR, "reads a step that cannot have run before",
    "An expression can read only steps that are settled when it is evaluated: add the step to `depends_on`, directly or through"
    " other steps.")
INSIDE_LOOP = Rule("G009", Severity.ERROR, "reads a step inside of a loop from outside",
    "What a step inside of a loop gives belongs to one iteration. Read the loop's own output: the list of its results.")
WRITTEN_TWICE = Rule("G010", Severity.ERROR, "output key written by two steps that may run side by side",
    "Two steps that can both run, without an order between them, write the same output key, so its value would depend on"
    " which one is faster. Give them different keys, or let one depend on the other.")
EMPTY = Rule("G012", Severity.ERROR, "no steps",
    "A workflow needs at least one step.")
UNKNOWN_TYPE = Rule("G013", Severity.ERROR, "unknown step type",
    "The type is none of the product's. A function of your own is a step of `type: skill`.")
MISSING = Rule("G014", Severity.ERROR, "step lacks what its type needs",
    "Each type of step needs some settings: a choice its cases, a loop its items and steps, a wait its time.")
CONFIG = Rule("G015", Severity.ERROR, "configuration does not fit the step's type",
    "The settings of a step are checked against its type before anything runs.")
DUPLICATE_OUTCOME = Rule("G017", Severity.ERROR, "outcome named twice",
    "The outcomes of a choice need different names.")
RECURSION = Rule("G018", Severity.ERROR, "workflows call each other in a circle",
    "A workflow that starts itself, directly or through others, would never end. Use a loop.")
UNKNOWN_WORKFLOW = Rule("G019", Severity.WARNING, "sub-workflow not among the given definitions",
    "The child workflow is bound by its id when the workflow is deployed. To run locally, give its file too.")
OTHER_TYPE = Rule("G027", Severity.ERROR, "setting that the step's type does not have",
    "Some settings stand in the step itself, and each belongs to certain types: `branches` to a parallel, `items` and `steps`"
    " to a loop, `cases` to a choice, `seconds` and `until` to a wait, `workflow` and `input` to a step that calls a workflow."
    " These types have nothing under `config`; all others have their settings there, and none of these.")
TOO_DEEP = Rule("G028", Severity.ERROR, "order nested too deeply",
    "Each step that hangs on conditions of steps which hang on conditions themselves is one level deeper in the state machine,"
    " and so is each loop or parallel. Let some steps in between run always, with `when` in place of conditions at their"
    " edges, or move a part into a workflow of its own (`type: workflow`).")
DUPLICATE_WORKFLOW = Rule("G020", Severity.ERROR, "workflow id used twice",
    "Definitions that are compiled together need different ids.")
SELF_DEPENDENCY = Rule("G021", Severity.ERROR, "step depends on itself",
    "A step cannot wait for itself. Remove the edge.")
EMPTY_BRANCH = Rule("G022", Severity.INFO, "branch without steps",
    "The branch does nothing; the parallel does not wait for it.")
UNKNOWN_INPUT = Rule("G023", Severity.ERROR, "input that the sub-workflow does not declare",
    "The child workflow declares its inputs, and this is none of them.")
MISSING_INPUT = Rule("G024", Severity.ERROR, "required input of the sub-workflow not given",
    "The child workflow declares the input as required, without a default.")
DECLARATION = Rule("G025", Severity.ERROR, "declaration of an input that contradicts itself",
    "The default and the options of an input have the input's own type and keep its bounds, the bounds leave something, and"
    " a pattern is a regular expression as RE2 reads it.")
WRONG_INPUT = Rule("G026", Severity.ERROR, "input that the sub-workflow refuses",
    "The child workflow declares the input with another type, or with bounds that the value does not keep.")
