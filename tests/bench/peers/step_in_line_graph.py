"""A graph of Lambda tasks by step-in-line: `step_in_line_graph.py PREDECESSORS.json`. Prints the seconds after imports."""

import json
import sys
import time
from pathlib import Path

from step_in_line.pipeline import Pipeline
from step_in_line.step import Step

graph = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
started = time.perf_counter()
made: list[Step] = []
for number, before in enumerate(graph):
    needs = [made[one] for one in before]
    made.append(Step(f"s{number}", lambda x: x, needs, "python3.11", depends_on=needs))
followed = {one for before in graph for one in before}
last = [step for number, step in enumerate(made) if number not in followed]
json.dumps(Pipeline("peer", steps=last).generate_step_functions())
print(time.perf_counter() - started)
