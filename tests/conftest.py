"""moto as all tests use it: what is the same in each of its starts and requests is made once."""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from moto.core import models, responses

from tests.calls import RECORD, recorded, write


def _once(module: Any, name: str) -> None:
    setattr(module, name, functools.cache(getattr(module, name)))


_once(models, "CallbackResponse")  # 1,300 of them at each start
_once(responses, "method_names_from_class")  # for each request


def pytest_collection_finish() -> None:
    """Modules and collected tests are never garbage: without them, and asked less often, the collector takes a tenth less."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def calls_of_functions() -> Iterator[None]:
    """With the variable, what functions ask of AWS is added to what their roles are compared with: see `tests/calls.py`."""
    if not os.environ.get(RECORD):
        yield
        return
    found: set[tuple[str, str]] = set()
    with recorded(found):
        yield
    write({(function, call) for function, call in found if function.startswith("aslant-")})
