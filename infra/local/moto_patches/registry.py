"""The list of what is replaced in moto: each entry names the gap and carries the fingerprint of the code it replaces.

A test compares every fingerprint with the installed moto, so that an upgrade which touches replaced code is seen.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Patch:
    """`target` is `module:Class.attribute` or `module:attribute`; `gap` says what moto gets wrong there.

    `replacement` stands in for the attribute. With `wraps` it is called with the original and returns what stands
    in. `fingerprint`: start of the SHA-256 of the original's source.
    """

    target: str
    gap: str
    fingerprint: str
    replacement: Callable[..., Any]
    wraps: bool = False


PATCHES: list[Patch] = []

_ROOT = "moto.stepfunctions."


def patch(
    target: str, *, gap: str, fingerprint: str, wraps: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function for `target`, which is written without `moto.stepfunctions.`."""

    def register(replacement: Callable[..., Any]) -> Callable[..., Any]:
        full = target if target.startswith("moto.") else _ROOT + target
        PATCHES.append(Patch(full, gap, fingerprint, replacement, wraps))
        return replacement

    return register


def event_details(kind: str, values: dict[str, Any]) -> Any:
    """Details of a history event as moto keeps them: a dictionary with the one entry `<kind>EventDetails`."""
    return {f"{kind}EventDetails": values}


def resolve(target: str) -> tuple[Any, str]:
    """The module or class that holds a target, and the attribute's name."""
    module, _, path = target.partition(":")
    owner: Any = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    return owner, name


def fingerprint(target: str) -> str:
    """The fingerprint of what is at `target` now."""
    owner, name = resolve(target)
    original = inspect.getattr_static(owner, name)
    if isinstance(original, staticmethod | classmethod):
        original = original.__func__
    original = inspect.unwrap(original)
    source = original.__name__ if inspect.ismodule(original) else inspect.getsource(original)
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def install(stack: ExitStack, patches: Iterable[Patch] | None = None) -> None:
    """Put every replacement in place, or these; closing `stack` puts the originals back."""
    for item in PATCHES if patches is None else patches:
        owner, name = resolve(item.target)
        inherited = name not in vars(owner)
        original = inspect.getattr_static(owner, name)
        kind = type(original) if isinstance(original, staticmethod | classmethod) else None
        plain = original.__func__ if isinstance(original, staticmethod | classmethod) else original
        new = item.replacement(plain) if item.wraps else item.replacement
        setattr(owner, name, kind(new) if kind else new)
        if inherited:
            stack.callback(delattr, owner, name)
        else:
            stack.callback(setattr, owner, name, original)
