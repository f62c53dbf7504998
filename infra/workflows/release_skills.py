"""What `stages-release.yaml` calls: stand-ins for a build system, test runners and a cluster."""

from __future__ import annotations

import time
from typing import Any

_asked: dict[str, int] = {}


class NotHealthy(Exception):
    """The service does not answer yet."""


def build(version: str) -> dict[str, Any]:
    time.sleep(0.3)
    return {"artifact": f"shop-{version}.tar", "bytes": 48_211_004}


def run_tests(artifact: str, suite: str) -> dict[str, Any]:
    time.sleep({"unit": 0.4, "browser": 0.9}.get(suite, 0.2))
    return {"suite": suite, "passed": {"unit": 412, "browser": 38}.get(suite, 1), "artifact": artifact}


def scan(artifact: str) -> dict[str, Any]:
    time.sleep(0.5)
    return {"artifact": artifact, "findings": []}


def deploy(artifact: str, region: str) -> dict[str, Any]:
    time.sleep(0.3)
    return {"region": region, "endpoint": f"https://{region}.shop.example"}


def health(endpoint: str) -> dict[str, Any]:
    """Healthy from the second look on, as a service that is still starting."""
    _asked[endpoint] = _asked.get(endpoint, 0) + 1
    if _asked[endpoint] % 2:
        raise NotHealthy(f"{endpoint} does not answer yet")
    return {"endpoint": endpoint, "healthy": True}
