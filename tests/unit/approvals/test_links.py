"""Signed links and the notices that carry them."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aslant.approvals import notices
from aslant.approvals.links import Link, Links
from aslant.errors import ApprovalClosed, AuthorizationError
from aslant.http_ports import HttpRequest, HttpResponse
from aslant.messages import Ports
from aslant.settings import Settings
from tests.unit.approvals.conftest import NOW

LINKS = Links("https://workflows.example.com/", b"k" * 32)
LINK = Link("acme", "abc", "ann@example.com", "approve", NOW + 60)


def value(url: str) -> str:
    return parse_qs(urlsplit(url).query)["l"][0]


def test_a_link_says_who_answers_what():
    url = LINKS.write(LINK)
    assert url.startswith("https://workflows.example.com/approvals/answer?l=")
    assert LINKS.read(value(url), NOW) == LINK


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_any_text_survives(tenant, person, answer):
    link = Link(tenant, "abc", person, "answer", NOW + 60, answer)
    if any("\ud800" <= c <= "\udfff" for c in tenant + person + answer):
        return
    assert LINKS.read(value(LINKS.write(link)), NOW) == link


def test_an_old_link_is_refused():
    with pytest.raises(ApprovalClosed):
        LINKS.read(value(LINKS.write(LINK)), NOW + 60)


@given(st.data())
def test_a_changed_link_is_refused(data):
    text = value(LINKS.write(LINK))
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda c: c != text[at]))
    changed = text[:at] + other + text[at + 1:]
    content, _, signature = changed.partition(".")
    same = content == text.partition(".")[0] and _bits(signature) == _bits(text.partition(".")[2])
    if not same:
        with pytest.raises(AuthorizationError):
            LINKS.read(changed, NOW)


def _bits(text: str) -> bytes | None:
    return None if not text.isascii() else text.encode()


def test_links_of_another_installation_are_refused():
    forged = Links(LINKS.base, b"x" * 32).write(LINK)
    with pytest.raises(AuthorizationError):
        LINKS.read(value(forged), NOW)


class Sent:
    """Everything that leaves, by any channel."""

    def __init__(self) -> None:
        self.emails: list[tuple[list[str], str, str]] = []
        self.posts: list[HttpRequest] = []
        self.topics: list[tuple[str, str, str]] = []

    def send(self, *arguments: Any) -> Any:
        if len(arguments) == 1:
            self.posts.append(arguments[0])
            return HttpResponse(200, {}, b"", "")
        _, to, subject, text = arguments
        self.emails.append((list(to), subject, text))
        return "id"

    def publish(self, topic: str, subject: str, message: str) -> str:
        self.topics.append((topic, subject, message))
        return "id"

    def ports(self) -> Ports:
        made: Any = lambda: self  # noqa: E731
        return Ports(made, made, made, made)


def item(**config: Any) -> dict[str, Any]:
    return {
        "tenant": "acme", "approval_id": "abc", "execution": "exec-1", "workflow": "release", "step": "go", "iteration": [2],
        "expires_at": NOW + 60, "requester": "bob", "token": "SECRET-TOKEN", "reminded": 0,
        "config": {"message": "Ship it?", "approval_type": "approve_reject", **config},
    }


def test_every_approver_gets_links_of_their_own():
    sent = Sent()
    request = item(approvers=["ann@example.com", "eve@example.com", "role:ops", "carl"], notify={"channel": "email"})
    notices.notify(request, "asked", Settings(email_from="w@example.com"), sent.ports(), lambda: LINKS)
    assert [to for to, _, _ in sent.emails] == [["ann@example.com"], ["eve@example.com"]]
    for to, subject, text in sent.emails:
        urls = [word for word in text.split() if word.startswith("https://")]
        read = [LINKS.read(value(url), NOW) for url in urls]
        assert [(link.person, link.decision) for link in read] == [(to[0], "approve"), (to[0], "reject")]
        assert "Ship it?" in text and "go[2]" in text and "release" in subject


def test_a_choice_has_a_link_for_each_option():
    sent = Sent()
    request = item(
        approvers=["ann@example.com"], notify="email", approval_type="multiple_choice", options=["blue", "gr een"]
    )
    notices.notify(request, "asked", Settings(email_from="w@example.com"), sent.ports(), lambda: LINKS)
    links = [LINKS.read(value(word), NOW) for word in sent.emails[0][2].split() if word.startswith("https://")]
    assert [(link.decision, link.answer) for link in links] == [("answer", "blue"), ("answer", "gr een"), ("reject", None)]


@pytest.mark.parametrize("notify", ["sns", {"channel": "webhook", "url": "https://hook.example/x"},
                                    {"channel": "slack", "url": "https://hook.example/x"}])
def test_what_many_can_read_says_how_to_answer_and_holds_no_link(notify):
    sent = Sent()
    notices.notify(item(notify=notify), "reminder", Settings(notify_topic="arn:topic"), sent.ports(), lambda: LINKS)
    everything = json.dumps([sent.topics, [post.body.decode() for post in sent.posts if post.body]])
    assert "aslant approve abc" in everything and "answer?l=" not in everything


@pytest.mark.parametrize("links", [lambda: LINKS, lambda: None])
def test_the_token_is_in_no_message(links):
    sent = Sent()
    for notify in ("sns", "email", {"channel": "webhook", "url": "https://hook.example/x"}):
        settings = Settings(email_from="w@example.com", notify_topic="arn:topic")
        notices.notify(item(notify=notify, approvers=["ann@example.com"]), "asked", settings, sent.ports(), links)
    everything = repr((sent.emails, sent.topics, sent.posts))
    assert "SECRET-TOKEN" not in everything
    assert base64.b64encode(b"SECRET-TOKEN").decode() not in everything
    assert len(sent.emails) == len(sent.topics) == len(sent.posts) == 1


def test_nobody_is_told_where_nothing_is_set():
    sent = Sent()
    notices.notify(item(), "asked", Settings(), sent.ports(), lambda: LINKS)
    assert (sent.emails, sent.posts, sent.topics) == ([], [], [])


def test_the_same_notice_has_the_same_key_and_another_one_another():
    sent = Sent()
    request = item(notify={"channel": "webhook", "url": "https://hook.example/x"})
    for kind in ("asked", "asked", "reminder"):
        notices.notify(request, kind, Settings(), sent.ports(), lambda: None)
    first, again, reminder = (post.headers["Idempotency-Key"] for post in sent.posts)
    assert first == again != reminder
