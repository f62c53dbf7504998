"""Powertools' resolver for a process with threads, and for any body.

In Lambda a process answers one request after another. The local service answers several at once in one process, where the
resolver as it is mixes them: it keeps a request's event and context in attributes of classes and of itself, and builds the
stack of middlewares of a route in the first request for it. Here each thread has its own, and all stacks are built at first.
Bodies are read by `aslant.bodies`, which refuses what the resolver's own reader mends or takes for a fault.
"""

from __future__ import annotations

import threading
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from aslant.bodies import NotJson, read_body
from aslant.errors import InvalidInput
from functions.api.request import body_of


class Event(APIGatewayProxyEventV2):
    """A request of API Gateway, payload format 2.0."""

    @property
    def json_body(self) -> Any:
        """The body's value; None without a body. Raises RequestValidationError, like the router for what fits no model."""
        try:
            return read_body(body_of(self)) if self.body else None
        except NotJson as error:
            raise RequestValidationError([{"type": "json_invalid", "loc": ("body",), "msg": str(error)}]) from None
        except InvalidInput as error:
            raise RequestValidationError([
                {"type": "json_unfit", "loc": ("body", *_parts(pointer)), "msg": message} for pointer, message in error.problems
            ]) from None  # fmt: skip


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


class _Request(threading.local):
    """What belongs to the request that a thread answers."""

    def __init__(self) -> None:
        self.event: Any = None
        self.context: dict[str, Any] = {}


class Resolver(APIGatewayHttpResolver):
    """The resolver of the API. `prepare` is called once all routes are there."""

    def __init__(self, **options: Any) -> None:
        self._request = _Request()
        super().__init__(**options)

    def prepare(self) -> None:
        for route in self._static_routes + self._dynamic_routes:
            route.compress = True  # for those who accept it
            route._build_middleware_stack(router_middlewares=self._router_middlewares, app=self)

    def _to_proxy_event(self, event: dict[str, Any]) -> Event:
        self._request.event = found = Event(event)
        return found

    @property
    def current_event(self) -> Any:  # type: ignore[override]
        return self._request.event

    @property
    def context(self) -> dict[str, Any]:
        return self._request.context

    @context.setter
    def context(self, value: dict[str, Any]) -> None:
        self._request.context = value
