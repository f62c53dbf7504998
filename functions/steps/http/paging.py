"""Lists that come in pages: what the next request is, and when there is none."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass

from aslant.configs.http import Pagination
from aslant.contracts import Json
from aslant.errors import AuthorizationError, HttpError, ValidationError
from aslant.http_ports import HttpResponse
from aslant.values import compact

_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]+))*)")  # RFC 8288
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """What a page's request has instead of, or besides, the first one's: an address, or parameters."""

    url: str | None = None
    parameters: Mapping[str, Json] | None = None


@dataclass(slots=True)
class Read:
    """What was read so far; `latest` are the items of the latest page."""

    pages: int = 0
    items: int = 0
    latest: int = 0


def first(pages: Pagination) -> Page:
    """The first request's parameters."""
    return _page(pages, None if pages.type in ("link", "next", "cursor") else _start(pages))


def following(pages: Pagination, first_url: str, response: HttpResponse, body: Json, read: Read) -> Page | None:
    """The request after this page; None after the last.

    Raises AuthorizationError for an address on another host than the first: credentials stay there.
    """
    if pages.type in ("page", "offset"):
        last = read.latest == 0 or (pages.size is not None and read.latest < pages.size)
        return None if last else _page(pages, _start(pages) + (read.pages if pages.type == "page" else read.items))
    found = link(response.headers.get("link", ""), "next") if pages.type == "link" else at(body, pages.next or "")
    if found is None or found is False or found == "":
        return None
    if pages.type == "cursor":
        if isinstance(found, dict | list):
            raise ValidationError(f"the page's {pages.next} is no cursor")
        return _page(pages, found)
    if not isinstance(found, str):
        raise ValidationError(f"the page's {pages.next} is no address")
    return Page(url=_same_host(first_url, response.url, found))


def items_of(pages: Pagination, body: Json) -> list[Json]:
    """A page's items. Raises ValidationError where there is no list."""
    found = body if pages.items is None else at(body, pages.items)
    if found is None and body is not None and pages.items is not None:
        return []
    if not isinstance(found, list):
        raise ValidationError(f"the page has no list{f' at {pages.items}' if pages.items else ''}; `items` says where it is")
    return found


def at(body: Json, path: str) -> Json:
    """The value at a path of names and indexes with dots between; null when there is none."""
    here = body
    for part in path.split("."):
        if isinstance(here, dict):
            here = here.get(part)
        elif isinstance(here, list) and part.isascii() and part.isdigit() and int(part) < len(here):
            here = here[int(part)]
        else:
            return None
    return here


def link(header: str, relation: str) -> str | None:
    """The target of a Link header with this relation."""
    for match in _LINK.finditer(header[:20_000]):
        rel = _REL.search(match[2])
        if rel and relation in (rel[1] or rel[2] or "").lower().split():
            return match[1]
    return None


class Seen:
    """Refuses a page that was asked for already: a list that turns in a circle would never end."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def check(self, page: Page) -> None:
        text = compact([page.url, page.parameters])
        if text in self._known:
            raise HttpError("the list's pages lead back to one that was read already")
        self._known.add(text)


def _start(pages: Pagination) -> int:
    return pages.start if pages.start is not None else 1 if pages.type == "page" else 0


def _page(pages: Pagination, value: Json) -> Page:
    parameters: dict[str, Json] = {}
    if value is not None:
        parameters[pages.parameter or pages.type] = value
    if pages.size is not None:
        parameters[pages.size_parameter] = pages.size
    return Page(parameters=parameters)


def _same_host(first: str, here: str, there: str) -> str:
    try:
        url = urllib.parse.urljoin(here, there)
        old, new = urllib.parse.urlsplit(first), urllib.parse.urlsplit(url)
        same = (old.scheme, old.hostname, old.port) == (new.scheme, new.hostname, new.port)
    except ValueError:
        raise ValidationError("the address of the next page is none") from None
    if not same:
        raise AuthorizationError("the next page is on another host; pages are read from one host only")
    return url
