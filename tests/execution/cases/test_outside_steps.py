"""Steps that reach out (http, agent, email, notify) in compiled workflows on the local cloud."""

from __future__ import annotations

import json
import textwrap
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aslant import skills as registry
from aslant.adapters.aws_messages import SesMailer
from aslant.adapters.clients import client
from aslant.settings import Settings
from infra.local.runner import RunResult, run
from tests.unit.functions.conftest import Answer, Seen, Server
from translator.pipeline import Source, compile_sources

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    server = Server()
    yield server
    server.close()
    registry.unregister()


def started(text: str, **inputs: Any) -> RunResult:
    return run(compile_sources([Source(textwrap.dedent(text), "w.yaml")]), inputs, time_scale=60, timeout=60)


def test_a_list_is_read_a_model_uses_a_tool_and_people_are_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def page(seen: Seen) -> Answer:
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(seen.path).query)
        number = int(asked["page"][0])
        return Answer(200, json.dumps([{"id": number}] if number < 3 else []).encode(), JSON)

    def chat(seen: Seen) -> Answer:
        messages = json.loads(seen.body)["messages"]
        call = {"id": "c1", "type": "function", "function": {"name": "risk_of", "arguments": '{"count": 2}'}}
        message = {"content": '{"risk": "low"}'} if messages[-1]["role"] == "tool" else {"content": None, "tool_calls": [call]}
        return Answer(200, json.dumps({"choices": [{"message": message, "finish_reason": "stop"}],
                                       "usage": {"prompt_tokens": 10, "completion_tokens": 5}}).encode(), JSON)

    server.answers |= {"/changes": page, "/v1/chat/completions": chat}
    server.answer("/hook", 200, b"ok")
    registry.register("risk_of", lambda count: {"low": count < 5})
    monkeypatch.setenv("ASLANT_MODEL", "some-model")
    monkeypatch.setenv("ASLANT_MODEL_PRICES", '{"some-model": "1/1"}')
    result = started("""
        dialect: canonical
        id: review
        inputs: {server: {type: string, required: true}}
        steps:
          - id: changes
            type: http
            config: {url: "{{ input.server }}/changes", pagination: {type: page}}
          - id: judge
            type: agent
            depends_on: [changes]
            config:
              endpoint: {url: "{{ input.server }}/v1"}
              prompt: "How risky are {{ len(steps.changes.output.body) }} changes?"
              output_format: json
              output_schema: {type: object, required: [risk], properties: {risk: {enum: [low, high]}}}
              tools: [risk_of]
          - id: letter
            type: email
            depends_on: [judge]
            config: {to: ada@example.com, subject: "Risk {{ steps.judge.output.risk }}", body: Hello}
          - id: tell
            type: notify
            depends_on: [judge]
            config: {channel: [sns, webhook, event], url: "{{ input.server }}/hook", message: "{{ steps.judge.output }}"}
        outputs:
          ids: "{{ [each.id for each in steps.changes.output.body] }}"
          risk: "{{ steps.judge.output.risk }}"
          sent: "{{ [each.channel for each in steps.tell.output.sent] }}"
          letter: "{{ steps.letter.output.by }}"
    """, server=server.url)
    assert result.status == "completed", result.error
    assert result.output == {"ids": [1, 2], "risk": "low", "sent": ["sns", "webhook", "event"], "letter": "ses"}
    assert (result.usage["tokens_in"], result.usage["tool_calls"]) == (20, 1)
    hook = next(json.loads(seen.body) for seen in server.seen if seen.path == "/hook")
    assert (hook["message"], hook["workflow"], hook["step"]) == ({"risk": "low"}, "review", "tell")


def test_a_page_and_a_table_are_read_and_a_report_is_made(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    page = b"<h1>Prices</h1><ul><li data-n='3'>tea</li><li data-n='4'>salt</li></ul>"
    server.answers["/prices"] = lambda seen: Answer(200, page, {"Content-Type": "text/html"})
    monkeypatch.setenv("ASLANT_DATABASE_ALLOW", "dynamodb:prices")

    def prepare() -> None:
        dynamodb = client("dynamodb", Settings.read().region)
        dynamodb.create_table(
            TableName="prices", KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}])
        dynamodb.put_item(TableName="prices", Item={"name": {"S": "tea"}, "n": {"N": "3"}})

    registry.register("prepare", prepare)
    result = started("""
        dialect: canonical
        id: prices
        inputs: {server: {type: string, required: true}}
        steps:
          - {id: table, type: skill, config: {skill: prepare}}
          - id: page
            type: scrape
            depends_on: [table]
            config:
              url: "{{ input.server }}/prices"
              selector: li
              fields: {name: {xpath: "string(.)"}}
              delay: 0
          - id: keep
            type: query
            depends_on: [page]
            config:
              database: dynamodb
              statements:
                - {query: "INSERT INTO prices VALUE {'name': ?, 'n': ?, 'of': {'page': [?]}}", parameters: ["{{ steps.page.output.pages[0].elements[1].fields.name }}", 4, "it's ?"]}
                - {query: "DELETE FROM prices WHERE name = ?", parameters: [tea]}
          - id: kept
            type: query
            depends_on: [keep]
            config: {database: dynamodb, query: "SELECT name, n, of FROM prices", read_only: true}
          - id: numbers
            type: transform
            depends_on: [kept]
            config: {operation: map, data: "{{ steps.kept.output.rows }}", script: "return [{'name': row['name'], 'n': row['n'] + len(row['of']['page'])} for row in data]"}
          - {id: text, type: transform, depends_on: [numbers], config: {data: "{{ steps.numbers.output }}", output_format: csv}}
          - id: report
            type: aggregate
            depends_on: [numbers]
            config: {aggregation: summarize, format: markdown_report, results: "{{ steps.numbers.output }}", title: Prices}
        outputs: {found: "{{ steps.page.output.count }}", text: "{{ steps.text.output }}", report: "{{ steps.report.output }}"}
    """, server=server.url)
    assert result.status == "completed", result.error
    assert (result.output["found"], result.output["text"]) == (2, "name,n\nsalt,5\n")
    assert result.output["report"].startswith("# Prices\n") and "- **sum**: 5" in result.output["report"]


