"""Requests made from the API's own description: no fault, and every answer as described."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from functions.api.app import PREFIX, app
from functions.api.description import describe
from functions.api.handler import handler
from infra.local.gateway import event_of
from tests.examples import few
from tests.integration.api.conftest import Api

CHECKS = [
    schemathesis.checks.not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def described() -> Any:
    return schemathesis.openapi.from_dict(json.loads(describe(app(), PREFIX)))


@pytest.fixture(scope="module")
def caller(api: Api) -> dict[str, str]:
    return {"Authorization": f"Bearer {api.token(tenant='fuzz', seconds=3600)}"}


# Schemathesis's own plugin makes the requests of all operations while pytest collects, in each of its workers.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("reads", [True, False], ids=["reads", "writes"])
def test_every_operation(reads: bool, described: Any, api: Api, caller: dict[str, str]) -> None:
    # What schemathesis works out of the description, each bound and each type, comes as explicit examples; the rest is drawn.
    @few(1, derandomize=True, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
    def check(case: Any) -> None:
        case.call_and_validate(base_url=api.running.api.url, headers=caller, checks=CHECKS, timeout=30, session=session)

    operations = [found.ok() for found in described.get_all_operations()]
    chosen = [operation for operation in operations if (operation.method.upper() == "GET") is reads]
    assert len(chosen) > 10
    config = HypothesisTestConfig(project=described.config, modes=list(HypothesisTestMode))
    with requests.Session() as session:
        session.trust_env = False  # else it looks for proxies at each request
        for operation in chosen:
            create_test(operation=operation, test_func=check, config=config)()


def test_it_is_served(api: Api) -> None:
    served = api.call("GET", "/openapi.json", token="").body
    assert served["openapi"] == "3.1.0" and served == json.loads(describe(app(), PREFIX))
    assert {"/health", "/ready", "/api/v1/workflows", "/api/v1/executions/{execution_id}"} <= set(served["paths"])


def test_a_page_shows_it(api: Api) -> None:
    page = api.call("GET", "/docs", token="", headers={"Accept-Encoding": "gzip"})
    assert page.status == 200 and "SwaggerUIBundle" in page.body and "/api/v1/executions/{execution_id}/logs" in page.body


def test_health_and_readiness_need_no_token(api: Api) -> None:
    assert api.call("GET", "/health", token="").body["status"] == "up"
    assert api.call("GET", "/ready", token="").body == {"status": "up", "checks": {"catalog": "up", "executions": "up"}}


def test_events_are_those_of_api_gateway() -> None:
    """What the local gateway makes of a request has the parts that AWS documents, for format 2.0."""
    import io

    event = event_of({
        "REQUEST_METHOD": "POST", "PATH_INFO": "/api/v1/workflows", "QUERY_STRING": "a=1&a=2&b=x+y%2F", "CONTENT_LENGTH": "2",
        "CONTENT_TYPE": "application/json", "HTTP_X_ONE": "1", "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": io.BytesIO(b"{}"),
    })  # fmt: skip
    assert event["queryStringParameters"] == {"a": "1,2", "b": "x y/"} and event["body"] == "{}"
    assert event["headers"] == {"x-one": "1", "content-type": "application/json", "content-length": "2"}
    assert event["requestContext"]["http"]["method"] == "POST" and event["version"] == "2.0"
    assert handler(event, None)["statusCode"] == 401
