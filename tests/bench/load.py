"""`python -m tests.bench.load`: the API of `aslant dev` under load, over HTTP, in a process of its own; and what calls cost.

Each operation is first asked for as fast as so many connections get answers, which gives requests a second, and then at a fixed
rate below that, where a request's time counts from when it was due: a slow answer makes those behind it late. The process also
notes how long its API function took, and its CPU time without that of AWS's clients, which is moto's here. At last a thousand
executions run at once, and all must complete.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import urllib3

from aslant.settings import Settings
from infra.local.issuer import Issuer
from tests.bench import calls

CONNECTIONS = 8
READY = 60  # seconds for the process to come up
HANDLED = "handler.jsonl"
REST = """\
dialect: canonical
id: rest
inputs: {until: {type: string, required: true}}
steps: [{id: rest, type: wait, until: "{{ input.until }}"}]
"""
ASK = """\
dialect: canonical
id: ask
steps: [{id: ask, type: approval, config: {message: "On?", timeout: 36000}}]
"""
MADE = "dialect: canonical\nid: made-{n}\nsteps: [{{id: one, type: transform, config: {{data: \"{{{{ input.a ?? 1 }}}}\"}}}}]\n"


@dataclass
class Api:
    """The process under load."""

    url: str
    token: str
    boss: str  # the token of somebody else, who approves
    pid: int
    folder: Path
    http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=CONNECTIONS * 2, retries=False))

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.boss if path.endswith('/approve') else self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/yaml" if isinstance(body, str) else "application/json"
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode() if body is not None else None
        answer = self.http.request(method, f"{self.url}/api/v1{path}", body=data, headers=headers, timeout=120)
        return answer.status, json.loads(answer.data) if answer.data else None

    def need(self, method: str, path: str, body: Any = None) -> Any:
        status, found = self.call(method, path, body)
        if status >= 300:
            raise SystemExit(f"{method} {path}: {status} {found}")
        return found

    @property
    def memory(self) -> float:
        """MiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text("ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0


@contextmanager
def running() -> Iterator[Api]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ASLANT_"))}
        env |= {"ASLANT_START_RATE": "0", "ASLANT_BENCH": place}
        with subprocess.Popen(
            [sys.executable, "-m", "tests.bench.load", "--serve"], env=env, stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            try:
                assert process.stdout is not None
                watchdog = threading.Timer(READY, process.kill)
                watchdog.start()
                line = process.stdout.readline()
                watchdog.cancel()
                if not line:
                    raise SystemExit("the process under load did not come up")
                said = json.loads(line)
                token, boss = (
                    Issuer(folder / "data").token(
                        tenant="local", user=user, roles=["admin"], seconds=36_000, settings=Settings()
                    )
                    for user in ("bench", "boss")
                )
                yield Api(said["api"], token, boss, process.pid, folder)
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()


def serve() -> int:
    """The process: `aslant dev`, whose API function notes how long it works."""
    from functions.api import handler as module
    from infra.cli.main import main

    folder, original = Path(os.environ["ASLANT_BENCH"]), module.handler
    log = (folder / HANDLED).open("a", encoding="ascii", buffering=1)

    def timed(event: Any, context: Any) -> Any:
        calls.WATCHED.now = store = calls.Store()
        began, worked = time.perf_counter(), time.thread_time()
        answer = original(event, context)
        total, own = time.perf_counter() - began, time.thread_time() - worked - store.seconds
        log.write(json.dumps([_kind(event), round(total * 1000, 2), round(max(0.0, own) * 1000, 2)]) + "\n")
        return answer

    module.handler = timed
    with calls.watching():
        return main(["dev", "--json", "--port", "0", "--data", str(folder / "data")])


def _kind(event: Any) -> str:
    method, path = event["requestContext"]["http"]["method"], str(event["rawPath"])
    if path.endswith("/approve"):
        return "approve"
    if path.endswith("/execute"):
        return "start"
    if path.endswith("/workflows") and method == "POST":
        return "create"
    return "list" if path.endswith("/executions") else "status" if "/executions/" in path else "other"


def fast(work: Callable[[int], Any], seconds: float, numbers: Iterator[int]) -> float:
    """Requests a second, as fast as the connections get answers."""
    lock, done, until = threading.Lock(), [0], time.monotonic() + seconds

    def go() -> None:
        while time.monotonic() < until:
            with lock:
                number = next(numbers)
            work(number)
            with lock:
                done[0] += 1

    began = time.monotonic()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for one in [pool.submit(go) for _ in range(CONNECTIONS)]:
            one.result()
    return done[0] / (time.monotonic() - began)


def paced(work: Callable[[int], Any], rate: float, count: int, numbers: Iterator[int]) -> list[float]:
    """Milliseconds of each request from when it was due."""
    begin = time.monotonic() + 0.1

    def one(place: int, number: int) -> float:
        due = begin + place / rate
        time.sleep(max(0.0, due - time.monotonic()))
        work(number)
        return (time.monotonic() - due) * 1000

    with ThreadPoolExecutor(CONNECTIONS * 2) as pool:
        return sorted(pool.map(one, range(count), [next(numbers) for _ in range(count)]))


def at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def until(look: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if look():
            return True
        time.sleep(0.5)
    return look()


def measure(api: Api, seconds: float, rate: float, approvals: int) -> tuple[list[str], float]:
    """Loads each operation; the ids of executions that rest for hours, and how many a second were started."""
    far = (datetime.now(UTC) + timedelta(hours=10)).isoformat()
    for text in (REST, ASK):
        made = api.need("POST", "/workflows", text)
        api.need("POST", f"/workflows/{made['id']}/publish")
    ids: list[str] = []

    def start(number: int) -> None:
        ids.append(api.need("POST", "/workflows/rest/execute", {"input": {"until": far}})["id"])

    work: dict[str, Callable[[int], Any]] = {
        "create": lambda number: api.need("POST", "/workflows", MADE.format(n=number)),
        "start": start,
        "status": lambda number: api.need("GET", f"/executions/{ids[number % len(ids)]}"),
        "list": lambda number: api.need("GET", "/executions"),
    }
    print(f"{'over HTTP':10}{'req/s':>8}{'at rate':>9}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}")
    numbers = iter(range(10**9))
    rates: dict[str, float] = {}
    for kind, call in work.items():
        most = rates[kind] = fast(call, seconds, numbers)
        given = min(rate, 0.7 * most)
        _row(kind, most, given, paced(call, given, max(20, int(given * seconds)), numbers))
    asked = [api.need("POST", "/workflows/ask/execute", {})["id"] for _ in range(approvals)]
    waiting: list[str] = []

    def all_wait() -> bool:
        page: dict[str, Any] = {"next": None}
        waiting.clear()
        while True:
            page = api.need("GET", "/approvals?limit=100" + (f"&next={page['next']}" if page["next"] else ""))
            waiting.extend(one["id"] for one in page["items"])
            if page["next"] is None:
                return len(waiting) >= len(asked)

    if not until(all_wait, 120):
        raise SystemExit(f"only {len(waiting)} of {len(asked)} approvals wait")
    places = iter(waiting)
    given = min(rate, 0.5 * rates["start"])
    _row("approve", float("nan"), given, paced(
        lambda number: api.need("POST", f"/approvals/{next(places)}/approve", {}), given, len(waiting), iter(range(10**9)),
    ))  # fmt: skip
    return ids, rates["start"]


def _row(kind: str, most: float, rate: float, found: Sequence[float]) -> None:
    shown = f"{most:8.0f}" if most == most else f"{'':8}"
    print(f"{kind:10}{shown}{rate:9.0f}" + "".join(f"{at(found, share):9.1f}" for share in (0.5, 0.95, 0.99)), flush=True)


def handled(api: Api) -> None:
    rows = [json.loads(line) for line in (api.folder / HANDLED).read_text("ascii").splitlines()]
    print(f"{'function':10}{'calls':>8}{'p50 ms':>9}{'p95 ms':>9}   CPU without AWS's clients{'p50':>7}{'p95':>9}")
    for kind in ("create", "start", "status", "list", "approve"):
        total, own = (sorted(row[place] for row in rows if row[0] == kind) for place in (1, 2))
        print(f"{kind:10}{len(total):8}{at(total, 0.5):9.1f}{at(total, 0.95):9.1f}{'':28}{at(own, 0.5):7.1f}{at(own, 0.95):9.1f}")


def thousand(api: Api, already: Sequence[str], count: int, rate: float) -> None:
    """So many executions that run at once, all of which complete; `rate`: how many can be started a second."""
    began, moment = time.monotonic(), datetime.now(UTC) + timedelta(seconds=60 + 2 * count / rate)
    choose = random.Random(1)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        ids = list(pool.map(
            lambda _: api.need("POST", "/workflows/rest/execute", {"input": {"until": moment.isoformat()}})["id"], range(count)
        ))  # fmt: skip
    took = time.monotonic() - began
    if datetime.now(UTC) > moment:
        raise SystemExit(f"starting {count:,} executions took {took:.0f} s, longer than they rest; nothing ran at once")
    seen = {api.need("GET", f"/executions/{id}")["status"] for id in choose.sample(ids, min(50, count))}
    found = paced(lambda number: api.need("GET", f"/executions/{choose.choice(ids)}"), 5, 50, iter(range(10**9)))
    memory = api.memory

    def over() -> bool:
        return all(api.need("GET", f"/executions/{id}")["status"] == "completed" for id in choose.sample(ids, min(50, count)))

    done = until(over, 300 + (moment - datetime.now(UTC)).total_seconds())
    statuses: dict[str, int] = {}
    for id in ids:
        status = api.need("GET", f"/executions/{id}")["status"]
        statuses[status] = statuses.get(status, 0) + 1
    print(
        f"{count + len(already):,} executions at once: {count:,} started in {took:.0f} s, looked at while they ran: {sorted(seen)},"
        f" status p95 {at(found, 0.95):.0f} ms, {memory:.0f} MiB; afterwards {statuses}"
    )
    if not done or statuses != {"completed": count}:
        raise SystemExit("not all of them completed")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measure")
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second, at most")
    parser.add_argument("--approvals", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=1_000)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(calls.SIZES), help="stored executions that calls are counted with")
    asked = parser.parse_args()
    if asked.serve:
        sys.exit(serve())
    with running() as api:
        resting, started = measure(api, asked.seconds, asked.rate, asked.approvals)
        handled(api)
        if asked.at_once:
            thousand(api, resting, asked.at_once, started)
    if asked.sizes:
        calls.report(calls.measure(tuple(asked.sizes)))


if __name__ == "__main__":
    main()
