"""A deployed archive is run in processes of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.local.deployed import Deployed
from infra.local.functions import Functions

Invoke = Callable[..., object]


@pytest.fixture
def invoke(tmp_path: Path) -> Iterator[Invoke]:
    functions, function = Functions("us-east-1"), Deployed("code.handler", (tmp_path,), {"GREETING": "hello"})
    functions.register("one", function, 30)

    def call(body: str, event: object) -> object:
        (tmp_path / "code.py").write_text(body)
        return json.loads(functions.invoke("one", json.dumps(event)).payload)

    yield call
    function.close()


def test_what_it_prints_is_no_part_of_its_answer(invoke: Invoke) -> None:
    body = "import os\nprint('imported')\n\ndef handler(event, context):\n    print('called')\n    return {**event, 'said': os.environ['GREETING'], 'by': context.function_name}\n"
    assert invoke(body, {"n": 1}) == {"n": 1, "said": "hello", "by": "one"}


def test_its_errors_keep_their_names(invoke: Invoke) -> None:
    found = invoke("class Odd(Exception): pass\n\ndef handler(event, context):\n    raise Odd('so')\n", {})
    assert isinstance(found, dict) and (found["errorType"], found["errorMessage"]) == ("Odd", "so")


def test_a_process_serves_further_events_and_one_that_ended_is_replaced(invoke: Invoke) -> None:
    body = "import os\nserved = []\ndef handler(event, context):\n    served.append(1)\n    return os._exit(3) if event['end'] else len(served)\n"
    assert [invoke(body, {"end": False}), invoke(body, {"end": False})] == [1, 2]
    found = invoke(body, {"end": True})
    assert isinstance(found, dict) and found["errorMessage"] == "Runtime.ExitError: the process ended with 3"
    assert invoke(body, {"end": False}) == 1
