"""moto as all tests use it: what is the same in each of its starts and requests is made once."""

from __future__ import annotations

import functools
from typing import Any

from moto.core import models, responses


def _once(module: Any, name: str) -> None:
    setattr(module, name, functools.cache(getattr(module, name)))


_once(models, "CallbackResponse")  # 1,300 of them at each start
_once(responses, "method_names_from_class")  # for each request
