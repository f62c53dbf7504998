"""The audit trail: every change with who made it, refusals too; read by admins of the tenant alone."""

from __future__ import annotations

from typing import Any

import pytest

from aslant import serving
from aslant.audit import AuditRecord, listed
from aslant.errors import ServerError, ValidationError
from tests.integration.api.conftest import Api, definition


def trail(api: Api, **more: Any) -> list[dict[str, Any]]:
    found, cursor = [], ""
    while True:
        answer = api.call("GET", f"/audit?limit=2{cursor}", tenant="watched", **more)
        assert answer.status == 200
        found += answer.body["items"]
        if answer.body["next"] is None:
            return found
        cursor = f"&next={answer.body['next']}"


def test_who_changed_what(api: Api) -> None:
    api.call("POST", "/workflows", definition("kept"), tenant="watched", user="ann")
    api.call("GET", "/workflows/kept", tenant="watched", user="ann")
    api.call("PUT", "/workflows/kept", definition("kept").replace("hello", "goodbye"), tenant="watched", user="ben", roles=["editor"])
    api.call("DELETE", "/workflows/kept", tenant="watched", user="eve", roles=["viewer"])
    api.call("POST", "/workflows/kept/publish", tenant="watched", user="ben", roles=["editor"], headers={"Idempotency-Key": "p"})
    api.call("POST", "/workflows/kept/publish", tenant="watched", user="ben", roles=["editor"], headers={"Idempotency-Key": "p"})
    id = api.call("POST", "/workflows/kept/execute", {}, tenant="watched", user="ben", roles=["editor"]).body["id"]
    api.call("POST", f"/executions/{id}/resume", {}, tenant="watched", user="ben", roles=["editor"])
    api.call("POST", f"/executions/{id}/cancel", {}, tenant="watched", user="ann")
    api.call("POST", "/workflows", definition("elsewhere"), tenant="unwatched", user="ann")
    found = list(reversed(trail(api)))
    assert [(one["user"], one["action"].split("/")[-1], one["status"]) for one in found] == [
        ("ann", "workflows", 201), ("ben", "{workflow_id}", 200), ("eve", "{workflow_id}", 403), ("ben", "publish", 200),
        ("ben", "execute", 202), ("ben", "resume", 409), ("ann", "cancel", 200),
    ]  # fmt: skip
    assert found[1]["about"] == {"workflow_id": "kept"} and found[1]["roles"] == ["editor"]
    assert found[1]["before"] != found[1]["after"] and None not in (found[1]["before"], found[1]["after"])
    assert found[3]["before"] == found[1]["after"], "nothing changed in between"
    assert found[5]["detail"] == "InvalidTransition" and found[6]["before"] != found[6]["after"]
    assert [one["user"] for one in api.call("GET", "/audit?user=eve", tenant="watched").body["items"]] == ["eve"]
    assert api.call("GET", "/audit?next=x", tenant="watched").status == 422


@pytest.mark.parametrize("role", ["editor", "viewer", "approver", "none"])
def test_only_admins_read_it(api: Api, role: str) -> None:
    assert api.call("GET", "/audit", tenant="watched", user="zoe", roles=[role]).status == 403


def test_what_cannot_be_noted_is_not_done(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def put(self, *given: Any) -> None:
            raise ServerError("no table")

    monkeypatch.setattr(serving, "audit_store", lambda settings: Broken())
    assert api.call("POST", "/workflows", definition("unnoted"), tenant="broken").status >= 400
    assert api.call("GET", "/workflows/unnoted", tenant="broken").status == 404


def test_pages_go_back_through_the_months() -> None:
    class Kept:
        def put(self, tenant: str, month: str, record: AuditRecord) -> None: ...

        def page(self, tenant: str, month: str, *, before: str | None, user: str | None, limit: int) -> list[tuple[str, AuditRecord]]:
            rows = [(f"{index}", AuditRecord(f"{month}-{index}", 0, "ann", (), "POST /x", {})) for index in (3, 2, 1)]
            rows = rows if month in ("2026-03", "2026-01", "2024-01") else []
            return [row for row in rows if before is None or row[0] < before][:limit]

    store, now, seen = Kept(), 1_774_000_000_000, []  # 2026-03-20
    cursor: str | None = None
    for _ in range(10):
        found, cursor = listed(store, "acme", now=now, user=None, limit=2, cursor=cursor)
        seen += [one.id for one in found]
        if cursor is None:
            break
    assert seen == [f"{month}-{index}" for month in ("2026-03", "2026-01") for index in (3, 2, 1)], "14 months at most"
    with pytest.raises(ValidationError):
        listed(store, "acme", now=now, user=None, limit=2, cursor="WyIyMDI2IiwgMV0")
