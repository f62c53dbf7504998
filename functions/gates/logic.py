"""Signals and waits. Both sides look at one item, in one write each, so none misses the other."""

from __future__ import annotations

import contextlib

from aslant import clock
from aslant.configs.gate import GateConfig, Turn
from aslant.contracts import Json, StepResult
from aslant.errors import ApprovalClosed, ValidationError
from aslant.gates import Came, GateKey, Gates
from aslant.ports import Callbacks
from aslant.step import StepRun, result

_TURN = "turn"  # who signals that a waiting point's turn has come; steps and joints are marked in front
_WAITED = 1  # whoever is given a turn has nothing else to wait for


def gate(config: GateConfig, run: StepRun, gates: Gates, callbacks: Callbacks) -> StepResult:
    """Ends a turn, sends all signals, then waits, which means: says where to call back, or calls back at once."""

    def key(name: str) -> GateKey:
        return GateKey(run.tenant, run.execution, config.machine, name, run.iteration)

    now = round(clock.now())

    def looked(name: str, came: Came, need: int, turn: Turn | None) -> None:
        """Whoever finds all there calls back. Who finds all but the turn, and somebody waiting, asks for the turn."""
        if came.token is None:
            return
        if came.count >= need:
            _call(gates, callbacks, came.token, key(name))
        elif turn is not None and came.count == need - 1:
            turns(turn, asks=(turn.priority, name))

    def turns(of: Turn, *, asks: tuple[float, str] | None = None, gives: str | None = None) -> None:
        for name in gates.turn(key(of.pool), limit=of.limit, asks=asks, gives=gives, now=now):
            looked(name, gates.signal(key(name), by=_TURN, values={}, now=now), _WAITED, None)

    if config.gives is not None:
        turns(config.gives, gives=config.gives.gate)
    for each in config.signals:
        came = gates.signal(key(each.gate), by=each.by, values=each.values, now=now)
        looked(each.gate, came, each.need, each.turn)
    if (wait := config.wait) is not None:
        if run.token is None:
            raise ValidationError("the payload has no token to call back with")
        looked(wait.gate, gates.wait(key(wait.gate), need=wait.need, token=run.token, now=now), wait.need, wait.turn)
    return result(None)


def _call(gates: Gates, callbacks: Callbacks, token: str, key: GateKey) -> None:
    values: Json = gates.values(key)
    # Two who see that all is there both call, so that one that is killed before leaves no one waiting.
    with contextlib.suppress(ApprovalClosed):
        callbacks.success(token, values)
