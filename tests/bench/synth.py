"""Synthesis of an installation with many workflows: time, memory, sizes of templates; and what each function is made of.

    python -m tests.bench.synth [workflows] [stacks]

Ends with 1 when a stack comes to CloudFormation's 500 resources or 1 MB.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from infra import assets
from infra.inventory import FUNCTIONS

FLOW = """\
dialect: canonical
id: flow-{number}
version: 1.0.0
steps:
  - {{id: ask, type: http, config: {{url: "https://example.com/{number}"}}}}
  - {{id: agree, type: approval, depends_on: [ask], config: {{message: "On?", timeout: 3600}}}}
  - {{id: tell, type: notify, depends_on: [agree], config: {{channel: event, event_type: done, data: {{n: {number}}}}}}}
"""


def main() -> int:
    workflows, stacks = (int(sys.argv[1]) if len(sys.argv) > 1 else 200), int(sys.argv[2]) if len(sys.argv) > 2 else 4
    print("Functions: files and bytes of source, beside the layers")
    for name, spec in FUNCTIONS.items():
        files = assets.modules(spec.module)
        print(f"  {name:28}{len(files):5}{sum((assets.ROOT / file).stat().st_size for file in files):10,}")
    with tempfile.TemporaryDirectory() as folder:
        return _synthesize(Path(folder), workflows, stacks)


def _synthesize(folder: Path, workflows: int, stacks: int) -> int:
    from aws_cdk import App

    from infra.app import build, definitions
    from infra.settings import StageSettings

    (folder / "in").mkdir()
    for number in range(workflows):
        (folder / "in" / f"{number}.yaml").write_text(FLOW.format(number=number))
    began = time.perf_counter()
    app = App(outdir=str(folder / "out"), context={"aws:cdk:enable-path-metadata": False})
    build(app, StageSettings(workflow_stacks=stacks), definitions(folder / "in"), layers=False)
    app.synth()
    took = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Synthesis of {workflows} workflows in {stacks} stacks: {took:.1f} s, {memory:.0f} MB (without Node)")
    failed = False
    for path in sorted((folder / "out").glob("*.template.json")):
        text = path.read_text("utf-8")
        count = len(json.loads(text)["Resources"])
        failed |= count >= 500 or len(text) >= 1_000_000
        print(f"  {path.name.removesuffix('.template.json'):28}{count:5} resources{len(text):10,} bytes")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
