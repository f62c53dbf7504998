"""Importing moto's interpreter without what it drags along."""

from __future__ import annotations

import sys
from enum import StrEnum
from types import ModuleType


class _JobStatus(StrEnum):
    SUBMITTED = "SUBMITTED"
    PENDING = "PENDING"
    RUNNABLE = "RUNNABLE"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


def load_interpreter() -> None:
    """Import moto's interpreter and our patches.

    The interpreter's Batch integration wants one enumeration of `moto.batch`, whose import loads all of EC2 (1.2 s);
    a stand-in is there while the interpreter is imported, and gone afterwards.
    """
    names = ("moto.batch", "moto.batch.utils")
    stand_in = not any(name in sys.modules for name in ("moto.batch", "moto.stepfunctions.parser.models"))
    if stand_in:
        package, utils = ModuleType(names[0]), ModuleType(names[1])
        package.__path__ = []
        vars(utils)["JobStatus"] = _JobStatus
        sys.modules.update(zip(names, (package, utils), strict=True))
    try:
        from infra.local.moto_patches import (  # noqa: F401
            answers,
            api,
            attempts,
            control,
            distributed,
            encryption,
            evaluation,
            events,
            iteration,
            objects,
            partiql,
            queues,
            services,
            stopping,
            tables,
            texts,
            tokens,
            updates,
            variables,
        )
    finally:
        if stand_in:
            for name in names:
                del sys.modules[name]
