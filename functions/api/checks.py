"""What is looked at before a route is called, whichever it is: its parameters, who is meant, and `If-Match`."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware

from aslant.errors import AuthorizationError, PreconditionFailed
from functions.api.models import Body
from functions.api.request import check_query, tags_of
from functions.api.things import etag_of, thing_of

_ORGANIZATION = "organization_id"


def known(resolver: Any) -> None:
    """Raises BadParameter for a query parameter that the route does not have."""
    query = resolver.current_event.query_string_parameters or {}
    route = resolver.context["_route"]
    check_query((name for name in query if name != _ORGANIZATION), {one.alias for one in route.dependant.query_params})


def own(resolver: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """The tenant is the token's. Who names one besides must mean the same: nothing is done for another one by mistake."""
    caller, event = resolver.context.get("caller"), resolver.current_event
    if caller is not None:
        named = {(event.query_string_parameters or {}).get(_ORGANIZATION), event.headers.get("x-tenant-id")}
        named |= {one.organization_id for one in resolver.context["_route_args"].values() if isinstance(one, Body)}
        if named - {None, caller.tenant}:
            raise AuthorizationError("the token is of another organization than the request names")
    return next_middleware(resolver)


def matched(resolver: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """`If-Match` on any change (RFC 9110, 13.1.1). Raises PreconditionFailed when the thing is not as the caller saw it.

    The revision that matched goes on to the route (`request.revision_of`), which makes it a condition of its write.
    """
    event, caller = resolver.current_event, resolver.context.get("caller")
    given = event.headers.get("if-match")
    if given is not None and caller is not None and event.http_method != "GET":
        wanted = tags_of(given)
        thing = thing_of(resolver.context["settings"], caller.tenant, resolver.context["_route_args"])
        if thing is not None and wanted is not None:
            if etag_of(thing) not in wanted:
                raise PreconditionFailed(f"it has changed meanwhile: its ETag is {etag_of(thing)}")
            resolver.append_context(seen=thing)  # type: ignore[no-untyped-call]
    return next_middleware(resolver)
