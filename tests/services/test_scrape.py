"""scrape steps against nginx, with a real Chromium where pages are rendered."""

from __future__ import annotations

import os
import socket
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap
from functions.steps.scrape.handler import handler
from infra.local.runner import run
from tests.services.browser import decode
from tests.services.servers import Nginx, nginx
from tests.unit.runtime.fakes import ForgetfulSteps, MemoryArtifacts
from translator.pipeline import Source, compile_sources

Read = Callable[..., dict[str, Any]]

# What a page tries in order to reach an address that is closed; it writes down what it got.
ATTEMPTS = """<body><pre id="got"></pre><script>
const closed = "http://127.0.0.2:%d", got = [];
const note = (name, what) => { got.push(name + "=" + what); document.getElementById("got").textContent = got.join(" "); };
const tag = (name, fields) => new Promise(done => {
  const element = Object.assign(document.createElement(name), fields);
  element.onload = () => done("in"); element.onerror = () => done("out"); setTimeout(() => done("late"), 2500);
  document.body.append(element);
});
const tries = {
  fetch: () => fetch(closed + "/secret", {mode: "no-cors"}).then(() => "in", () => "out"),
  post: () => fetch(closed + "/secret", {method: "POST", body: "x", mode: "no-cors"}).then(() => "in", () => "out"),
  image: () => tag("img", {src: closed + "/secret"}),
  script: () => tag("script", {src: closed + "/secret"}),
  socket: () => new Promise(done => {
    const each = new WebSocket("ws://127.0.0.2:%d/secret"); each.onopen = () => done("in"); each.onerror = () => done("out"); }),
  worker: () => new Promise(done => {
    const source = `fetch("${closed}/secret", {mode: "no-cors"}).then(() => postMessage("in"), () => postMessage("out"))`;
    const each = new Worker(URL.createObjectURL(new Blob([source]))); each.onmessage = event => done(event.data); }),
  file: () => fetch("file:///etc/passwd").then(() => "in", () => "out"),
};
navigator.sendBeacon(closed + "/secret", "x");
document.head.insertAdjacentHTML("beforeend", `<link rel="preconnect" href="${closed}"><link rel="prefetch" href="${closed}/secret">`);
(async () => {
  for (const [name, attempt] of Object.entries(tries)) note(name, await attempt());
  const peer = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:%d"}]});
  peer.createDataChannel("x");
  await peer.setLocalDescription(await peer.createOffer());
  await new Promise(done => setTimeout(done, 1500));
  note("end", "end");
  document.body.insertAdjacentHTML("beforeend", "<p id='end'>end</p>");
})();
</script>"""


