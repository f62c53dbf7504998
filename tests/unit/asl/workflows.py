"""Generated workflows that have no errors: every structural type, nested, with conditions, routes, policies and references."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

IDS = st.sampled_from(["load", "a-b", "Ünï", "a b", "x" * 75, "🚦", "item", "$s", "it's \"q\"", "{% x %}", "end", "steps", "a/0"])
ACTIONS = ["fail", "continue", {"action": "retry", "max_retries": 2, "then": "continue"}]
RETRY = {"max_attempts": 3, "strategy": "fibonacci", "delay": 2, "max_delay": 9, "jitter": True, "on": ["NetworkError", "StepTimeout"]}


class Writer:
    """Draws steps; ids are made unique by a number, and a step reads only what is settled before it."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def pick(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) < percent)

    def steps(self, readable: list[str], depth: int, most: int = 5) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = []
        above: dict[str, set[str]] = {}
        outcomes: dict[str, list[str]] = {}
        for _ in range(self.draw(st.integers(1, most))):
            self.count += 1
            name = f"{self.draw(IDS)}{self.count}"
            sources = self.draw(st.lists(st.sampled_from(sorted(above)), max_size=3, unique=True)) if above else []
            before = {one for source in sources for one in (source, *above[source])}
            reads = [*readable, *sorted(before)]
            step: dict[str, Any] = {"id": name, **self.kind(reads, depth)}
            edges = [self.edge(source, outcomes.get(source, []), reads) for source in sources]
            if edges:
                step["depends_on"] = edges
            if step["type"] == "choice":
                outcomes[name] = [*(case["name"] for case in step["cases"]), step["default"]]
            self.policies(step, reads)
            above[name] = before
            result.append(step)
        return result

    def edge(self, source: str, outcomes: list[str], reads: list[str]) -> Any:
        if outcomes and self.chance(70):
            return {"step": source, "on": sorted(self.draw(st.sets(st.sampled_from(outcomes), min_size=1, max_size=2)))}
        return {"step": source, "when": self.condition([source])} if self.chance(20) else source

    def reference(self, reads: list[str]) -> str:
        options = ["input.a", "vars.v", "execution.id"]
        options += ["steps[" + quoted(name) + "].output" for name in reads[-6:]]
        return str(self.pick(options))

    def condition(self, reads: list[str]) -> str:
        return f"{self.reference(reads)} == {self.pick(['1', 'null', chr(39) + 'é{%' + chr(39)])}"

    def kind(self, reads: list[str], depth: int) -> dict[str, Any]:
        kinds = ["skill", "transform", "choice", "wait", "notify", "approval", "workflow", "http"]
        match self.pick(kinds + (["parallel", "parallel", "foreach", "foreach"] if depth else [])):
            case "choice":
                cases = [{"name": f"c{number}", "when": self.condition(reads)} for number in range(self.draw(st.integers(1, 3)))]
                return {"type": "choice", "cases": cases, "default": "other", "mode": self.pick(["first", "all"])}
            case "parallel":
                branches = [{"steps": self.steps(reads, depth - 1, 3)} for _ in range(self.draw(st.integers(1, 3)))]
                more = {"max_parallel": 2} if self.chance(30) else {}
                return {"type": "parallel", "branches": branches, "wait_for_all": self.chance(50), **more}
            case "foreach":
                body = self.steps(reads, depth - 1, 3)
                body[0].setdefault("when", "item != index")
                return {"type": "foreach", "items": self.pick(["{{ input.rows }}", [1, {"a": 2}], "{{ [1, 2] }}"]), "steps": body,
                    "max_parallel": self.pick([1, 5, 40]), "on_item_error": self.pick(["fail", "continue"])}
            case "wait":
                return {"type": "wait", "seconds": self.pick([1, 60, "{{ input.n }}"])}
            case "transform":
                return {"type": "transform", "config": {"expression": "[" + self.reference(reads) + ", 1]"}}
            case "workflow":
                return {"type": "workflow", "workflow": "child", "input": {"a": "{{ " + self.reference(reads) + " }}"},
                    "wait_for_completion": self.chance(70)}
            case "approval":
                return {"type": "approval", "timeout": 60, "config": {"message": "x {{ " + self.reference(reads) + " }}"}}
            case "notify":
                return {"type": "notify", "config": {"channel": "sns", "message": "{{ " + self.reference(reads) + " }}{{ secrets.s }}"}}
            case "http":
                return {"type": "http", "config": {"url": "https://a.example/{{ " + self.reference(reads) + " }}", "method": "GET"}}
        return {"type": "skill", "config": {"skill": "s", "parameters": {"{% p": "{{ " + self.reference(reads) + " }}", "q": "{% $x %}"}}}

    def policies(self, step: dict[str, Any], reads: list[str]) -> None:
        if self.chance(20):
            step["when"] = self.condition(reads)
        if self.chance(25) and step["type"] not in ("choice", "wait"):
            step["on_failure"] = self.pick(ACTIONS)
        if self.chance(25) and step["type"] not in ("choice", "wait"):
            step["retry"] = RETRY
        if self.chance(20):
            step["output_key"] = f"key {self.count}"


def quoted(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


@st.composite
def workflows(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """A whole definition in the canonical spelling."""
    writer = Writer(draw)
    steps = writer.steps([], depth)
    found: dict[str, Any] = {"dialect": "canonical", "id": "w", "name": "W {% 1 %}", "variables": {"v": 1}, "steps": steps}
    names = [step["id"] for step in steps]
    if writer.chance(50):
        found["settings"] = draw(st.fixed_dictionaries({}, optional={
            "timeout": st.just(600), "max_parallel": st.integers(1, 3), "on_error": st.sampled_from(ACTIONS), "retry": st.just(RETRY)}))
    if writer.chance(30):
        found["finally"] = writer.steps(names, 1, 2)
    if writer.chance(30):
        found["notifications"] = [{"on": ["failed"], "config": {"channel": "sns", "message": "{{ execution.id }}"}}]
    if writer.chance(30):
        found["error_handlers"] = [{"errors": ["NetworkError", "*"], "action": "continue"}]
    if writer.chance(50):
        found["outputs"] = {"{% o": "{{ " + writer.reference(names) + " }}", "text": "${x} {% y %}"}
    return found
