"""Compiled workflows on the local cloud whose http steps talk to nginx."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.runner import RunResult, run
from tests.services.servers import Nginx, nginx, until
from translator.pipeline import Source, compile_sources

STOCK = '{"items": [{"sku": "A1", "left": 3}, {"sku": "B2", "left": 0}, {"sku": "C3", "left": 9}]}'


def servers(root: Path, port: int) -> str:
    return f"""
  server {{
    listen 127.0.0.1:{port};
    location /stock {{ default_type application/json; return 200 '{STOCK}'; }}
    location /orders {{
      default_type application/json;
      if (!-f {root}/open) {{ return 503 '{{"reason": "closed"}}'; }}
      return 201 '{{"order": 17}}';
    }}
    location /members {{ auth_basic members; auth_basic_user_file {root}/users; try_files /none @in; }}
    location @in {{ default_type text/plain; return 200 "$remote_user"; }}
  }}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nginx]:
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    (tmp_path / "users").write_text("ann:{PLAIN}open-sesame\n")
    with nginx(tmp_path, 1, servers) as server:
        yield server


def started(text: str, shop: Nginx, **more: Any) -> RunResult:
    compilations = compile_sources([Source("dialect: canonical\n" + textwrap.dedent(text), "shop.yaml")])
    return run(compilations, {"shop": shop.url}, timeout=60, **more)


def test_an_answer_is_the_input_of_a_later_step(shop: Nginx) -> None:
    result = started("""
        name: stock
        inputs: {shop: {type: string, required: true}}
        steps:
          - {id: ask, type: http, config: {url: "{{ input.shop }}/stock", query: {all: true}}}
          - id: low
            type: transform
            depends_on: [ask]
            config: {expression: "[item.sku for item in steps.ask.output.body.items if item.left < 5]"}
        outputs:
          low: "{{ steps.low.output }}"
          status: "{{ steps.ask.output.status_code }}"
          kind: "{{ steps.ask.output.headers['content-type'] }}"
    """, shop)
    assert (result.status, result.error) == ("completed", None)
    assert result.output == {"low": ["A1", "B2"], "status": 200, "kind": "application/json"}
    assert [row["uri"] for row in shop.logged("/stock")] == ["/stock?all=true"]
    assert result.usage["calls"] == 1


def test_a_server_that_is_busy_is_asked_again_with_the_same_key(shop: Nginx) -> None:
    def opens_after_two_refusals() -> None:
        until(lambda: len(shop.seen("/orders")) >= 2, "a second attempt")
        (shop.root / "open").touch()

    helper = threading.Thread(target=opens_after_two_refusals, daemon=True)
    helper.start()
    result = started("""
        name: order
        inputs: {shop: {type: string, required: true}}
        steps:
          - id: order
            type: http
            retry: {max_attempts: 8, delay: 1, multiplier: 1, on: [ServerError]}
            config: {url: "{{ input.shop }}/orders", method: POST, json: {sku: A1}}
        outputs: {order: "{{ steps.order.output.body.order }}", status: "{{ steps.order.output.status_code }}"}
    """, shop, time_scale=5)
    helper.join(20)
    assert (result.status, result.output) == ("completed", {"order": 17, "status": 201})
    attempts = shop.logged("/orders")
    statuses = [row["status"] for row in attempts]
    assert len(statuses) >= 3
    assert statuses == [503] * (len(statuses) - 1) + [201]
    assert len({row["key"] for row in attempts}) == 1 and attempts[0]["key"]


def test_a_server_that_stays_busy_fails_the_step_at_its_place(shop: Nginx) -> None:
    result = started("""
        name: order
        inputs: {shop: {type: string, required: true}}
        steps:
          - id: order
            type: http
            retry: {max_attempts: 3, delay: 1, multiplier: 1, on: [HttpError.503]}
            config: {url: "{{ input.shop }}/orders", method: POST, json: {sku: A1}}
    """, shop, time_scale=20)
    assert (result.status, len(shop.logged("/orders", 3))) == ("failed", 3)
    assert result.error is not None
    assert (result.error.error, result.error.step, result.error.position.line) == ("ServerError", "order", 6)
    assert 'answered 503: {"reason": "closed"}' in result.error.message


def test_a_secret_opens_the_door_and_is_never_in_a_result(shop: Nginx) -> None:
    text = """
        name: members
        inputs: {shop: {type: string, required: true}}
        steps:
          - id: enter
            type: http
            config:
              url: "{{ input.shop }}/members"
              auth: {type: basic, username: ann, password: "{{ secrets.door }}"}
        outputs: {who: "{{ steps.enter.output.body }}"}
    """
    welcome = started(text, shop, secrets={"door": "open-sesame"})
    assert (welcome.status, welcome.output) == ("completed", {"who": "ann"})
    refused = started(text, shop, secrets={"door": "open-barley"})
    assert refused.error is not None
    assert refused.error.error == "AuthenticationError"
    assert "open-barley" not in repr(refused)