FAILURES: dict[str, tuple[str, dict[str, Any]]] = {
    "AuthenticationError": ("/401", {}), "AuthorizationError": ("/403", {}), "NotFoundError": ("/404", {}),
    "RateLimited": ("/429", {}), "ServerError": ("/500", {}), "HttpError": ("/418", {}),
    "PayloadTooLarge": ("/large", {"max_response_bytes": 10}),
    "ValidationError": ("/large", {"pagination": {"type": "page", "items": "rows"}}),
    "StepTimeout": ("/slow", {"timeout": 0.05}),
}


def test_each_error_class_reaches_the_machine_under_its_name(server: Server) -> None:
    done = threading.Event()

    def slow(seen: Seen) -> Answer:
        done.wait(10)
        return Answer(200)

    for status in (401, 403, 404, 429, 500, 418):
        server.answer(f"/{status}", status)
    server.json("/large", {"rows": "x" * 100})
    server.answers["/slow"] = slow
    steps = [
        {"id": name.lower(), "type": "http", "config": {"url": server.url + path, **more}, "on_failure": "continue",
         "retry": {"max_attempts": 1}}
        for name, (path, more) in FAILURES.items()
    ]
    definition = {"dialect": "canonical", "id": "failures", "steps": steps,
                  "outputs": {name: f"{{{{ errors.{name.lower()}.error }}}}" for name in FAILURES}}
    result = run(compile_sources([Source(json.dumps(definition), "w.json")]), {}, time_scale=20, timeout=60)
    done.set()
    assert result.status == "completed", result.error
    assert result.output == {name: name for name in FAILURES}


TASKS = """
    id: nightly
    name: Nightly
    version: "1.0.0"
    inputs: {{server: {{type: string, required: true}}}}
    tasks:
      - {{id: work, name: Work, type: {{type: transform, expression: "{expression}"}}}}
    config:
      notification_config:
        on_completion: [team@example.com]
        on_failure: [ops@example.com, lead@example.com]
        webhook_url: "${{input.server}}/hook"
"""


@pytest.mark.parametrize(("expression", "told"), [("1 + 1", "team@example.com"), ("1 / 0", "ops@example.com, lead@example.com")])
def test_who_is_told_depends_on_the_end(server: Server, expression: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    letters: list[tuple[list[str], str]] = []
    send: Callable[..., str] = SesMailer.send

    def noted(self: SesMailer, sender: str, to: list[str], subject: str, text: str) -> str:
        letters.append((to, subject))
        return send(self, sender, to, subject, text)

    monkeypatch.setattr(SesMailer, "send", noted)
    server.answer("/hook", 503)  # a channel that is down changes neither the outcome nor the others
    result = started(TASKS.format(expression=expression), server=server.url)
    assert result.status == ("completed" if told.startswith("team") else "failed"), result.error
    assert [", ".join(to) for to, _ in letters] == [told]
    assert letters[0][1].startswith("Nightly " + result.status)
    assert {seen.path for seen in server.seen} == {"/hook"}


def test_an_answer_is_kept_and_asked_for_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
    server.json("/v1/chat/completions", answer)
    monkeypatch.setenv("ASLANT_MODEL", "some-model")
    result = started("""
        dialect: canonical
        id: kept
        inputs: {server: {type: string, required: true}}
        steps:
          - id: each
            type: foreach
            items: "{{ ['tea', 'tea', 'salt'] }}"
            max_parallel: 1
            steps:
              - id: ask
                type: agent
                config: {endpoint: {url: "{{ input.server }}/v1"}, prompt: "Is {{ item }} good?"}
                cache: {ttl: 3600}
    """, server=server.url)
    assert result.status == "completed", result.error
    assert result.output == {"each": ["yes"] * 3}
    asked = [json.loads(seen.body)["messages"][-1]["content"] for seen in server.seen]
    assert asked == ["Is tea good?", "Is salt good?"]
