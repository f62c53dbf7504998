"""Every rule of the product, found by its code. One module per area holds the area's rules."""

from __future__ import annotations

from translator.diagnostics import Rule
from translator.findings import asl, dialects, expressions, graph, running, source, triggers

AREAS = (source, dialects, expressions, graph, asl, triggers, running)

RULES: dict[str, Rule] = {
    rule.code: rule for area in AREAS for rule in vars(area).values() if isinstance(rule, Rule)
}
