"""What a choice among the nodes of a graph may decide."""

from __future__ import annotations

from typing import Any

from translator.diagnostics import Findings
from translator.findings import dialects as rules
from translator.source import Map, Seq


def settle(node: Map, findings: Findings) -> None:
    """Puts what a choice decides by where it belongs; under `config` it is a mistake, which is told once."""
    config = node.get("config")
    if not isinstance(config, Map):
        return
    for key in ("condition", "cases", "default", "mode"):
        if key not in config:
            continue
        findings.add(rules.UNKNOWN_KEY, f"{key!r} is no key of the `config` of {node['id']!r}", config.at_key(key),
            hint="write it under `properties:`")
        if not isinstance(node.get("properties"), Map):
            node.put("properties", Map(config.pos), config.pos)
        node["properties"].move(key, config)
        del config[key]


def outcomes_of(node: Map) -> list[str]:
    """The names of what a choice may decide."""
    properties: Map = node.get("properties") or Map(node.pos)
    if "condition" in properties:
        return ["true", "false"]
    cases: Any = properties.get("cases") or node.get("cases") or ()
    names = [str(case.get("name")) for case in cases if isinstance(case, Map)] if isinstance(cases, Seq) else []
    default = properties.get("default") or node.get("default")
    return [*names, *([str(default)] if default and default not in names else ())]
