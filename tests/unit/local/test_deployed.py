"""A deployed archive is run in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from infra.local.deployed import Deployed
from infra.local.functions import Functions


def invoke(folder: Path, body: str, event: object) -> object:
    (folder / "code.py").write_text(body)
    functions = Functions("us-east-1")
    functions.register("one", Deployed("code.handler", (folder,), {"GREETING": "hello"}), 30)
    return json.loads(functions.invoke("one", json.dumps(event)).payload)


def test_what_it_prints_is_no_part_of_its_answer(tmp_path: Path) -> None:
    body = "import os\nprint('imported')\n\ndef handler(event, context):\n    print('called')\n    return {**event, 'said': os.environ['GREETING'], 'by': context.function_name}\n"
    assert invoke(tmp_path, body, {"n": 1}) == {"n": 1, "said": "hello", "by": "one"}


def test_its_errors_keep_their_names(tmp_path: Path) -> None:
    found = invoke(tmp_path, "class Odd(Exception): pass\n\ndef handler(event, context):\n    raise Odd('so')\n", {})
    assert isinstance(found, dict) and (found["errorType"], found["errorMessage"]) == ("Odd", "so")
