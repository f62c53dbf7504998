"""Canaries: each fails when an upgrade of moto touches what we replace, so that the gap is looked at again."""

from __future__ import annotations

import pytest

from infra.local.moto_patches.loading import load_interpreter

load_interpreter()

import infra.local.moto_patches.keeping  # noqa: E402, F401  loaded with a journal only
from infra.local.moto_patches.registry import PATCHES, Patch, fingerprint  # noqa: E402


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.target.removeprefix("moto.stepfunctions."))
def test_moto_still_has_the_code_that_the_patch_replaces(patch: Patch):
    assert fingerprint(patch.target) == patch.fingerprint, f"moto changed; the gap was: {patch.gap}"


def test_each_target_is_replaced_once_and_says_why():
    targets = [patch.target for patch in PATCHES]
    assert len(set(targets)) == len(targets)
    assert all(len(patch.gap) > 15 for patch in PATCHES)
