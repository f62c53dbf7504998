"""The three engines that must agree: the reference evaluator, the local JSONata engine, and JSONata 2.0.6 under Node."""

from __future__ import annotations

import fcntl
import json
import math
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aslant.errors import ExpressionError
from infra.local.jsonata_engine import MISSING, JsonataError, Undefined, to_engine
from infra.local.jsonata_engine import evaluate as evaluate_locally
from translator.expressions.evaluate import evaluate
from translator.expressions.tree import Node, Slot
from translator.expressions.values import same

NODE_PROJECT = Path(__file__).parent / "node"


class Outcome(NamedTuple):
    """`state` is `ok`, `error` or `undefined`; `value` is the result, or what the engine said."""

    state: str
    value: Any = None


def agree(one: Outcome, other: Outcome) -> bool:
    """Whether two engines did the same: the same value with the same order of keys, or an error both."""
    if one.state != other.state or one.state == "undefined":
        return False
    return one.state == "error" or (same(one.value, other.value) and _shape(one.value) == _shape(other.value))


def _shape(value: Any) -> Any:
    """The order of keys, which equality leaves out."""
    if isinstance(value, dict):
        return [(key, _shape(item)) for key, item in value.items()]
    return [_shape(item) for item in value] if isinstance(value, list) else None


def reference(node: Node, read: Callable[[Slot], Any]) -> Outcome:
    try:
        return Outcome("ok", evaluate(node, read))
    except ExpressionError as error:
        return Outcome("error", str(error))


def local(code: str, bindings: Mapping[str, Any]) -> Outcome:
    def lookup(name: str) -> Any:
        return to_engine(bindings[name]) if name in bindings else MISSING

    try:
        return Outcome("ok", evaluate_locally(code, lookup, millis=0))
    except Undefined:
        return Outcome("undefined")
    except JsonataError as error:
        return Outcome("error", str(error))


def ensure_node_modules() -> None:
    """Install what the lock file names, once, however many processes ask at the same time."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise RuntimeError("these tests compare with the JavaScript JSONata engine: install Node.js 20 (node and npm)")
    if (NODE_PROJECT / "node_modules" / ".package-lock.json").exists():
        return
    with (NODE_PROJECT / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (NODE_PROJECT / "node_modules" / ".package-lock.json").exists():
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=NODE_PROJECT, check=True, timeout=120,
                stdout=subprocess.DEVNULL)


class NodeEngine:
    """One Node process that evaluates batches. A context manager."""

    def __init__(self) -> None:
        ensure_node_modules()
        self._process = subprocess.Popen(["node", "evaluate.js"], cwd=NODE_PROJECT, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> NodeEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    def run(self, batch: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Outcome]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(batch) + "\n")
        self._process.stdin.flush()
        answers = json.loads(self._process.stdout.readline())
        return [Outcome(state, _read(rest)) for state, *rest in answers]


def _read(rest: list[Any]) -> Any:
    value = rest[0] if len(rest) == 1 else rest
    return None if isinstance(value, float) and not math.isfinite(value) else value
