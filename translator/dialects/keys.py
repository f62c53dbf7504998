"""What was meant by a key that nothing knows: another word for one, or a key in the wrong place."""

from __future__ import annotations

from typing import Any

from aslant.configs.check import config_model
from translator.dialects.common import STEP_TYPES
from translator.nearest import nearest
from translator.source import Map

Path = tuple[str | int, ...]
# Words that others say for a key, unlike it in letters: where they stand, and what is written instead.
_SAME = {
    ("retry", "on"): ("retry_on", "on_errors", "errors", "error_types", "retryable_errors"),
    ("retry", "max_attempts"): ("attempts", "max_retries", "retries", "times", "count"),
    ("retry", "delay"): ("initial_delay", "interval", "wait", "backoff_seconds"),
    ("retry", "multiplier"): ("backoff_multiplier", "backoff_rate", "factor"),
}
_CONDITIONAL = "a conditional has `config: {condition: …, branches: {true: {target_step: …}, false: {target_step: …}}}`"
_OTHERS = {  # the key that is known in this place, and the hint
    "retry_on": ("retry", "write `retry: {on: […]}`"), "retry_policy": ("retry", "did you mean `retry`?"),
    "retries": ("retry", "write `retry: {max_attempts: …}`"), "max_retries": ("retry", "write `retry: {max_attempts: …}`"),
    "max_attempts": ("retry", "write `retry: {max_attempts: …}`"), "needs": ("depends_on", "did you mean `depends_on`?"),
    "on": ("triggers", "did you mean `triggers`?"), "if": ("when", "did you mean `when`?"),
    "condition": ("when", "did you mean `when`?"),
    **dict.fromkeys(("start", "start_at", "startAt", "entry", "entry_point"),
        ("triggers", "leave it out: steps that wait for no other start at once; `triggers` says what starts an execution")),
    **dict.fromkeys(("then", "else", "if_true", "if_false"), ("config", _CONDITIONAL)),
    "from": ("source", "did you mean `source`?"), "to": ("target", "did you mean `target`?"),
    "source": ("from", "did you mean `from`?"), "target": ("to", "did you mean `to`?"),
    "output": ("sourceOutput", "did you mean `sourceOutput`?"), "min": ("minimum", "did you mean `minimum`?"),
    "max": ("maximum", "did you mean `maximum`?"),
    "parameters": ("inputs", "did you mean `inputs`?"),
    **dict.fromkeys(("id", "name", "task", "node"), ("step", "did you mean `step`?")),
}


# Words for what holds the settings of a step.
_HOLDERS = frozenset({"with", "params", "arguments", "args", "parameters", "properties", "settings", "inputs"})
# What the ways of a decision are called elsewhere.
_WAYS = {
    **dict.fromkeys(("if_true", "then", "on_true"), "true_branch"),
    **dict.fromkeys(("if_false", "else", "on_false"), "false_branch"),
    "true_branch": "if_true", "false_branch": "if_false",
}


def key_hint(key: str, owner: Path, known: list[str]) -> str:
    """Another word for a known key; what begins or ends like it."""
    same = _word(key, owner, known)
    if same in known and _OTHERS.get(key, ("", ""))[0] != same:
        count = " (it counts the first attempt too)" if key == "max_retries" else ""
        return f"did you mean `{same}`?{count}"
    if same:
        return _OTHERS[key][1]
    if is_edge(known) and not nearest(key, known):
        return f"write the id alone, or `{{step: {key}, when: …}}`"
    if key in _WAYS and "branches" in known:
        return "write `branches: {true: {target_step: …}, false: {target_step: …}}`"
    longer = [name for name in known if name.startswith(f"{key}_") or name.endswith(f"_{key}")]
    return f"did you mean `{longer[0]}`?" if len(longer) == 1 else ""


def _word(key: str, owner: Path, known: list[str]) -> str:
    """The known key for which `key` is another word; empty when it is none."""
    place = str(owner[-1]) if owner else ""
    given = next((name for name in ("parameters", "inputs") if name in known), "")
    options = (
        *(meant for (around, meant), words in _SAME.items() if around == place and key in words), _WAYS.get(key, ""),
        given if key in ("params", "arguments", "args") else "", "outputs" if key == "output" else "",
        "compensation" if key == "rollback" else "", _OTHERS.get(key, ("", ""))[0],
    )
    return next((meant for meant in options if meant in known), "")


def way_hint(outcome: str) -> str:
    """What the outcome of a condition is called here."""
    way = {"true_branch": "true", "false_branch": "false", "yes": "true", "no": "false"}
    return f"did you mean `{way[meant]}`?" if (meant := _WAYS.get(outcome.lower(), outcome.lower())) in way else ""


def setting_hint(key: str, holder: Any, known: list[str]) -> str:
    """Where a setting of the step's type stands, that was written into the step itself; `known` are the step's keys."""
    if key == "plugin_name" and "task_type" in known:
        return "write `type: {type: Plugin, plugin_name: …, config: {…}}`"
    place = next((name for name in ("properties", "parameters", "task_type", "config") if name in known), "")
    name = _type_of(holder, known) if place else ""
    found = STEP_TYPES.get(name.lower(), "")
    if found == "choice" and key == "condition":
        return _CONDITIONAL if place == "config" else f"write it under `{place}:`"
    if key in _HOLDERS and name:
        if place == "task_type":
            return f"its settings stand beside the name of the type: `type: {{type: {name}, …}}`"
        if found == "skill" and "skill" not in known:
            return f"write `{place}: {{skill: …, parameters: …}}`"
        return f"did you mean `{place}`?"
    model = config_model(found)
    if model is None or key not in model.model_fields:
        return ""
    return _in_type(name, key) if place == "task_type" else f"write it under `{place}:`"


def misplaced_hint(key: str, owner: Path, known: list[str], outer: Any, outer_known: list[str]) -> str:
    """Where a setting of a task's type stands, that was written into the task's `config`."""
    name = _type_of(outer, outer_known)
    if not owner or owner[-1] != "config" or "task_type" not in outer_known or not name or nearest(key, known):
        return ""
    if STEP_TYPES.get(name.lower()) == "skill":
        return f"its arguments stand in its type: write `type: {{type: {name}, plugin_name: …, config: {{{key}: …}}}}`"
    return f"settings of its type stand beside the type's name: {_in_type(name, key)}"


def _in_type(name: str, key: str) -> str:
    return f"write `type: {{type: {name}, {key}: …}}`"


def _type_of(step: Any, known: list[str]) -> str:
    """The name of a step's type, as it is written."""
    kind = step.get("agent" if "agent" in known else "type") if isinstance(step, Map) else None
    name = kind.get("type") if isinstance(kind, Map) else kind
    return name if isinstance(name, str) else ""


def is_step_as_branch(holder: Any, owner: Path, known: list[str]) -> bool:
    """Whether a step stands where a branch of a parallel is meant."""
    return (isinstance(holder, Map) and len(owner) > 1 and owner[-2] == "branches" and {*known} == {"name", "steps"}
        and "steps" not in holder and not {"id", "type", "skill", "agent"}.isdisjoint(holder))


def is_edge(known: list[str]) -> bool:
    """Whether these are the keys of an entry of `depends_on`."""
    return {*known} == {"step", "on", "when"}


def meant_by(keys: list[str], owner: Path, known: list[str]) -> set[str]:
    """The known keys that these unknown ones stand for."""
    return {_word(key, owner, known) or nearest(key, known) for key in keys}
