"""Machines with and without fused choices do the same; more of it in `python -m tests.fuzz.fused`."""

from __future__ import annotations

from tests.fuzz.fused import check


def test_fused_machines_do_what_they_did() -> None:
    cheaper, _ = check(cases=5, seed=3)
    assert cheaper >= 1
