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
