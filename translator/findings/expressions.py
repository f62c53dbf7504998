"""Expressions and templates. Codes start with E."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity

SYNTAX = Rule("E001", Severity.ERROR, "not an expression",
    "The text could not be read as an expression. The position is the first character that does not fit."
    " Example: `steps.build.output.size > 10 and not input.dry_run`.")
SINGLE_EQUALS = Rule("E002", Severity.ERROR, "single = in an expression",
    "Values are compared with `==`. Expressions never assign.")
STRING = Rule("E003", Severity.ERROR, "text literal not closed",
    "A text starts and ends with the same quote, `'` or `\"`. A quote inside is written `\\'` or `\\\"`.")
UNCLOSED = Rule("E004", Severity.ERROR, "opening delimiter without a close",
    "`{{` and `${{` open an expression that ends with `}}`. To write the delimiter itself put a backslash before it:"
    " `\\{{`.")
TOO_LONG = Rule("E005", Severity.ERROR, "expression too large",
    "An expression may have 20,000 characters and 2,000 parts. Split it into several transform steps.")
TOO_DEEP = Rule("E006", Severity.ERROR, "expression nested too deeply",
    "Parentheses, lists, operators and attribute chains may be nested 100 levels deep. Split the expression, or use"
    " `join([...], '')` or `sum([...])` in place of a long chain of `+`.")
BIG_NUMBER = Rule("E007", Severity.ERROR, "number out of range",
    "Integers are exact up to 2^53 and numbers are doubles. Write a longer id as a text: `'9007199254740993'`.")
UNKNOWN_NAME = Rule("E010", Severity.ERROR, "unknown name",
    "A bare name is a loop variable, the output key of a step, a variable or an input. Texts need quotes:"
    " `input.env == 'prod'`. Steps are read as `steps.<id>.output`.")
UNKNOWN_STEP = Rule("E011", Severity.ERROR, "unknown step",
    "The expression reads a step that the definition does not have. Ids with characters other than letters, digits, `_`"
    " and `-` are written in brackets: `steps['my id'].output`.")
UNKNOWN_INPUT = Rule("E012", Severity.ERROR, "unknown input",
    "The definition declares its inputs, and this is none of them. Declare it, or correct the name.")
UNKNOWN_VARIABLE = Rule("E013", Severity.ERROR, "unknown variable",
    "The definition declares its variables, and this is none of them. Declare it, or correct the name. A variable"
    " reads those that are written before it: put it after what it reads.")
UNKNOWN_FUNCTION = Rule("E014", Severity.ERROR, "unknown function",
    "Only the listed functions can be called; there are no methods: write `upper(x)` or `x | upper`, not `x.upper()`.")
ARGUMENTS = Rule("E015", Severity.ERROR, "wrong number of arguments",
    "The function takes another number of arguments.")
INCOMPLETE = Rule("E016", Severity.ERROR, "reference without a name",
    "`steps`, `vars`, `secrets`, `env`, `errors` and `state` are not values: name the one that is meant, for example"
    " `steps.build.output`.")
COMPUTED_NAME = Rule("E017", Severity.ERROR, "computed reference",
    "Which step, variable, secret or environment variable is read must be known when the definition is compiled, so"
    " that its order can be proved. Write the name as a literal: `steps['build']`.")
NO_FILE_SYSTEM = Rule("E018", Severity.ERROR, "there is no file system",
    "Steps run in functions without a shared disk, so `file_exists` has nothing to ask. Let the step that makes the"
    " file say so in its output, or ask the artifact bucket in a step.")
UNKNOWN_PART = Rule("E019", Severity.ERROR, "no such part of a step or of an error",
    "A step has `output`, `status` and `error`; an error has `error`, `message` and `step`. Any other name after a step's"
    " id is a field of its output, but one that nearly is one of these is taken for a slip. A field that is really called"
    " so is read by its full path: `steps.build.output.outputs`.")
TYPE_MISMATCH = Rule("E020", Severity.ERROR, "types that can never fit",
    "The operation would fail each time: ordering and arithmetic need two numbers (or two texts for ordering and `+`)."
    " Convert first: `number(x)`, `str(x)`.")
UNKNOWN_KEY = Rule("E021", Severity.WARNING, "key that an output never has",
    "What approvals, emails, commands, parallels and transforms that build an object give has keys that are known before a run;"
    " any other is null. `aslant explain` shows a type's output with its settings.")
