"""`python -m tests.bench.peers`: compile time and memory beside other ways to a state machine in Python, in one run.

Each peer gets a virtual environment of its own in a temporary folder, from a lock with hashes; nothing of it is kept. What a peer does
differs: step-in-line only writes a task for each step, and the rest of a machine (data, failures, checks) is the user's; CDK writes the
states that it is told. Metaflow is not here: it registers a job definition with AWS Batch for each step before it writes JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.graphs import Graph, chain_graph, layered_graph

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
LIMIT = 120.0  # seconds for one graph
GRAPHS: dict[str, Graph] = {
    "chain of 100": chain_graph(100), "chain of 500": chain_graph(500), "chain of 1,000": chain_graph(1_000),
    "layers of ten, 100 steps": layered_graph(100), "layers of ten, 200 steps": layered_graph(200),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    script: str
    lock: str = ""     # of its requirements; none: this environment
    package: str = ""  # whose version is told
    takes: Callable[[str], bool] = lambda graph: True


PEERS = (
    Peer("Aslant", "aslant_graph.py"),
    Peer("step-in-line", "step_in_line_graph.py", "step_in_line.txt", "step-in-line"),
    Peer("AWS CDK", "cdk_chain.py", "cdk.txt", "aws-cdk-lib", lambda graph: graph.startswith("chain")),  # has no graphs
)


def main() -> None:
    print("Compile: the same graph by peers, in seconds after imports; memory is that of the largest process")
    with tempfile.TemporaryDirectory() as folder:
        pythons = {peer.name: _environment(peer, Path(folder)) for peer in PEERS}
        for graph, before in GRAPHS.items():
            (Path(folder) / "graph.json").write_text(json.dumps(before), encoding="utf-8")
            times: dict[str, float] = {}
            for peer in PEERS:
                if peer.takes(graph):
                    told, seconds = _run(pythons[peer.name], peer, Path(folder))
                    print(f"  {graph:25} {peer.name:13} {told}", flush=True)
                    if seconds is not None:
                        times[peer.name] = seconds
            own = times.pop("Aslant", None)
            if own and times:
                fastest = min(times, key=lambda name: times[name])
                print(f"  {graph:25} {fastest}, the fastest of the others, takes {times[fastest] / own:.2f} times as long")


def _environment(peer: Peer, folder: Path) -> str:
    if not peer.lock:
        print(f"  {peer.name}: this tree, Python {sys.version.split()[0]}")
        return sys.executable
    place = folder / peer.package
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(HERE / peer.lock)],
                   check=True, timeout=600, stderr=subprocess.DEVNULL)  # fmt: skip
    asked = f"import importlib.metadata as m; print(m.version({peer.package!r}))"
    version = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    print(f"  {peer.name}: {peer.package} {version}")
    return python


def _run(python: str, peer: Peer, folder: Path) -> tuple[str, float | None]:
    """What is to be told of one compilation, and its seconds; None when it gave none."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if not peer.lock:
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "layers" / "runtime" / "python")])
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        process = subprocess.Popen(
            ["timeout", str(LIMIT), python, str(HERE / peer.script), str(folder / "graph.json")],
            env=environment | {"JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1", "TMPDIR": str(folder)}, stdout=out, stderr=err,
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if code == 124:
            return f"more than {LIMIT:.0f} s", None
        if code:
            return f"fails: {(err.read().strip().splitlines() or ['without a word'])[-1][:100]}", None
        seconds = float(out.read().strip().splitlines()[-1])
    return f"{seconds:7.3f} s   {_mebibytes(used):5.0f} MiB   {used.ru_utime + used.ru_stime:6.2f} s of CPU with imports", seconds


def _mebibytes(used: resource.struct_rusage) -> float:
    return used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
