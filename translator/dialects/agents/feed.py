"""What a node's input keys name, put where its agent takes data."""

from __future__ import annotations

from translator.diagnostics import Findings, Position
from translator.dialects.agents.names import AGENTS, Names, mentions, output_of
from translator.dialects.agents.nodes import texts
from translator.dialects.spelling import CANONICAL_TYPES
from translator.dialects.validate import did_you_mean
from translator.findings import dialects as rules
from translator.source import Map, Seq


def feed(agent: str, keys: list[tuple[str, Position]], before: list[str], names: Names, config: Map, parameters: Map,
        findings: Findings) -> None:
    """Give a node what its input keys name, as its agent takes data."""
    values: list[tuple[str, str, Position]] = []
    for key, at in keys:
        value = names.value(key)
        if value is None:
            unknown(key, at, names, findings)
        else:
            values.append((key, value, at))
    if agent in ("data_processing", "aggregator"):
        target = "data" if agent == "data_processing" else "results"
        if target not in config and (agent == "data_processing" or "data" not in config):
            _whole(target, values, before, config)
        return
    written = [*texts(parameters)]
    if agent == "llm" or agent == "human_loop":
        open_values = [row for row in values if not mentions(written, row[0])]
        target = "input" if agent == "llm" else "data"
        if open_values and target not in config:
            config.put(target, _object(open_values), open_values[0][2])
    elif agent not in AGENTS and agent not in CANONICAL_TYPES:
        arguments = config["parameters"]
        for key, value, at in values:
            if key not in arguments and not mentions(written, key):
                arguments.put(key, f"{{{{ {value} }}}}", at)
    else:
        for key, _, at in values:
            if not mentions(written, key):
                findings.add(rules.NO_EFFECT, f"nothing in the node refers to its input {key!r}", at,
                    hint=f"write `{{{key}}}` where it belongs")


def _whole(target: str, values: list[tuple[str, str, Position]], before: list[str], config: Map) -> None:
    """All input as one value: the one there is, or all of them."""
    if len(values) == 1:
        config.put(target, f"{{{{ {values[0][1]} }}}}", values[0][2])
    elif values and target == "data":
        config.put(target, _object(values), values[0][2])
    elif values or len(before) > 1:
        items = Seq(config.pos)
        for value in [row[1] for row in values] or [output_of(name) for name in before]:
            items.add(f"{{{{ {value} }}}}")
        config.put(target, items)
    else:
        source = output_of(before[0]) if before else "input"
        config.put(target, f"{{{{ {source} }}}}")


def unknown(key: str, at: Position, names: Names, findings: Findings) -> None:
    known = sorted({*names.outputs, *(names.inputs or ()), *names.variables})
    findings.add(rules.UNKNOWN_INPUT_KEY, f"no node, input or variable gives {key!r}", at,
        hint=did_you_mean(key, known, f"known: {', '.join(known)}" if known else ""))


def _object(values: list[tuple[str, str, Position]]) -> Map:
    result = Map(values[0][2])
    for key, value, at in values:
        result.put(key, f"{{{{ {value} }}}}", at)
    return result
