"""Politeness: what robots.txt says, and time between two requests to the same host."""

from __future__ import annotations

import threading
import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

from aslant.errors import AuthorizationError, PayloadTooLarge, StepError, StepTimeout, ValidationError, http_error
from aslant.http_ports import Http, HttpRequest
from aslant.step import StepRun

_MOST_ROBOTS = 512_000   # bytes of a robots.txt; RFC 9309 asks for 500 KiB at least
_ROBOTS_TIME = 15.0      # seconds
_REDIRECTS = 5           # RFC 9309, 2.3.1.2
_LONGEST_DELAY = 60.0    # seconds that a robots.txt can make a reader wait


class Manners:
    """Shared by the threads of one step. `delay` is in seconds."""

    def __init__(self, http: Http, run: StepRun, user_agent: str, delay: float, *, robots: bool) -> None:
        self._http, self._run, self._user_agent, self._delay, self._robots = http, run, user_agent, delay, robots
        self._lock = threading.Lock()
        self._origins: dict[str, threading.Lock] = {}
        self._rules: dict[str, Any] = {}
        self._next: dict[str, float] = {}
        self.stopped = threading.Event()  # ends every wait

    def permit(self, url: str) -> None:
        """Raises AuthorizationError where robots.txt says no; its own failure (5xx, no answer) means no for now."""
        if not self._robots:
            return
        rules = self._rules_of(url)
        if rules is not None and not rules.can_fetch(url, self._user_agent):
            raise AuthorizationError(f"the robots.txt of {_split(url).netloc} does not permit this page")

    def wait(self, url: str) -> None:
        """Waits for the host's turn. Raises StepTimeout when that is beyond the step's end."""
        delay = self._delay
        rules = self._rules_of(url) if self._robots else None
        if rules is not None:
            delay = max(delay, min(float(rules.crawl_delay(self._user_agent) or 0), _LONGEST_DELAY))
        host = _split(url).netloc.lower()
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next.get(host, now))
            if turn >= self._run.deadline:
                raise StepTimeout(f"no time is left for all pages of {host}: {delay:g} s are between two of them")
            self._next[host] = turn + delay
        if self.stopped.wait(max(0.0, turn - time.monotonic())):
            raise StepTimeout("another page failed first")

    def _rules_of(self, url: str) -> Any:
        """The rules of a page's origin; None where there are none."""
        parts = _split(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        with self._lock:
            lock = self._origins.setdefault(origin, threading.Lock())
        with lock:
            if origin not in self._rules:
                self._rules[origin] = self._fetched(origin)
            return self._rules[origin]

    def _fetched(self, origin: str) -> Any:
        from protego import Protego

        headers = {"User-Agent": self._user_agent, "Accept": "text/plain,*/*;q=0.5"}
        request = HttpRequest("GET", f"{origin}/robots.txt", headers, None, self._run.remaining(_ROBOTS_TIME), _MOST_ROBOTS,
            _REDIRECTS)
        try:
            answer = self._http.send(request)
            if answer.status == 429 or answer.status >= 500:
                raise http_error(answer.status, f"answered {answer.status}")
        except (ValidationError, AuthorizationError):
            raise  # an address that no page of this origin can have either
        except PayloadTooLarge:
            raise AuthorizationError(f"the robots.txt of {origin} is too large to be understood") from None
        except StepError as error:
            raise type(error)(f"the robots.txt of {origin}: {error}", retry_after=error.retry_after) from None
        if answer.status // 100 != 2:
            return None
        return Protego.parse(answer.body.decode("utf-8", "replace"))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise ValidationError("the url is not an address") from None