def servers(root: Path, port: int, closed: int) -> str:
    return f"""
  server {{
    listen 127.0.0.1:{port};
    default_type text/html;
    location / {{ try_files $uri =404; }}
    location = /robots.txt {{ default_type text/plain; return 200 "User-agent: *\\nDisallow: /private\\n"; }}
    location /into {{ return 302 http://127.0.0.2:{closed}/secret; }}
    location /moved {{ return 302 /late; }}
    location /file {{ default_type application/zip; add_header Content-Disposition attachment; return 200 "PK"; }}
    location /broken {{ return 503 "<p>closed</p>"; }}
  }}
  server {{
    listen 127.0.0.1:{closed};
    listen 127.0.0.2:{closed};
    default_type text/html;
    add_header Access-Control-Allow-Origin *;
    location / {{ return 200 "closed-secret"; }}
  }}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nginx]:
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    monkeypatch.setenv("ASLANT_BROWSER_SANDBOX", "0")  # CI runs as root
    with nginx(tmp_path, 2, servers) as server:
        for name, text in {
            "plain": "<title>Plain</title><p class=x>one</p><p class=x>two</p>",
            "late": "<title>Late</title><body style='margin:0;background:#ff0000'><script>setTimeout(() => {"
                    "document.body.insertAdjacentHTML('beforeend', '<p class=x>late</p><div style=\"height:3000px;background:#0000ff\">');"
                    "document.title = 'Later'}, 400)</script>",
            "endless": "<script>setTimeout(() => { for (;;) {} }, 50)</script>",
            "to_file": "<script>location = 'file:///etc/passwd'</script><iframe src='file:///etc/passwd'></iframe><p class=x>still here</p>",
            "dialog": "<script>alert('x'); confirm('y')</script><p class=x>after</p>",
            "agent": "<p class=x></p><script>document.querySelector('p').textContent = navigator.userAgent</script>",
            "large": "<script>fetch('/big').then(answer => answer.text())</script><p class=x>x</p>",
            "grows": "<script>document.write('<p>' + 'x'.repeat(3000000))</script>",
            "big": "x" * 6_000_000, "private": "<p>no</p>",
        }.items():
            (server.www / name).write_text(text)
        yield server


@pytest.fixture
def artifacts(monkeypatch: pytest.MonkeyPatch) -> MemoryArtifacts:
    store = MemoryArtifacts()
    monkeypatch.setattr(bootstrap, "artifacts", lambda settings: store)
    return store


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, artifacts: MemoryArtifacts) -> Read:
    steps = ForgetfulSteps()
    monkeypatch.setattr(bootstrap, "steps", lambda settings: steps)

    def call(*urls: str, **config: Any) -> dict[str, Any]:
        event = {"step": "read", "type": "scrape", "execution": {"id": "e-1", "tenant": "t", "workflow": "w"}, "attempt": 0,
            "timeout": 90, "config": {"urls": list(urls), "delay": 0, "timeout": 30, "selector": ".x", **config}}
        output = handler(event, None)["output"]
        assert isinstance(output, dict)
        return output

    return call


def failed(read: Read, *arguments: Any, **more: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        read(*arguments, **more)
    return type(caught.value).__name__, str(caught.value)


def texts(page: dict[str, Any]) -> list[str]:
    return [each["text"] for each in page["elements"]]


def test_static_pages(site: Nginx, read: Read) -> None:
    output = read(f"{site.url}/plain", f"{site.url}/late")
    assert [texts(page) for page in output["pages"]] == [["one", "two"], []]
    assert len(site.logged("/robots.txt")) == 1
    assert failed(read, f"{site.url}/private")[0] == "AuthorizationError"
    assert failed(read, f"{site.url}/into", robots=False)[0] == "AuthorizationError"
    assert site.seen("/secret") == [] and site.seen("/private") == []


def test_a_page_that_is_made_by_scripts_and_its_picture(site: Nginx, read: Read, artifacts: MemoryArtifacts) -> None:
    output = read(f"{site.url}/moved", f"{site.url}/agent", wait_for=".x", screenshot=True, full_page=True, user_agent="aslant/1")
    late, agent = output["pages"]
    assert (late["url"], late["title"], texts(late)) == (f"{site.url}/late", "Later", ["late"])
    assert texts(agent) == ["aslant/1"]
    assert {row["agent"] for row in site.logged("/agent")} == {"aslant/1"}
    picture = decode(artifacts.get("t", late["screenshot"]["artifact"]))
    assert picture.width == 1280 and picture.height > 3000
    colours = picture.colours()
    assert colours["#0000ff"] >= 1280 * 2900 and colours["#ff0000"] > 0
    small = read(f"{site.url}/late", screenshot=True)
    assert decode(artifacts.get("t", small["pages"][0]["screenshot"]["artifact"])).height == 800


def test_a_page_that_loads_by_itself(site: Nginx, read: Read) -> None:
    (page,) = read(f"{site.url}/dialog", wait_for_load=True)["pages"]
    assert texts(page) == ["after"]


def test_the_browser_reaches_nothing_that_is_closed(site: Nginx, read: Read) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stun:
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        closed = site.ports[1]
        (site.www / "attempts").write_text(ATTEMPTS % (closed, closed, stun.getsockname()[1]))
        (page,) = read(f"{site.url}/attempts", wait_for="#end", selector="#got")["pages"]
        with pytest.raises(BlockingIOError):
            stun.recv(2000)
    (text,) = texts(page)
    names = ("fetch", "post", "image", "script", "socket", "worker", "file")
    assert dict(each.split("=") for each in text.split()) == {**dict.fromkeys(names, "out"), "end": "end"}
    assert site.seen("/secret") == []


@pytest.mark.parametrize("path", ["http://127.0.0.2:{closed}/secret", "{url}/into", "http://10.0.0.1/", "http://169.254.169.254/latest"])
def test_pages_at_closed_addresses(site: Nginx, read: Read, path: str) -> None:
    url = path.format(url=site.url, closed=site.ports[1])
    name, message = failed(read, url, wait_for_load=True, robots=False)
    assert name == "AuthorizationError" and "closed-secret" not in message
    assert site.seen("/secret") == []


def test_files_of_the_machine_are_not_shown(site: Nginx, read: Read) -> None:
    output = read(f"{site.url}/to_file", wait_for_load=True, selector="body", extract=["text", "html"], screenshot=True)
    assert "root:" not in str(output)
    assert output["pages"][0]["url"] == f"{site.url}/to_file"


def test_a_page_that_never_ends_does_not_keep_the_others(site: Nginx, read: Read) -> None:
    urls = [f"{site.url}/endless", f"{site.url}/late"]
    first, second = read(*urls, wait_for=".x", timeout=8, skip_failed=True)["pages"]
    assert first["error"]["error"] == "StepTimeout" and texts(second) == ["late"]


@pytest.mark.parametrize(("path", "name"), [
    ("/broken", "ServerError"), ("/gone", "NotFoundError"), ("/file", "ValidationError"), ("/private", "AuthorizationError"),
    ("/large", "PayloadTooLarge"), ("/grows", "PayloadTooLarge"),
])
def test_pages_that_fail_in_the_browser(site: Nginx, read: Read, path: str, name: str) -> None:
    assert failed(read, site.url + path, wait_for_load=True, max_page_bytes=500_000)[0] == name


def test_an_element_that_does_not_come(site: Nginx, read: Read) -> None:
    assert failed(read, f"{site.url}/plain", wait_for="#never", timeout=4)[0] == "StepTimeout"
    assert failed(read, f"{site.url}/plain", wait_for="p[", timeout=4)[0] == "ValidationError"


@pytest.fixture
def own() -> Iterator[Path]:
    """A folder whose path is short: Chromium's sockets are in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_nothing_is_left_of_a_browser(site: Nginx, read: Read, monkeypatch: pytest.MonkeyPatch, own: Path) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-in-the-mine")
    monkeypatch.setattr("tempfile.tempdir", str(own))
    environments: list[bytes] = []

    def look() -> None:
        for process in _of(str(own)):
            environments.append(Path(f"/proc/{process}/environ").read_bytes())

    original = bootstrap.pages
    monkeypatch.setattr(bootstrap, "pages", lambda settings: _Looking(original(settings), look))
    read(f"{site.url}/late", wait_for_load=True)
    assert environments and not any(b"canary-in-the-mine" in each for each in environments)
    assert _of(str(own)) == []
    assert list(own.iterdir()) == []


