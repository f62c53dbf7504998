"""Pages of the web: fetched or rendered, politely, and what is wanted of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from aslant.configs.scrape import MOST_PAGES, ScrapeConfig
from aslant.contracts import Json, StepResult
from aslant.errors import StepError, ValidationError, http_error
from aslant.http_ports import Http, HttpRequest
from aslant.page_ports import Browser, Browsing, PageQuery, PageReader, PageRequest
from aslant.ports import Artifacts
from aslant.step import StepRun, result
from aslant.values import compact, size
from functions.steps.scrape.manners import Manners

MOST_OUTPUT = 100_000    # bytes of JSON in the output; more goes to the bucket of artifacts
_MARKUP = ("text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml", "")
_WITH_ITS_PARTS = 4      # a rendered page loads scripts, styles and pictures, too
Page = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Ports:
    """The last two are made only when they are needed."""

    http: Http
    pages: PageReader
    browser: Callable[[], Browser]
    artifacts: Callable[[], Artifacts]


def scrape(config: ScrapeConfig, run: StepRun, ports: Ports) -> StepResult:
    """Reads the pages; the output is `pages` (in the order of the addresses) and `count`, the number of elements.

    A page has `url` (where it really was), `status`, `title`, `elements`, `found` (how many elements there are) and, if it
    was wanted, `screenshot`: the place of a PNG in the bucket of artifacts. An output that is large has no `elements`; the
    whole is then a JSON file at `result`. Raises the error of the page that failed first.
    """
    urls = [config.url] if config.url is not None else config.urls
    urls = [urls] if isinstance(urls, str) else list(urls or ())
    if len(urls) > MOST_PAGES:
        raise ValidationError(f"{len(urls)} pages; {MOST_PAGES} are the limit of a step")
    query = PageQuery(config.selector, config.xpath, list(dict.fromkeys(config.extract)), {
        name: {"css": piece.selector, "xpath": piece.xpath, "attribute": piece.attribute, "many": piece.many}
        for name, piece in config.fields.items()
    }, config.limit)
    job = _Job(config, run, ports, query, Manners(
        ports.http, run, config.user_agent, config.delay, robots=config.robots
    ))
    outcomes = _rendered(job, urls) if config.rendered else _fetched(job, urls)
    failures = [each for each in outcomes if isinstance(each, StepError)]
    if failures and (not config.skip_failed or len(failures) == len(urls)):
        raise failures[0]
    pages = [
        {"url": url, "error": {"error": type(each).__name__, "message": run.redactor.text(str(each))}}
        if isinstance(each, StepError) else each for url, each in zip(urls, outcomes, strict=True)
    ]
    return result(_output(job, _limited(pages, config.limit)), calls=len(urls))


@dataclass(frozen=True, slots=True)
class _Job:
    config: ScrapeConfig
    run: StepRun
    ports: Ports
    query: PageQuery
    manners: Manners


def _fetched(job: _Job, urls: Sequence[str]) -> list[Page | StepError]:
    """Pages by HTTP, several at a time. After a failure that counts, those that wait for their turn are given up."""
    first: list[StepError] = []

    def one(url: str) -> Page | StepError:
        try:
            return _fetch(job, url)
        except StepError as error:
            if not job.config.skip_failed:
                first.append(error)
                job.manners.stopped.set()
            return error

    with ThreadPoolExecutor(min(job.config.concurrency, len(urls) or 1)) as pool:
        outcomes = list(pool.map(one, urls))
    return [first[0]] if first else outcomes


def _fetch(job: _Job, url: str) -> Page:
    config, run = job.config, job.run
    job.manners.permit(url)
    job.manners.wait(url)
    headers = {"User-Agent": config.user_agent, "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5"}
    answer = job.ports.http.send(
        HttpRequest("GET", url, headers, None, run.remaining(config.timeout), config.max_page_bytes)
    )
    _expect(answer.status, url, run)
    if answer.url != url:
        job.manners.permit(answer.url)
    kind = answer.headers.get("content-type", "")
    media = kind.partition(";")[0].strip().lower()
    if media not in _MARKUP and not media.endswith("+xml"):
        raise ValidationError(f"{_shown(url, run)} is no page but {media[:80]}")
    return _page(job, answer.body, kind, answer.url, answer.status)


def _rendered(job: _Job, urls: Sequence[str]) -> list[Page | StepError]:
    """Pages by a browser, one after another."""
    outcomes: list[Page | StepError] = []
    with job.ports.browser().open(job.run.remaining()) as browsing:
        for number, url in enumerate(urls, 1):
            try:
                outcomes.append(_render(job, browsing, url, number))
            except StepError as error:
                if not job.config.skip_failed:
                    return [error]
                outcomes.append(error)
    return outcomes


def _render(job: _Job, browsing: Browsing, url: str, number: int) -> Page:
    config, run = job.config, job.run
    job.manners.permit(url)
    job.manners.wait(url)
    seen = browsing.render(PageRequest(
        url, run.remaining(config.timeout), config.user_agent, _WITH_ITS_PARTS * config.max_page_bytes,
        config.wait_for_load, config.wait_for, config.screenshot, config.full_page,
    ))
    _expect(seen.status, url, run)
    if seen.url != url:
        job.manners.permit(seen.url)
    page = _page(job, seen.html.encode("utf-8", "replace"), "text/html; charset=utf-8", seen.url, seen.status)
    if seen.screenshot is not None:
        page["screenshot"] = _stored(job, f"page-{number}.png", "image/png", seen.screenshot)
    return page


def _page(job: _Job, data: bytes, kind: str, url: str, status: int) -> Page:
    read = job.ports.pages.read(data, kind, url, job.query, job.run.remaining(job.config.timeout))
    return {"url": url, "status": status, **read}


def _limited(pages: list[Any], limit: int) -> list[Page]:
    """At most so many elements of all pages together."""
    for page in pages:
        if "elements" in page:
            page["elements"] = page["elements"][:limit]
            limit -= len(page["elements"])
    return pages


def _output(job: _Job, pages: list[Page]) -> Json:
    output: dict[str, Any] = {"pages": pages, "count": sum(len(page.get("elements", ())) for page in pages)}
    if size(output) <= MOST_OUTPUT:
        return output
    data = compact(job.run.redactor.json(output)).encode("utf-8", "surrogatepass")
    short = [{key: value for key, value in page.items() if key != "elements"} for page in pages]
    return {"pages": short, "count": output["count"], "result": _stored(job, "pages.json", "application/json", data)}


def _stored(job: _Job, name: str, kind: str, data: bytes) -> Json:
    """Where a file is, as an email step takes it for an attachment."""
    run = job.run
    key = job.ports.artifacts().put(run.tenant, run.execution, f"{run.label}/{name}", data)
    return {"artifact": key, "name": name, "content_type": kind, "bytes": len(data)}


def _expect(status: int, url: str, run: StepRun) -> None:
    if status // 100 != 2:
        raise http_error(status, f"{_shown(url, run)} answered {status}")


def _shown(url: str, run: StepRun) -> str:
    return run.redactor.text(url.partition("?")[0].partition("#")[0])[:300]
