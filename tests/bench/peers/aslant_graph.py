"""The same graph by this compiler, from YAML text to ASL: `aslant_graph.py PREDECESSORS.json`. Prints the seconds after imports."""

import json
import sys
import time
from pathlib import Path

from tests.bench.graphs import written
from translator.pipeline import Source, compile_sources

text = written(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
started = time.perf_counter()
(compiled,) = compile_sources([Source(text)])
compiled.bind(dict.fromkeys(compiled.functions, "arn:aws:lambda:us-east-1:123456789012:function:f"))
print(time.perf_counter() - started)
