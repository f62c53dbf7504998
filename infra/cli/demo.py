"""`make demo`: compiles a release pipeline and runs it on the local cloud, with an approver who says yes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from infra.cli.gantt import chart
from infra.cli.watch import Lines
from infra.local.approvals import Decision, Request
from infra.local.runner import run
from translator.pipeline import Source, compile_sources

FOLDER = Path(__file__).resolve().parent.parent / "workflows"
DEFINITION = FOLDER / "stages-release.yaml"
INPUT = {"version": "2.4.0", "environment": "production", "regions": ["eu-west", "us-east", "ap-south"]}
TIME_SCALE = 20


def say_yes(request: Request) -> Decision:
    print(f"           {request.label} asks: {request.message}  -> approved by the demo", file=sys.stderr)
    return Decision("approve", comment="looks good")


def main() -> int:
    (compiled,) = compile_sources([Source(DEFINITION.read_text(encoding="utf-8"), str(DEFINITION))])
    figures = compiled.estimate
    print(f"{DEFINITION.name}: {len(list(compiled.workflow.all_steps()))} steps became {figures.states} states, "
          f"{figures.bytes:,} bytes of Amazon States Language.")
    print(f"Running it on the local cloud, {TIME_SCALE} times as fast as its clock:\n", flush=True)
    result = run(
        [compiled], INPUT, skill_modules=[str(FOLDER / "release_skills.py")], approver=say_yes, time_scale=TIME_SCALE,
        observer=Lines(sys.stderr),
    )
    sys.stderr.flush()
    print("\nTimeline")
    print(chart(result))
    print(f"The execution {result.status}. Its output:")
    print(json.dumps(result.output, indent=2, ensure_ascii=False))
    return 0 if result.status == "completed" else 1


if __name__ == "__main__":
    sys.exit(main())