class _Looking:
    def __init__(self, reader: Any, look: Callable[[], None]) -> None:
        self.reader, self.look = reader, look

    def read(self, *arguments: Any) -> Any:
        self.look()
        return self.reader.read(*arguments)


def _of(home: str) -> list[int]:
    """Processes of Chromium whose home is in a folder."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if f"HOME={home}".encode() in Path(f"/proc/{process}/environ").read_bytes():
                found.append(int(process))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("program", ["/usr/bin/no-such-browser", "/bin/false"])
def test_a_browser_that_does_not_start(site: Nginx, read: Read, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setenv("ASLANT_BROWSER", program)
    name, message = failed(read, f"{site.url}/plain", wait_for_load=True)
    assert name == "StepTypeUnavailable" and "ASLANT_BROWSER says" in message


def test_a_workflow_reads_pages_in_a_browser(site: Nginx) -> None:
    text = textwrap.dedent("""
        dialect: canonical
        name: reading
        inputs: {site: {type: string, required: true}}
        steps:
          - id: plain
            type: scrape
            config: {urls: ["{{ input.site }}/plain"], selector: p, limit: 1}
          - id: late
            type: scrape
            depends_on: [plain]
            timeout: 90
            config: {url: "{{ input.site }}/late", selector: .x, wait_for_load: true, screenshot: true}
        outputs:
          plain: "{{ steps.plain.output.pages[0].elements[0].text }}"
          late: "{{ steps.late.output.pages[0].elements[0].text }}"
          picture: "{{ steps.late.output.pages[0].screenshot.content_type }}"
    """)
    result = run(compile_sources([Source(text, "reading.yaml")]), {"site": site.url}, timeout=110)
    assert (result.status, result.error) == ("completed", None)
    assert result.output == {"plain": "one", "late": "late", "picture": "image/png"}
