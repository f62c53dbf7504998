"""Functions as they were deployed: the archive's code in a process of its own, with the variables that the stack gave it.

Third-party layers hold wheels for arm64 and Lambda's Python; here the packages of this installation stand in for them.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAM = """
import importlib, json, os, sys, types
module, _, name = sys.argv[1].rpartition(".")
event, about = json.load(sys.stdin)
context = types.SimpleNamespace(**about, get_remaining_time_in_millis=lambda: 30_000)
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the function prints is no part of its answer
try:
    answer = {"result": getattr(importlib.import_module(module), name)(event, context)}
except Exception as error:
    answer = {"error": type(error).__name__, "message": str(error)}
json.dump(answer, out)
out.close()
"""


class DeployedError(Exception):
    """What a deployed function raised, under its own name."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """`paths` are its code and its layers, first to last; `handler` is `module.function`."""

    handler: str
    paths: tuple[Path, ...]
    variables: Mapping[str, str]

    def __call__(self, event: dict[str, Any], context: Any) -> Any:
        about = {"function_name": context.function_name, "invoked_function_arn": context.invoked_function_arn,
            "aws_request_id": context.aws_request_id, "memory_limit_in_mb": 512}  # fmt: skip
        inherited = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, self.handler], input=json.dumps([event, about]), capture_output=True, text=True,
            timeout=120, check=False, cwd=self.paths[0],
            env=inherited | dict(self.variables) | {
                "PYTHONPATH": os.pathsep.join(map(str, self.paths)), "PYTHONDONTWRITEBYTECODE": "1",
            },
        )  # fmt: skip
        if done.returncode:
            raise DeployedError(f"Runtime.ExitError: {done.stderr[-2000:]}")
        answer = json.loads(done.stdout)
        if "error" in answer:
            raise type(answer["error"], (DeployedError,), {})(answer["message"])
        return answer["result"]


def unpacker(folder: Path, cloud: Any, variables: Mapping[str, str]) -> Callable[[Any], None]:
    """What registers a function that moto has been given by a stack. `variables` come on top of the stack's."""

    def unpack(name: str, archive: bytes) -> Path:
        target = folder / name
        if not target.is_dir():
            with zipfile.ZipFile(io.BytesIO(archive)) as packed:
                packed.extractall(target)
        return target

    def register(made: Any) -> None:
        paths = [unpack(made.function_name, made.code_bytes)]
        for layer in made.layers:
            arn = layer["Arn"]
            name, version = arn.split(":")[6:8]
            paths.append(unpack(f"{name}-{version}", _layer(made, name, int(version))) / "python")
        # moto gives a reference to a bus as the bus itself
        given = {name: str(getattr(value, "name", value)) for name, value in made.environment_vars.items()}
        environment = {**given, **variables}
        cloud.function(made.function_name, Deployed(made.handler, tuple(paths), environment), timeout=made.timeout)

    return register


def _layer(made: Any, name: str, version: int) -> bytes:
    from moto.awslambda.utils import get_backend

    found = get_backend(made.account_id, made.region).get_layer_version(name, str(version))
    archive: bytes = found.code_bytes
    return archive
