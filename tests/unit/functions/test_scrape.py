"""scrape steps: pages of a server on loopback, browsers by a port in memory."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aslant import bootstrap
from aslant.adapters import page_program, page_reader
from aslant.adapters.page_reader import SeparateReader
from aslant.configs.check import check_config
from aslant.errors import PayloadTooLarge, StepTimeout, ValidationError
from aslant.http_ports import HttpResponse
from aslant.page_ports import PageQuery, RenderedPage
from functions.steps.scrape.handler import handler
from tests.examples import few
from tests.unit.runtime.fakes import MemoryArtifacts

pytestmark = pytest.mark.usefixtures("loopback")

SHOP = b"""<!DOCTYPE html><html><head><title> The
 shop </title><style>p {}</style></head><body>
<nav><a href="/home">Home</a></nav>
<ul><li class="item" id="a1" data-sku="A1"><h2>Nut</h2><b class="price">3</b> <a href="item/1?x=1">more</a><a href="mailto:x@y">mail</a></li>
<li class="item" data-sku="B2"><h2>Bolt</h2> and <i>washer</i><script>track()</script><br>second line</li></ul>
<p>caf\xc3\xa9</p></body></html>"""


@pytest.fixture
def artifacts(monkeypatch):
    store = MemoryArtifacts()
    monkeypatch.setattr(bootstrap, "artifacts", lambda settings: store)
    return store


@pytest.fixture
def run(invocation, artifacts):
    return lambda config, **more: handler(invocation("scrape", {"delay": 0, **config}, **more), None)["output"]


@pytest.fixture
def shop(server):
    server.answer("/shop", 200, SHOP, Content_Type="text/html")
    return server


def paths(server):
    return [seen.path for seen in server.seen]


def test_the_whole_page_as_a_person_reads_it(run, shop):
    output = run({"url": f"{shop.url}/shop"})
    (page,) = output["pages"]
    assert (page["url"], page["status"], page["title"], page["found"], output["count"]) == (f"{shop.url}/shop", 200, "The shop", 1, 1)
    assert page["elements"] == [{"text": "Home\nNut\n3 moremail\nBolt\nand washer\nsecond line\ncafé"}]
    assert shop.seen[-1].headers["user-agent"] == "aslant"


def test_parts_of_elements(run, shop):
    config = {"url": f"{shop.url}/shop", "selector": "li.item", "extract": ["text", "links", "attributes", "html"]}
    first, second = run(config)["pages"][0]["elements"]
    assert first["text"] == "Nut\n3 moremail" and second["text"] == "Bolt\nand washer\nsecond line"
    assert first["links"] == [{"url": f"{shop.url}/item/1?x=1", "text": "more"}] and second["links"] == []
    assert first["attributes"] == {"class": "item", "id": "a1", "data-sku": "A1"}
    assert first["html"].startswith('<li class="item" id="a1"') and second["html"].endswith("</li>")


def test_fields_within_elements(run, shop):
    fields = {"name": "h2", "price": {"selector": ".price"}, "sku": {"attribute": "data-sku"},
              "links": {"selector": "a", "attribute": "href", "many": True}, "count": {"xpath": "count(a)"}}
    elements = run({"url": f"{shop.url}/shop", "xpath": "//li", "fields": fields})["pages"][0]["elements"]
    assert [each["fields"] for each in elements] == [
        {"name": "Nut", "price": "3", "sku": "A1", "links": [f"{shop.url}/item/1?x=1", "mailto:x@y"], "count": "2"},
        {"name": "Bolt", "price": None, "sku": "B2", "links": [], "count": "0"}]


@pytest.mark.parametrize(("xpath", "texts"), [
    ("//li/@data-sku", ["A1", "B2"]), ("count(//li)", ["2"]), ("//h2/text()", ["Nut", "Bolt"]), ("//none", []), ("1 = 1", ["true"]),
])
def test_values_of_xpath(run, shop, xpath, texts):
    assert [each["text"] for each in run({"url": f"{shop.url}/shop", "xpath": xpath})["pages"][0]["elements"]] == texts


@pytest.mark.parametrize("config", [
    {"selector": "li["}, {"selector": "a::before-nothing(("}, {"xpath": "//["}, {"xpath": "unknown()"}, {"xpath": "document('file:///etc/passwd')"},
    {"fields": {"x": {"xpath": "$undefined"}}}, {"xpath": "x:li"}, {"selector": "(" * 3000},
])
def test_queries_that_are_none(failure, shop, config):
    name, message = failure({"url": f"{shop.url}/shop", **config})
    assert name == "ValidationError" and ("selector" in message or "xpath" in message)


def test_pages_keep_their_order_and_share_the_limit(run, server):
    for number in range(6):
        server.answer(f"/{number}", 200, f"<p>{number}a</p><p>{number}b</p>".encode(), Content_Type="text/html; charset=utf-8")
    output = run({"urls": [f"{server.url}/{number}" for number in range(6)], "selector": "p", "limit": 5, "robots": False})
    assert [[each["text"] for each in page["elements"]] for page in output["pages"]] == [["0a", "0b"], ["1a", "1b"], ["2a"], [], [], []]
    assert output["count"] == 5 and [page["found"] for page in output["pages"]] == [2] * 6


def test_robots_are_asked_once_and_obeyed(run, failure, server):
    server.answer("/robots.txt", 200, b"User-agent: *\nDisallow: /\n\nUser-agent: aslant\nDisallow: /private\nAllow: /private/open$\n")
    for path in ("/a", "/private/x", "/private/open"):
        server.answer(path, 200, b"<p>x", Content_Type="text/html")
    run({"urls": [f"{server.url}/a", f"{server.url}/private/open"]})
    assert sorted(paths(server)) == ["/a", "/private/open", "/robots.txt"]
    name, message = failure({"url": f"{server.url}/private/x"})
    assert name == "AuthorizationError" and "robots.txt" in message and paths(server)[-1] == "/robots.txt"
    assert failure({"url": f"{server.url}/a", "user_agent": "other"})[0] == "AuthorizationError"
    run({"url": f"{server.url}/private/x", "robots": False})
    server.answer("/away", 302, b"", Location="/private/x")
    assert failure({"url": f"{server.url}/away"})[0] == "AuthorizationError"


@pytest.mark.parametrize(("status", "name"), [(404, None), (403, None), (500, "ServerError"), (503, "ServerError"), (429, "RateLimited")])
def test_robots_that_are_not_there(run, failure, shop, status, name):
    shop.answer("/robots.txt", status, b"User-agent: *\nDisallow: /\n")
    if name is None:
        run({"url": f"{shop.url}/shop"})
    else:
        assert failure({"url": f"{shop.url}/shop"})[0] == name
        assert paths(shop) == ["/robots.txt"]


def test_requests_to_one_host_are_apart(run, server, other_server):
    times = []

    def answer(seen):
        times.append(time.monotonic())
        return type(server.answers["/x"])(200, b"<p>x", {"Content-Type": "text/html"})

    server.answer("/x", 200, b"")
    server.answers["/p"] = answer
    server.answer("/robots.txt", 200, b"User-agent: *\nCrawl-delay: 0.3\n")
    run({"urls": [f"{server.url}/p"] * 3, "delay": 0.1})
    assert all(later - earlier >= 0.25 for earlier, later in zip(times, times[1:], strict=False))
    name, message = run_out = _failure_of(run, {"urls": [f"{server.url}/p"] * 5, "delay": 60}, timeout=5)
    assert name == "StepTimeout" and "60 s" in message, run_out


def _failure_of(run, config, **more):
    with pytest.raises(Exception) as caught:
        run(config, **more)
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.parametrize(("status", "kind", "name"), [
    (404, "text/html", "NotFoundError"), (500, "text/html", "ServerError"), (429, "text/html", "RateLimited"),
    (401, "text/html", "AuthenticationError"), (200, "application/pdf", "ValidationError"), (200, "image/png", "ValidationError"),
])
def test_pages_that_are_none(failure, server, status, kind, name):
    server.answer("/x", status, b"<p>x", Content_Type=kind)
    assert failure({"url": f"{server.url}/x"})[0] == name


def test_failed_pages_can_be_told_instead(run, failure, shop):
    urls = [f"{shop.url}/gone?key=1", f"{shop.url}/shop"]
    output = run({"urls": urls, "skip_failed": True, "selector": "h2"})
    assert output["pages"][0] == {"url": urls[0], "error": {"error": "NotFoundError", "message": f"{shop.url}/gone answered 404"}}
    assert output["count"] == 2
    assert failure({"urls": [urls[0], f"{shop.url}/lost"], "skip_failed": True})[0] == "NotFoundError"
    assert failure({"urls": urls})[0] == "NotFoundError"


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/"])
def test_private_addresses_are_refused(failure, url):
    assert failure({"url": url, "robots": False})[0] == "AuthorizationError"
    assert failure({"url": url})[0] == "AuthorizationError"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.com/", "javascript:alert(1)", "http://u:p@127.0.0.1/", "x",
    "http://[::1", "http://a b/", ""])
def test_addresses_that_are_no_pages(failure, url):
    assert failure({"url": url, "robots": False})[0] == "ValidationError"
    assert failure({"url": url})[0] == "ValidationError"


def test_pages_are_bounded(failure, server):
    server.answer("/x", 200, b"<p>" + b"x" * 2000, Content_Type="text/html")
    assert failure({"url": f"{server.url}/x", "max_page_bytes": 1000})[0] == "PayloadTooLarge"
    assert failure({"urls": ["http://127.0.0.1/"] * 101})[0] == "ValidationError"


def test_large_results_go_to_the_bucket(run, server, artifacts):
    text = "word " * 30_000
    server.answer("/x", 200, f"<title>Big</title><p>{text}".encode(), Content_Type="text/html")
    output = run({"url": f"{server.url}/x", "selector": "p"}, iteration=[2])
    assert output["pages"] == [{"url": f"{server.url}/x", "status": 200, "title": "Big", "found": 1}]
    stored = artifacts.get("acme", output["result"]["artifact"])
    assert output["result"] == {"artifact": "acme/exec-1/s%5B2%5D/pages.json", "name": "pages.json", "content_type": "application/json",
        "bytes": len(stored)}
    assert json.loads(stored)["pages"][0]["elements"] == [{"text": text.strip()}]


def test_a_secret_on_a_page_is_not_stored(run, server, artifacts, monkeypatch):
    class Secrets:
        def get(self, tenant, name):
            return "s3cret-value-9"

    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets())
    server.answer("/x", 200, b"<p>s3cret-value-9 " + b"y" * 200_000, Content_Type="text/html")
    output = run({"url": "", "selector": "p"}, secrets={"/url": [f"{server.url}/x?k=", {"secret": "k"}]})
    assert b"s3cret" not in artifacts.get("acme", output["result"]["artifact"]) and "s3cret" not in json.dumps(output)


class Browser:
    """Shows `page` for every address."""

    def __init__(self, page):
        self.page, self.requests = page, []

    @contextlib.contextmanager
    def open(self, timeout):
        yield self

    def render(self, request):
        self.requests.append(request)
        if isinstance(self.page, Exception):
            raise self.page
        return self.page


def test_a_browser_is_used_where_one_is_needed(run, failure, server, artifacts, monkeypatch):
    browser = Browser(RenderedPage(200, f"{server.url}/end", "<title>é</title><p>late</p>", b"\x89PNG"))
    monkeypatch.setattr(bootstrap, "browser", lambda settings: browser)
    urls = [f"{server.url}/1", f"{server.url}/2"]
    output = run({"urls": urls, "wait_for": "p", "screenshot": True, "selector": "p", "timeout": 7})
    assert [page["elements"] for page in output["pages"]] == [[{"text": "late"}]] * 2
    assert output["pages"][1]["screenshot"] == {"artifact": "acme/exec-1/s/page-2.png", "name": "page-2.png",
        "content_type": "image/png", "bytes": 4}
    assert artifacts.objects["acme/exec-1/s/page-1.png"] == b"\x89PNG"
    first = browser.requests[0]
    assert (first.url, first.wait_for, first.settle, first.screenshot) == (urls[0], "p", False, True) and first.timeout <= 7
    assert paths(server) == ["/robots.txt"]
    server.answer("/robots.txt", 200, b"User-agent: *\nDisallow: /end")
    assert failure({"url": urls[0], "wait_for_load": True})[0] == "AuthorizationError"
    browser.page = StepTimeout("slow")
    assert failure({"urls": urls, "wait_for_load": True, "robots": False})[0] == "StepTimeout"
    assert len(browser.requests) == 4


@pytest.mark.parametrize(("config", "words"), [
    ({"url": "a", "selector": "p", "xpath": "//p"}, "exclude each other"), ({"url": "a", "concurrency": 9}, "at most 8"),
    ({"url": "a", "extract": ["pictures"]}, "must be one of"), ({"url": "a", "delay": -1}, "at least 0"),
    ({"url": "a", "user_agent": "x\r\nHost: y"}, "is not a value"), ({"url": "a", "user_agent": "x\n"}, "is not a value"),
    ({"url": "a", "user_agent": "\0"}, "is not a value"), ({"url": "a", "extract": []}, "must not be empty"),
    ({"url": "a", "fields": {"x": {"selector": "p", "xpath": "p"}}}, "exclude each other"), ({"urls": ["a"] * 101}, "100 pages"),
])
def test_configurations_that_are_none(config, words):
    ((_, message),) = check_config("scrape", config)
    assert words in message


def read(data, kind="text/html", timeout=20.0, **query):
    return SeparateReader().read(data, kind, "http://x.example/a/", PageQuery(**query), timeout)


@pytest.mark.parametrize(("data", "kind", "text"), [
    ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"), ("é".encode(), "text/html", "é"),
    (b'<meta charset="windows-1252"><p>\x80', "text/html", "€"), ("é".encode(), "text/html; charset=nonsense", "é"),
    (b"\x00\xff<p>ok", "text/html", None), (b"", "text/html", None), (b"<!-- -->", "text/html", None),
    (b"<rss><item>one</item></rss>", "application/rss+xml", "one"), (b"<<<>>", "text/xml", None),
])
def test_character_sets_and_odd_pages(data, kind, text):
    found = read(data, kind)
    assert text is None or found["elements"][0]["text"] == text


def test_xml_has_no_entities_of_its_own():
    bomb = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname"><!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>1&x;&c;2</a>'
    (element,) = read(bomb, "text/xml", parts=["html", "text"])["elements"]
    with open("/etc/hostname") as file:
        assert file.read().strip() not in element["text"]
    assert "bbbb" not in element["text"]


def test_addresses_are_absolute():
    page = b"""<base href="/b/"><p><a href=" c ">x</a><a href="http://[bad">y</a><a href="javascript:alert(1)">z</a><a href="c">w</a>
        <a href="https://y.example/d">v</a><img src="//cdn.example/p.png"></p>"""
    (element,) = read(page, css="p", parts=["links"], fields={"picture": {"css": "img", "attribute": "src"}})["elements"]
    assert element["links"] == [{"url": "http://x.example/b/c", "text": "x"}, {"url": "http://[bad", "text": "y"},
        {"url": "https://y.example/d", "text": "v"}]
    assert element["fields"] == {"picture": "http://cdn.example/p.png"}


def test_a_query_that_takes_for_ever_ends():
    with pytest.raises(StepTimeout):
        read(b"<p>" * 3000, xpath="//*[count(//*[count(//*) > 0]) > 0]", timeout=1.5)


def test_what_is_taken_is_bounded(monkeypatch):
    monkeypatch.setattr(page_reader, "MOST_TEXT", 1000)
    with pytest.raises(PayloadTooLarge):
        read(b"<div>" * 100 + b"text", css="div", parts=["html"], limit=1000)
    with pytest.raises(ValidationError):
        read(b"<p>", css="p:has-no-such()")


def test_the_reader_has_no_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-in-the-mine")
    program = tmp_path / "program.py"
    program.write_text("import os, sys, json\nsys.stdin.buffer.read()\nprint(json.dumps({'environment': dict(os.environ)}))")
    monkeypatch.setattr(page_reader, "_PROGRAM", program)
    assert "canary-in-the-mine" not in json.dumps(read(b"<p>"))


PAGES = st.lists(st.sampled_from([
    "<p class=x>", "</p>", "<table><tr>", "<td>", "text", "<script>", "</script>", "<!--", "-->", "<![CDATA[", "]]>", "<?xml version='1.0'?>",
    "&amp;", "&#0;", "&#xd800;", "&#x110000;", "<a href='", "<a href=x>", "'>", "\x00", "\ufffe", "é", "<base href='//[x'>", "<svg:a xmlns:svg='x'>",
    "<title>", "<br/>", "<html><body>", "<template>", "<" * 40, "<div>" * 300, "<!DOCTYPE a [<!ENTITY b 'c'>]>", "&b;", "\r\n\t ", "<q:p>", "=\"\"",
]), max_size=12).map("".join)


@few(60, derandomize=True, database=None)
@given(page=PAGES.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=40),
       kind=st.sampled_from(["text/html", "text/xml", "text/html; charset=utf-16", "text/html; charset=punycode", "a; charset=zlib", "", "application/xhtml+xml", "a/b+xml; charset=x"]),
       css=st.sampled_from([None, "p", "*", ".x > a", "p:nth-child(2n+1)", "[href^=h]"]), xpath=st.sampled_from([None, "//text()", "//@*", "//comment()", "name(*)", "//*"]))
def test_any_page_is_read(page, kind, css, xpath):
    query = {"css": css, "xpath": None if css else xpath, "parts": ["text", "html", "attributes", "links"], "limit": 20,
             "fields": {"a": {"css": "a", "attribute": "href", "many": True}, "b": {"xpath": "string(.)"}, "c": {}}}
    try:
        answer = page_program.read({"query": query, "most": 100_000, "content_type": kind, "url": "http://x.example/"}, page)
    except page_program.TooLarge:
        return
    assert set(answer) == {"title", "elements", "found"} and len(answer["elements"]) <= 20
    json.dumps(answer, allow_nan=False)


def test_the_sample(sample, monkeypatch):
    class Pages:
        def send(self, request):
            robots = request.url.endswith("/robots.txt")
            return HttpResponse(404 if robots else 200, {"content-type": "text/html"}, b"<p class=article><h2>A</h2></p>", request.url)

    monkeypatch.setattr(bootstrap, "http", lambda settings: Pages())
    event = sample("scrape")
    event["config"]["delay"] = 0
    output = handler(event, None)["output"]
    assert [page["url"] for page in output["pages"]] == ["https://example.com/page1", "https://example.com/page2"]
    assert output["count"] == 2
