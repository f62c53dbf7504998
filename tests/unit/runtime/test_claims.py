"""Values that are stored outside of the state machine, and given back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aslant.claims import Claims
from aslant.errors import NotFoundError, PayloadTooLarge
from aslant.values import size
from tests.unit.runtime.fakes import MemoryArtifacts


@pytest.fixture
def claims() -> Claims:
    return Claims(MemoryArtifacts(), "bucket", "t")


def is_claim(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"$ref", "size", "sha256"}


BODY = {"status": 200, "body": {"rows": ["x" * 1000] * 20, "next": "n", "more": "y" * 900}, "text": "z" * 5000}


def test_what_is_small_stays_as_it_is(claims: Claims) -> None:
    assert claims.fit(BODY, "e", over=size(BODY)) is BODY


def test_a_large_value_is_stored_and_given_back(claims: Claims) -> None:
    claim = claims.fit("界" * 2000, "e", over=6000)
    assert is_claim(claim) and claim["size"] == 6002 and claim["$ref"].startswith("s3://bucket/t/e/")
    assert claims.resolve({"a": [claim, 1]}) == {"a": ["界" * 2000, 1]}
    assert claims.fit("界" * 2000, "e", over=6002) == "界" * 2000


@pytest.mark.parametrize(("rules", "stored", "here"), [
    ({}, [""], []),
    ({"open": [""]}, ["/body"], ["/status", "/text"]),
    ({"open": ["/body"]}, ["/body/rows"], ["/status", "/body/next", "/body/more", "/text"]),
    ({"keep": ["/status"]}, ["/body"], ["/status", "/text"]),
    ({"keep": ["/body/next"]}, ["/body/rows"], ["/body/next", "/status"]),
    ({"keep": ["/status"], "over": 3000}, ["/body", "/text"], ["/status"]),
    ({"keep": ["/body"], "over": 3000}, ["/text"], ["/body", "/status"]),
    ({"keep": [""]}, [], [""]),
    ({"over": 0, "open": [""]}, ["/status", "/body", "/text"], []),
])
def test_what_the_state_machine_reads_stays_in_place(claims: Claims, rules: dict[str, Any], stored: list[str], here: list[str]) -> None:
    fitted = claims.fit(BODY, "e", **{"over": 9000, "most": 10**9} | rules)

    def at(value: Any, pointer: str) -> Any:
        for key in pointer.split("/")[1:]:
            value = value[key]
        return value

    assert all(is_claim(at(fitted, pointer)) for pointer in stored)
    assert all(at(fitted, pointer) == at(BODY, pointer) for pointer in here)
    assert claims.resolve(fitted) == BODY


def test_what_cannot_be_passed_on_says_what_is_read(claims: Claims) -> None:
    with pytest.raises(PayloadTooLarge, match=r"26,0\d\d bytes.*reads 2\d,\d\d\d \(/body\).*10,000 at most"):
        claims.fit(BODY, "e", over=9000, keep=["/body"], most=10_000)


def test_nothing_but_own_claims_is_resolved(claims: Claims) -> None:
    claim = claims.fit("x" * 1000, "e", over=10)
    others = [
        claim | {"more": 1}, {"$ref": claim["$ref"]}, claim | {"$ref": claim["$ref"].replace("/t/", "/u/")},
        claim | {"$ref": claim["$ref"].replace("bucket", "other")}, claim | {"sha256": "x"}, claim | {"size": "9"},
        {"$ref": "#/definitions/a"}, claim | {"size": True},
    ]
    assert claims.resolve(others) == others
    with pytest.raises(NotFoundError, match="not the one"):
        claims.resolve(claim | {"sha256": "0" * 64})
    with pytest.raises(NotFoundError):
        claims.resolve(claim | {"$ref": claim["$ref"] + "0"})
    with pytest.raises(PayloadTooLarge):
        claims.resolve(claim | {"size": 2**40})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=2000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4), max_leaves=12,
)


@given(JSON, st.integers(0, 3000), st.lists(st.sampled_from(["", "/a", "/a/b", "/~0"]), max_size=2), st.lists(st.sampled_from(["", "/a"])))
def test_every_value_comes_back(value: Any, over: int, keep: list[str], open: list[str]) -> None:
    claims = Claims(MemoryArtifacts(), "bucket", "t")
    value = json.loads(json.dumps(value))
    assert claims.resolve(claims.fit(value, "e", over=over, keep=keep, open=open, most=10**9)) == value
