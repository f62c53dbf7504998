"""What is told of definitions that want something which is not there."""

from __future__ import annotations

from infra.cli import needs
from translator.pipeline import Source, compile_sources

SHOP = """
name: shop
triggers:
  - {type: webhook, config: {secret: shop_webhook}}
  - {type: webhook, config: {secret: other}}
steps:
  - {id: a, type: transform, config: {expression: "1"}}
"""


def test_webhooks_whose_secret_is_not_there_are_told_of() -> None:
    found = compile_sources([Source(SHOP, "shop.yaml")])
    (told,) = needs.unsigned(found, {"other"}.__contains__)
    assert told == "calls of the webhook webhook-1 of shop are refused: there is no secret shop_webhook"
    assert needs.unsigned(found, lambda name: True) == []
