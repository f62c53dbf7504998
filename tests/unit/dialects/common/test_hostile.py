"""Random data and single random edits of definitions give data or findings, never an exception."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import few
from translator.diagnostics import Findings
from translator.dialects.convert import convert, dump
from translator.dialects.registry import read
from translator.source import load, plain

KEYS = st.sampled_from([
    "id", "name", "type", "steps", "config", "depends_on", "branches", "true", "false", "default", "condition", "when",
    "target_step", "workflow", "stages", "parallel", "max_parallel", "parameters", "retry", "timeout", "on_failure",
    "compensation", "decision", "caching", "rollback", "error_handlers", "error_handling", "version", "metadata", "items",
])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-10**6, 10**6), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "skill", "conditional", "parallel", "{{ x", "${{ y }}", "\\{{", "5m", "e\u0301", "1.0"]),
    st.text(max_size=8))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), inner,
    max_size=5), max_leaves=25)
LISTS = st.lists(st.one_of(VALUES, st.dictionaries(KEYS, VALUES, max_size=6)), max_size=4)
DOCUMENTS = st.one_of(
    st.dictionaries(KEYS, VALUES, max_size=6),
    st.fixed_dictionaries({"steps": LISTS}),
    st.fixed_dictionaries({"dialect": st.just("canonical"), "steps": LISTS}),
    st.fixed_dictionaries({"workflow": st.fixed_dictionaries({"stages": st.lists(
        st.fixed_dictionaries({"name": st.just("s"), "steps": LISTS}, optional={"parallel": st.booleans(),
            "when": VALUES, "max_parallel": st.integers(1, 3)}), max_size=3)})}),
)
EXAMPLES = [plain(load(path.read_text("utf-8"), Findings()))
    for pattern in ("steps-*.yaml", "stages-*.yaml")
    for path in sorted((Path(__file__).parents[4] / "infra" / "workflows").glob(pattern))]
BOUNDED = few(20, derandomize=True, suppress_health_check=list(HealthCheck))


def survives(document: Any) -> None:
    findings = Findings()
    loaded = load(dump(document), findings)
    if loaded is None:
        return
    if read(loaded, findings) is None:
        assert findings.has_errors
    for dialect in ("canonical", "steps", "stages"):
        assert convert(loaded, dialect, findings) is not None or findings.has_errors


@BOUNDED
@given(DOCUMENTS)
def test_random_data(document: Any) -> None:
    survives(document)


@st.composite
def edited(draw: st.DrawFn) -> Any:
    """An example with one value removed, replaced, renamed or repeated."""
    document = deepcopy(draw(st.sampled_from(EXAMPLES)))
    here: Any = document
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return document
        key = draw(st.sampled_from(keys))
        if isinstance(here[key], (dict, list)) and here[key] and draw(st.integers(0, 3)):
            here = here[key]
            continue
        match draw(st.integers(0, 3)):
            case 0:
                del here[key]
            case 1:
                here[key] = draw(VALUES)
            case 2 if isinstance(here, dict):
                here[draw(KEYS)] = here.pop(key)
            case _:
                if isinstance(here, list):
                    here.append(here[key])
                else:
                    here[key] = [here[key]]
        return document


@BOUNDED
@given(edited())
def test_one_random_edit_of_an_example(document: Any) -> None:
    survives(document)
