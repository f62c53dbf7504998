"""What `steps-shop.yaml` and `steps-shop-shelves.yaml` call: stand-ins for a landlord, suppliers and an inspector."""

from __future__ import annotations


class NotSafe(Exception):
    """The inspector does not let the shop open."""


def rent(street: str) -> dict[str, str]:
    return {"key": f"key of {street} 7"}


def give_back(thing: str) -> str:
    return f"{thing} is back"


def order(goods: str) -> dict[str, str]:
    return {"order": f"order of {goods}"}


def inspect(passes: bool) -> str:
    if not passes:
        raise NotSafe("there is no second exit")
    return "the shop may open"
