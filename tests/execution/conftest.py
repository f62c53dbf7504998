from collections.abc import Iterator

import pytest

from aslant import skills as registry
from tests.execution.support import Skills


@pytest.fixture
def skills() -> Iterator[Skills]:
    """Fresh skills, forgotten after the test."""
    made = Skills()
    made.register()
    yield made
    registry.unregister()
