"""Signals and waits. Both sides look at one item, in one write each, so none misses the other."""

from __future__ import annotations

import contextlib

from aslant import clock
from aslant.configs.gate import GateConfig
from aslant.contracts import Json, StepResult
from aslant.errors import ApprovalClosed, ValidationError
from aslant.gates import GateKey, Gates
from aslant.ports import Callbacks
from aslant.step import StepRun, result


def gate(config: GateConfig, run: StepRun, gates: Gates, callbacks: Callbacks) -> StepResult:
    """Sends all signals, then waits, which means: says where to call back, or calls back at once."""

    def key(name: str) -> GateKey:
        return GateKey(run.tenant, run.execution, config.machine, name, run.iteration)

    now = round(clock.now())
    for signal in config.signals:
        token = gates.signal(key(signal.gate), by=signal.by, need=signal.need, values=signal.values, now=now)
        if token is not None:
            _call(gates, callbacks, token, key(signal.gate))
    if config.wait is not None:
        if run.token is None:
            raise ValidationError("the payload has no token to call back with")
        if gates.wait(key(config.wait.gate), need=config.wait.need, token=run.token, now=now):
            _call(gates, callbacks, run.token, key(config.wait.gate))
    return result(None)


def _call(gates: Gates, callbacks: Callbacks, token: str, key: GateKey) -> None:
    values: Json = gates.values(key)
    # Two who see that all is there both call, so that one that is killed before leaves no one waiting.
    with contextlib.suppress(ApprovalClosed):
        callbacks.success(token, values)
