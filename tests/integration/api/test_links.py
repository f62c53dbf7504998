"""Answering by the links of a message: as the mail that was sent has them."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from tests.integration.api.conftest import Api

FLOW = """\
dialect: canonical
id: {id}
outputs: {{by: "{{{{ steps.ask.output.by }}}}", yes: "{{{{ steps.ask.output.approved }}}}"}}
steps:
  - id: ask
    type: approval
    config: {{message: "Ship <it>?", approvers: [ben@example.com], timeout: 3600, on_reject: continue, notify: email}}
"""


@pytest.fixture
def asked(api: Api, request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """An execution that waits for ben, and the links of the mail to him by what they say."""
    id = re.sub(r"\W+", "-", request.node.name)[:40]
    api.call("POST", "/workflows", FLOW.format(id=id))
    api.call("POST", f"/workflows/{id}/publish")
    execution = api.call("POST", f"/workflows/{id}/execute", {}).body["id"]
    from moto.ses.models import ses_backends

    end = time.monotonic() + 30
    while True:
        mails = [mail for mail in ses_backends["123456789012"]["us-east-1"].sent_messages if execution in str(mail.body)]
        if mails:
            break
        assert time.monotonic() < end, "no mail is sent"
        time.sleep(0.05)
    return execution, dict(re.findall(r"^(\w+): (http\S+)$", str(mails[0].body), re.MULTILINE))


def output(api: Api, execution: str) -> Any:
    end = time.monotonic() + 30
    while (found := api.call("GET", f"/executions/{execution}").body)["status"] == "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    return found["output"]


def test_looking_decides_nothing_and_the_button_does(api: Api, asked: tuple[str, dict[str, str]]) -> None:
    execution, links = asked
    assert set(links) == {"Approve", "Reject"}
    for _ in range(2):
        page = api.http.request("GET", links["Approve"])
        text = page.data.decode()
        assert page.status == 200 and "Ship &lt;it&gt;?" in text and "<button>Approve</button>" in text
        assert "default-src 'none'" in page.headers["Content-Security-Policy"] and page.headers["Referrer-Policy"] == "no-referrer"
    assert api.call("GET", f"/executions/{execution}").body["status"] == "running"
    done = api.http.request("POST", links["Approve"])
    assert (done.status, "Thank you" in done.data.decode()) == (200, True)
    assert output(api, execution) == {"by": "ben@example.com", "yes": True}
    assert "approved already" in api.http.request("GET", links["Reject"]).data.decode()
    assert api.http.request("POST", links["Reject"]).status == 409, "the first answer counts"


def test_a_link_that_was_changed_does_not_work(api: Api, asked: tuple[str, dict[str, str]]) -> None:
    execution, links = asked
    content, mark = links["Reject"].rpartition("=")[2].split(".")
    base = links["Reject"].rpartition("=")[0]
    yes = links["Approve"].rpartition("=")[2].split(".")[0]
    for forged in (f"{yes}.{mark}", f"{content}.", content, "", "a.b", f"{content}.{mark}x"):
        for method in ("GET", "POST"):
            assert api.http.request(method, f"{base}={forged}").status == 403, forged
    assert api.call("GET", f"/executions/{execution}").body["status"] == "running"
