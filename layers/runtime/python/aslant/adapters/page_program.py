"""The program that reads one page: `python -I -S page_program.py`, a line of JSON and the page on standard input.

Writes {"title", "elements", "found"}, {"error"} or {"too_large"} as JSON. Imports nothing of the product.
"""

import contextlib
import json
import re
import sys
from typing import Any
from urllib.parse import urljoin

_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre",
    "section", "table", "td", "th", "title", "tr", "ul",
})
_SILENT = frozenset({"script", "style", "noscript", "template", "head"})
_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_SPACES_ONLY = re.compile(r" {2,}")
_LINES = re.compile(r" ?\n[ \n]*")
_XML = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?xml\Z")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)


class TooLarge(Exception):
    """More text is wanted than may be given."""


class Wrong(Exception):
    """The query is none."""


class Budget:
    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, text: str) -> str:
        self.left -= len(text)
        if self.left < 0:
            raise TooLarge
        return text


def parsed(data: bytes, content_type: str, url: str) -> Any:
    """The root element; None for a page without any. Addresses in it are absolute."""
    from lxml import etree, html

    media = content_type.partition(";")[0].strip().lower()
    if _XML.match(media) and media != "application/xhtml+xml":
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
        try:
            return etree.fromstring(data, parser)
        except etree.XMLSyntaxError:
            return None
    try:
        root = html.document_fromstring(data, html.HTMLParser(encoding=encoding(data, content_type), no_network=True))
    except (etree.ParserError, etree.XMLSyntaxError):
        return None
    absolute(root, url)
    return root


def absolute(root: Any, url: str) -> None:
    """Makes the addresses of links and of what is shown absolute; what is no address stays."""
    for base in root.iter("base"):
        with contextlib.suppress(ValueError):
            url = urljoin(url, base.get("href", "").strip())
        break
    for element in root.iter("*"):
        for name in ("href", "src", "action", "poster"):
            if name in element.attrib:
                with contextlib.suppress(ValueError):
                    element.set(name, urljoin(url, element.get(name).strip()))


def encoding(data: bytes, content_type: str) -> str | None:
    """What the server says, or UTF-8 where it is that; None leaves it to the page."""
    from lxml import etree

    named = _CHARSET.search(content_type)
    if named:
        with contextlib.suppress(LookupError):
            etree.HTMLParser(encoding=named[1])
            return named[1]
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


def finder(css: str | None, xpath: str | None, *, markup: bool) -> Any:
    """A function that finds, beneath an element."""
    from cssselect import GenericTranslator, HTMLTranslator, SelectorError
    from lxml import etree

    if css is not None:
        try:
            xpath = (HTMLTranslator() if markup else GenericTranslator()).css_to_xpath(css)
        except (SelectorError, RecursionError) as error:
            raise Wrong(f"the selector is not CSS: {str(error)[:200]}") from None
    try:
        compiled = etree.XPath(xpath or "", regexp=False, smart_strings=False)
    except (etree.XPathError, ValueError, TypeError) as error:
        raise Wrong(f"the xpath is none: {str(error)[:200]}") from None

    def find(element: Any) -> list[Any]:
        try:
            found = compiled(element)
        except etree.XPathError as error:
            raise Wrong(f"the xpath has no value: {str(error)[:200]}") from None
        return found if isinstance(found, list) else [found]

    return find


def text_of(element: Any) -> str:
    """What a person would read, a line for each block."""
    pieces: list[str] = []
    walk = [(element, False)]
    while walk:
        here, leaves = walk.pop()
        silent = not isinstance(here.tag, str) or here.tag in _SILENT
        block = here.tag in _BLOCKS
        if leaves:
            if block and here.tag != "br":
                pieces.append("\n")
            if here is not element and here.tail:
                pieces.append(_SPACES.sub(" ", here.tail))
            continue
        if silent:
            if here is not element and here.tail:
                pieces.append(_SPACES.sub(" ", here.tail))
            continue
        if block:
            pieces.append("\n")
        if here.text:
            pieces.append(_SPACES.sub(" ", here.text))
        walk.append((here, True))
        walk.extend((child, False) for child in reversed(here))
    return _LINES.sub("\n", _SPACES_ONLY.sub(" ", "".join(pieces))).strip()




def plain(value: Any) -> str:
    """The text of an element, or of what an expression gave in place of one."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return text_of(value) if hasattr(value, "tag") else str(value)


def links_of(element: Any) -> list[dict[str, str]]:
    """The addresses that an element leads to, each once."""
    found: dict[str, str] = {}
    for link in element.iter("a", "area"):
        address = link.get("href", "").strip()
        if address.lower().startswith(("http://", "https://")) and address not in found:
            found[address] = text_of(link)
    return [{"url": address, "text": text} for address, text in found.items()]


def described(element: Any, query: dict[str, Any], fields: dict[str, Any], budget: Budget) -> dict[str, Any]:
    from lxml import etree

    is_element = hasattr(element, "tag")
    shown: dict[str, Any] = {}
    for part in query["parts"]:
        if part == "text":
            shown["text"] = budget.take(plain(element))
        elif part == "html":
            shown["html"] = budget.take(
                etree.tostring(element, encoding="unicode", method="html", with_tail=False) if is_element else plain(element)
            )
        elif part == "attributes":
            shown["attributes"] = dict(element.attrib) if is_element else {}
            budget.take("".join(map(str, shown["attributes"].values())))
        else:
            shown["links"] = links_of(element) if is_element else []
            for link in shown["links"]:
                budget.take(link["url"] + link["text"])
    if fields:
        shown["fields"] = {
            name: field_of(element if is_element else None, query["fields"][name], find, budget)
            for name, find in fields.items()
        }
    return shown


def field_of(element: Any, field: dict[str, Any], find: Any, budget: Budget) -> Any:
    """One value of an element: null where there is none."""
    found = [] if element is None else [element] if find is None else find(element)
    values = []
    for each in found:
        value = each.get(field["attribute"]) if field.get("attribute") and hasattr(each, "attrib") else plain(each)
        if value is None:
            continue
        values.append(budget.take(value))
        if not field.get("many"):
            return value
    return values if field.get("many") else None


def read(job: dict[str, Any], data: bytes) -> dict[str, Any]:
    query, budget = job["query"], Budget(job["most"])
    root = parsed(data, job["content_type"], job["url"])
    markup = root is None or isinstance(root.tag, str) and root.tag == "html"
    wanted = None
    if query["css"] is not None or query["xpath"] is not None:
        wanted = finder(query["css"], query["xpath"], markup=markup)
    fields = {
        name: finder(field.get("css"), field.get("xpath"), markup=markup) if field.get("css") or field.get("xpath") else None
        for name, field in query["fields"].items()
    }
    if root is None:
        return {"title": "", "elements": [], "found": 0}
    titles = root.xpath("//title") if markup else []
    body = root.find("body") if markup else None
    found = wanted(root) if wanted else [root if body is None else body]
    elements = [described(each, query, fields, budget) for each in found[: query["limit"]]]
    return {"title": text_of(titles[0])[:500] if titles else "", "elements": elements, "found": len(found)}


def main() -> None:
    import resource

    job = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    sys.path[:] = job["path"]
    import lxml.html  # noqa: F401 - before the limits close

    for kind, value in (("AS", job["memory"]), ("CPU", job["cpu"]), ("NOFILE", 32), ("FSIZE", 0), ("CORE", 0)):
        resource.setrlimit(getattr(resource, "RLIMIT_" + kind), (value, value))
    try:
        answer = read(job, data)
    except TooLarge:
        answer = {"too_large": True}
    except Wrong as error:
        answer = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
