"""Pages as Chromium shows them, driven by Playwright. The browser's only way out is `guarded_proxy`; it gets no environment,
keeps nothing from one page to the next, and is killed when a page's time is over.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aslant.adapters.guarded_http import target
from aslant.adapters.guarded_proxy import Proxy, guarded_proxy
from aslant.errors import (
    AuthorizationError,
    NetworkError,
    PayloadTooLarge,
    StepError,
    StepTimeout,
    StepTypeUnavailable,
    ValidationError,
)
from aslant.page_ports import PageRequest, RenderedPage

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_SIZE = {"width": 1280, "height": 800}
_TALLEST = 16_384     # points of a picture
_QUIET = 5.0          # seconds that a page may take to become quiet after it has loaded
_GRACE = 0.5          # seconds after a page's end in which the browser may still give up by itself
_ENDING = 1.0         # seconds that are kept for telling that a page took too long
_FLAGS = (
    # Names are resolved by the proxy alone; WebRTC, QUIC and the browser's own services would go past it.
    "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-domain-reliability",
    "--no-first-run", "--no-pings", "--dns-prefetch-disable", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-features=WebRtcHideLocalIpsWithMdns,MediaRouter,OptimizationHints,AutofillServerCommunication",
)


@dataclass(frozen=True, slots=True)
class Chromium:
    """`program` is a path, or empty for the first Chromium on PATH; `allow` opens private addresses (see `AllowList`)."""

    program: str
    sandbox: bool
    allow: Sequence[str] = ()

    @contextlib.contextmanager
    def open(self, timeout: float) -> Iterator[_Browsing]:
        program = self.program or next(filter(None, map(shutil.which, _NAMES)), None)
        if program is None or not os.access(program, os.X_OK):
            raise StepTypeUnavailable("pages that need a browser need Chromium; ASLANT_BROWSER says where it is")
        try:
            from playwright.sync_api import Error, sync_playwright
        except ImportError:
            raise StepTypeUnavailable("pages that need a browser need the Python package playwright") from None
        deadline = time.monotonic() + timeout - min(_ENDING, timeout / 10)
        with (
            tempfile.TemporaryDirectory(prefix="aslant-browser-", ignore_cleanup_errors=True) as home,
            guarded_proxy(self.allow, deadline) as proxy,
            sync_playwright() as playwright,
        ):
            settings = {
                "executable_path": program, "args": list(_FLAGS), "chromium_sandbox": self.sandbox,
                "env": {"HOME": home, "TMPDIR": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                "proxy": {"server": f"http://127.0.0.1:{proxy.port}", "bypass": "<-loopback>"},
                "handle_sigint": False, "handle_sigterm": False, "handle_sighup": False,
            }

            def launch() -> Any:
                try:
                    return playwright.chromium.launch(**settings, timeout=_milliseconds(deadline))  # type: ignore[arg-type]
                except Error as error:
                    raise _unstarted(str(error), deadline) from None

            browsing = _Browsing(launch, proxy, deadline)
            try:
                yield browsing
            finally:
                browsing.close()


class _Browsing:
    """One browser, or the next when a page had to be ended together with it. `deadline` is monotonic."""

    def __init__(self, launch: Callable[[], Any], proxy: Proxy, deadline: float) -> None:
        self.proxy, self.deadline, self._launch = proxy, deadline, launch
        self._browser = launch()
        self._process = _process(self._browser)

    def close(self) -> None:
        from playwright.sync_api import Error

        with contextlib.suppress(Error):
            self._browser.close()
        _kill(self._process)

    def render(self, request: PageRequest) -> RenderedPage:
        from playwright.sync_api import Error, TimeoutError

        where = target(request.url)
        deadline = min(self.deadline, time.monotonic() + request.timeout)
        self.proxy.traffic.begin(request.max_bytes)
        # Scripts that never end hold calls that take no time limit of their own.
        if not self._browser.is_connected():
            self.close()
            self._browser = self._launch()
            self._process = _process(self._browser)
        watch = threading.Timer(max(0.0, deadline - time.monotonic()) + _GRACE, _kill, (self._process,))
        watch.daemon = True
        watch.start()
        try:
            context = self._browser.new_context(
                viewport=_SIZE, user_agent=request.user_agent, accept_downloads=False, service_workers="block",
            )
            try:
                return self._seen(context.new_page(), request, deadline)
            finally:
                context.close()
        except TimeoutError:
            raise self._reason(where.shown, deadline, StepTimeout(f"{where.shown} did not load in time")) from None
        except Error as error:
            raise self._reason(where.shown, deadline, _page_error(where.shown, str(error))) from None
        finally:
            watch.cancel()

    def _seen(self, page: Any, request: PageRequest, deadline: float) -> RenderedPage:
        from playwright.sync_api import TimeoutError

        page.set_default_timeout(_milliseconds(deadline))
        answer = page.goto(request.url, wait_until="load", timeout=_milliseconds(deadline))
        if request.settle:
            with contextlib.suppress(TimeoutError):
                page.wait_for_load_state("networkidle", timeout=min(_QUIET * 1000, _milliseconds(deadline)))
        if request.wait_for is not None:
            page.wait_for_selector(f"css={request.wait_for}", state="attached", timeout=_milliseconds(deadline))
        here = page.url
        target(here)  # it is still of the web
        if self.proxy.traffic.spent or page.evaluate("document.documentElement.outerHTML.length") > request.max_bytes:
            raise PayloadTooLarge(f"{target(request.url).shown} loads more than {request.max_bytes:,} bytes")
        html = page.content()
        picture = self._picture(page, request, deadline) if request.screenshot else None
        return RenderedPage(answer.status if answer is not None else 0, here, html, picture)

    def _picture(self, page: Any, request: PageRequest, deadline: float) -> bytes:
        options: dict[str, Any] = {"type": "png", "timeout": _milliseconds(deadline), "animations": "disabled"}
        if request.full_page:
            height = page.evaluate("document.documentElement.scrollHeight")
            options |= {"full_page": True, "clip": {"x": 0, "y": 0, "width": _SIZE["width"],
                "height": max(_SIZE["height"], min(int(height), _TALLEST))}}
        picture: bytes = page.screenshot(**options)
        return picture

    def _reason(self, shown: str, deadline: float, otherwise: StepError) -> StepError:
        """Why a page failed, in the order of what explains the most."""
        if self.proxy.traffic.spent:
            return PayloadTooLarge(f"{shown} loads more than {self.proxy.traffic.most:,} bytes")
        if self.proxy.traffic.refused and isinstance(otherwise, NetworkError):  # the page itself, or where it redirects to
            return AuthorizationError(f"{shown} leads to an address that is not public; ASLANT_HTTP_ALLOW can open it")
        if time.monotonic() >= deadline:
            return StepTimeout(f"{shown} did not load in time")
        return otherwise


def _page_error(shown: str, text: str) -> StepError:
    line = text.partition("\n")[0]
    if "Download is starting" in line or "ERR_ABORTED" in line:
        return ValidationError(f"{shown} is no page but a file")
    if "is not a valid selector" in text or "parsing css selector" in text:
        return ValidationError("`wait_for` is no CSS selector")
    code = next((word for word in line.replace(":", " ").split() if word.startswith("ERR_")), "")
    return NetworkError(f"{shown}: the browser could not show the page{f' ({code})' if code else ''}")


def _unstarted(text: str, deadline: float) -> StepError:
    if time.monotonic() >= deadline:
        return StepTimeout("the browser did not start in time")
    if "without --no-sandbox" in text or "No usable sandbox" in text:
        return StepTypeUnavailable(
            "Chromium's sandbox does not work here; ASLANT_BROWSER_SANDBOX=0 does without, where nothing else can be had"
        )
    return StepTypeUnavailable("Chromium did not start; ASLANT_BROWSER says which one to use")


def _process(browser: Any) -> int:
    """The browser's process, which leads a group of its own."""
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return next(int(each["id"]) for each in found if each["type"] == "browser")


def _kill(process: int) -> None:
    with contextlib.suppress(OSError):
        if os.getpgid(process) == process:
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGKILL)


def _milliseconds(deadline: float) -> float:
    """What is left; Playwright takes 0 for no limit at all."""
    return max(1.0, (deadline - time.monotonic()) * 1000)
