"""The page behind a signed link: it shows what is asked, and answers when a person presses the button.

Looking at it decides nothing, since mail programs look at every link.
"""

from __future__ import annotations

from html import escape
from typing import Annotated
from urllib.parse import quote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap, clock
from aslant.approvals.links import PATH, Link
from aslant.approvals.rules import Person
from aslant.errors import NotFoundError, StepError
from aslant.settings import Settings
from functions.api.problems import status_of

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]

Signed = Annotated[str, Query(alias="l", max_length=4000)]
_SAYS = {"approve": "Approve", "reject": "Reject"}
_HEADERS = {
    # Nothing is loaded or run, nobody frames it, and the address, which is the right to answer, goes nowhere.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:3em auto;padding:0 1em}"
    "button{font:inherit;padding:.5em 1.5em}"
)


@router.get(PATH, include_in_schema=False)
def ask(signed: Signed) -> Response[str]:
    settings = Settings.read()
    try:
        link = _read(settings, signed)
        item = bootstrap.approvals(settings).read(link.tenant, link.approval)
    except StepError as error:
        return _page(status_of(error), "This link does not work", str(error))
    if item["status"] != "pending":
        return _page(200, f"This is {item['status']} already", str(item["config"].get("message", "")))
    says = _SAYS.get(link.decision) or f"Answer: {link.answer}"
    form = (
        f'<form method="post" action="{escape(PATH)}?l={quote(signed)}"><button>{escape(says)}</button></form>'
        f"<p>as {escape(link.person)}, for workflow {escape(str(item['workflow']))}, step {escape(str(item['step']))}</p>"
    )
    return _page(200, "Your answer is needed", str(item["config"].get("message", "")), form)


@router.post(PATH, include_in_schema=False)
def answer(signed: Signed) -> Response[str]:
    settings = Settings.read()
    try:
        link = _read(settings, signed)
        made = bootstrap.approvals(settings).decide(
            link.tenant, link.approval, link.decision, by=Person(link.person, link.person), answer=link.answer
        )
    except StepError as error:
        return _page(status_of(error), "Your answer does not count", str(error))
    missing = made.get("missing")
    return _page(200, "Thank you", f"{missing} more must answer." if missing else "Your answer counts.")


def _read(settings: Settings, signed: str) -> Link:
    links = bootstrap.links(settings)
    if links is None:
        raise NotFoundError("this installation sends no links")
    return links.read(signed, clock.now())


def _page(status: int, title: str, text: str, more: str = "") -> Response[str]:
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p>{more}</html>"
    )
    return Response(status_code=status, content_type="text/html; charset=utf-8", body=body, headers=dict(_HEADERS))
