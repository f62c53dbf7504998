"""Names in an account that has several installations: each has functions, schedules, machines and secrets of its own."""

from __future__ import annotations

NAME = "aslant"  # of the one that has no other name


def installed(function: str, name: str) -> str:
    """What a function, which is `aslant-...` everywhere in the code, is called in the installation `name`."""
    return f"{name}{function.removeprefix(NAME)}" if function.startswith(f"{NAME}-") else function


def schedule_group(name: str) -> str:
    """The schedule group of an installation; every account has `default`."""
    return "default" if name == NAME else name
