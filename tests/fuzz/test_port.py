"""The corrections of the JSONata port against the original, function by function."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.engines import NodeEngine, agree, local
from tests.fuzz.generate import Generator


@pytest.mark.parametrize("code", [
    "$string($x)", "$string([$x])", '$string({"k":$x})', "$lowercase($x)", "$formatBase($x,10)",
])
def test_corrected_functions_do_what_the_original_does(code: str) -> None:
    random = Generator(Random(code))
    kind = {"$lowercase($x)": "string", "$formatBase($x,10)": "number"}.get(code, "any")
    batch = [(code, {"x": random.of_kind(kind)}) for _ in range(300)]
    with NodeEngine() as engine:
        for (_, data), original in zip(batch, engine.run(batch), strict=True):
            assert agree(original, local(code, data)), data
