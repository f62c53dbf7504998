"""Generated canonical definitions: any shape that the dialects have to be able to say."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from([
    "load", "flip-coin", "étape-1", "It's a.b/c", "no", "items", "010", "🚦gate", "a b", "x_parallel_0",
])
PATHS = st.sampled_from(["input.a", "steps.load.output.total > 5", "vars.x ~ 'it''s'", "input.list[0]", "'}}'", '{"a": 1}'])
PIECES = st.one_of(
    st.sampled_from([
        "plain ", "\\{{", "$\\{{ not a hole }}", "yes", "1e3", "2024-11-01", "# x", "'", "{", "}", "$", "\n", ": ",
    ]),
    PATHS.map(lambda path: "{{ " + path + " }}"),
)
# Where braces touch, one text can be escaped in several ways.
TEXTS = st.lists(PIECES, max_size=4).map("".join).filter(lambda text: "{{{" not in text and "{\\{{" not in text)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 2**53), TEXTS)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6)
CONFIGS = st.dictionaries(st.sampled_from(["message", "url", "channel", "data"]), VALUES, max_size=3)
EXPRESSIONS = st.sampled_from(["input.a == 'x'", "steps['a b'].output", "input.n > 1 and not input.b", "'}}' in input.a"])
SECONDS = st.sampled_from([0.5, 1, 1.5, 30, 300, 86_400])
ACTIONS = st.sampled_from(["fail", "continue", "rollback", "compensate", "escalate"])


def _some(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


RETRIES = _some({}, {
    "max_attempts": st.integers(1, 8),
    "strategy": st.sampled_from(["immediate", "fixed", "linear", "exponential", "fibonacci", "adaptive"]),
    "delay": SECONDS, "max_delay": SECONDS, "multiplier": st.sampled_from([1, 2, 1.5]), "jitter": st.booleans(),
    "on": st.lists(st.sampled_from(["NetworkError", "StepTimeout"]), max_size=2),
})
FAILURES = st.one_of(ACTIONS, _some({"action": ACTIONS}, {"max_retries": st.integers(0, 5), "then": ACTIONS}))
SHARED: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["A name", "null", "1"]), "when": st.one_of(EXPRESSIONS, st.booleans()),
    "output_key": st.just("total"), "retry": RETRIES, "timeout": SECONDS, "on_failure": FAILURES,
    "cache": st.one_of(st.booleans(), _some({}, {"ttl": SECONDS, "key": TEXTS})), "checkpoint": st.booleans(),
    "pure": st.booleans(), "labels": st.dictionaries(NAMES, SCALARS, max_size=1),
}


@st.composite
def steps(draw: st.DrawFn, prefix: str = "", depth: int = 0) -> list[dict[str, Any]]:
    """A list of steps with edges between them; ids are unique in the whole definition through `prefix`."""
    result: list[dict[str, Any]] = []
    outcomes: dict[str, list[str]] = {}
    count: int = draw(st.integers(1, 5))
    for number in range(count):
        kinds = ["skill", "notify", "transform", "wait", "choice", "workflow", "approval"]
        kind = draw(st.sampled_from(kinds + (["parallel", "foreach"] if depth < 1 else [])))
        name = f"{prefix}{draw(NAMES)}{number}"
        step: dict[str, Any] = {"id": name, "type": kind, **draw(_some({}, SHARED))}
        step |= draw(_structure(kind, f"{name}.", depth))
        edges = draw(st.lists(st.sampled_from(result), max_size=2, unique_by=lambda other: other["id"])) if result else []
        if edges:
            step["depends_on"] = [_edge(draw, other["id"], outcomes.get(other["id"], [])) for other in edges]
        if kind == "choice":
            outcomes[name] = [case["name"] for case in step["cases"]] + [step["default"]]
        result.append(step)
    return result


def _edge(draw: st.DrawFn, step: str, outcomes: list[str]) -> Any:
    by_outcome: int = draw(st.integers(0, 1))
    if outcomes and by_outcome:
        return {"step": step, "on": [draw(st.sampled_from(outcomes))]}
    return step if draw(st.integers(0, 1)) else {"step": step, "when": draw(EXPRESSIONS)}


def _structure(kind: str, prefix: str, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    if kind == "choice":
        plain = EXPRESSIONS.map(lambda when: {"cases": [{"name": "true", "when": when}], "default": "false"})
        many = EXPRESSIONS.map(lambda when: {"mode": "all", "default": "other",
            "cases": [{"name": "high", "when": when}, {"name": "low", "when": when}]})
        return st.one_of(plain, many)
    if kind == "parallel":
        branch = st.integers(0, 10**6).flatmap(lambda number: steps(prefix=f"{prefix}{number}.", depth=depth + 1))
        return _some({"branches": st.lists(branch.map(lambda inner: {"steps": inner}), min_size=1, max_size=3)},
            {"wait_for_all": st.booleans(), "max_parallel": st.integers(1, 3)})
    if kind == "foreach":
        return _some({"items": st.one_of(st.just("{{ input.list }}"), st.lists(VALUES, max_size=2)),
            "steps": steps(prefix=prefix, depth=depth + 1)},
            {"item_name": st.just("row"), "batch_size": st.integers(1, 9), "on_item_error": st.just("continue")})
    if kind == "wait":
        return st.one_of(_some({"seconds": st.one_of(SECONDS, st.just("{{ input.n }}"))}, {}),
            _some({"until": st.just("2030-01-01T00:00:00Z")}, {}))
    if kind == "workflow":
        return _some({"workflow": st.just("child")}, {"input": VALUES.filter(lambda value: value is not None)})
    if kind == "transform":
        expression = st.sampled_from(["input.a + 1", '{"total": (input.a)}', '{"a": {"b": [1]}}', "'x' in input"])
        return _some({"config": _some({"expression": expression}, {"data": VALUES})}, {})
    if kind == "skill":
        return _some({"config": _some({"skill": NAMES}, {"parameters": st.dictionaries(NAMES, VALUES, max_size=2)})}, {})
    return _some({}, {"config": CONFIGS})


WORKFLOWS = _some({"name": NAMES, "steps": steps()}, {
    "version": st.sampled_from(["1.0.0", "3.0.0", "1.2.3-rc.1"]),
    "labels": st.fixed_dictionaries({}, optional={"author": st.just("ana"), "tags": st.just(["x"]), "team": SCALARS}),
    "inputs": st.dictionaries(NAMES, _some({}, {"type": st.sampled_from(["string", "integer", "any"]),
        "default": SCALARS, "required": st.booleans(), "enum": st.just(["NO", "SE"])}), max_size=2),
    "outputs": st.dictionaries(NAMES, VALUES, max_size=2), "variables": st.dictionaries(NAMES, VALUES, max_size=2),
    "settings": _some({}, {"timeout": SECONDS, "retry": RETRIES, "on_error": FAILURES, "max_parallel": st.integers(1, 9),
        "execution": st.just("standard"), "sla": SECONDS}),
    "triggers": st.just([{"type": "schedule", "config": {"cron": "0 5 * * *"}}]),
    "notifications": st.just([{"on": ["failed"], "config": {"channel": "sns", "message": "{{ execution.id }} failed"}}]),
    "error_handlers": st.just([{"errors": ["NetworkError", "*"], "action": "retry", "max_retries": 2, "then": "fail"}]),
    "rollback": steps(prefix="undo."), "finally": steps(prefix="last."),
})
