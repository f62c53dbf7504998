"""What a run needs besides its definitions. Codes start with R."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity

SKILL_NOT_REGISTERED = Rule("R001", Severity.ERROR, "skill that nobody registered",
    "A run on this machine calls the Python functions that `--skills MODULE` registers, and skills that ASLANT_SKILLS"
    " maps to a function or an address. Register the skill, put its name right, or use `--simulate`, which gives a result"
    " that is marked as simulated.")
SECRET_NOT_GIVEN = Rule("R002", Severity.ERROR, "secret that nobody gave",
    "A run on this machine has the secrets of the command line only: `--secret NAME` takes the value of the environment"
    " variable NAME, `--secret NAME=VALUE` the value itself. With `--simulate` a stand-in takes its place.")
SKILL_NOT_CALLABLE = Rule("R003", Severity.ERROR, "skill that may not be called",
    "The skill is registered, but the version that the step asks for is inactive or not there. Ask for another version, or let"
    " whoever answers for the skill activate it.")
SKILL_ARGUMENTS = Rule("R004", Severity.ERROR, "arguments that a skill does not take",
    "A skill says what it takes: the parameters of its function, or the JSON Schema that it was registered with. `aslant skills"
    " show NAME` prints it. What a call would be refused for when it is made, and is known before, is a finding.")
UNANSWERED = Rule("R006", Severity.WARNING, "approval that nobody answers",
    "On a terminal `aslant run` asks. Elsewhere an approval waits until its time is over, unless the command line has its"
    " answer: `--approve STEP` says yes, `--approve STEP=reject` no, `--approve STEP=TEXT` gives a text or a choice, and"
    " `--approve '*'` says yes to all.")
SKILL_DEPRECATED = Rule("R005", Severity.WARNING, "deprecated skill",
    "The skill still works, and will be taken away. Its description says what to use instead.")
SKILL_IN_NO_REGISTRY = Rule("R007", Severity.WARNING, "skill that is in no registry",
    "`aslant skills list` shows what a tenant's registry has. A Python function of the installation need not stand there; any"
    " other skill that is not registered when the step runs fails it with SkillNotFound.")
