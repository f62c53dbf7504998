"""The API's function in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.served.api import Served, served


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch, served(tmp_path_factory.mktemp("api"), patch) as found:
        yield found
