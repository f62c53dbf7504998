"""How data goes along the connections of a graph: what a node's input is, as an expression."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from translator.diagnostics import Position

_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")
_LONGEST = 4000
MAIN = "main"
ERROR = "error"


@dataclass(frozen=True, slots=True)
class Link:
    """One connection between two nodes of a scope."""

    source: str
    target: str
    output: str
    input: str
    when: str | None
    at: Position
    output_at: Position


@dataclass(slots=True)
class Flow:
    """The connections of one scope. `base` is the expression that nodes without a connection get.

    `passing` are nodes that hand their input on (choices, waits), `starting` the triggers, whose output is `base`.
    `outcomes` are the named outputs of choices. `certain` says that every node of the scope runs, so that joined values
    are all there.
    """

    base: str
    links: list[Link] = field(default_factory=list)
    passing: set[str] = field(default_factory=set)
    starting: set[str] = field(default_factory=set)
    outcomes: dict[str, list[str]] = field(default_factory=dict)
    certain: bool = True
    _incoming: dict[str, list[Link]] = field(default_factory=dict)
    _through: dict[str, str] | None = None

    def add(self, link: Link) -> None:
        self.links.append(link)
        self._incoming.setdefault(link.target, []).append(link)

    def incoming(self, node: str) -> list[Link]:
        return self._incoming.get(node, [])

    def parts(self, node: str) -> tuple[list[str], dict[str, list[str]]]:
        """The values at the main input of a node, and those at its named inputs, each once and in order."""
        main: list[str] = []
        named: dict[str, list[str]] = {}
        links = self.incoming(node)
        if not links:
            return [self.base], named
        if self._through is None:
            self._pass_on()
        for link in links:
            value = self.value(link)
            values = main if link.input == MAIN else named.setdefault(link.input, [])
            if value not in values:
                values.append(value)
        return main, named

    def whole(self, node: str) -> str:
        """The input of a node as one expression."""
        main, named = self.parts(node)
        if named:
            pairs = ", ".join(f"{quoted(key)}: {self.merged(values)}" for key, values in named.items())
            main = [*main, f"{{{pairs}}}"]
        return self.merged(main)

    def value(self, link: Link) -> str:
        """What a connection carries."""
        source = link.source
        outcomes = self.outcomes.get(source, ())
        if link.output == ERROR and ERROR not in outcomes:
            return member("errors", source)
        if source in self.passing:
            return (self._through or {}).get(source) or output_of(source)
        expression = self.base if source in self.starting else output_of(source)
        return expression if link.output == MAIN or link.output in outcomes else member(expression, link.output)

    def _pass_on(self) -> None:
        """What each passing node hands on, sources first; nodes on a circle and very long inputs are left out."""
        self._through = {}
        waiting = {node: len(links) for node, links in self._incoming.items()}
        after: dict[str, list[str]] = {}
        for link in self.links:
            after.setdefault(link.source, []).append(link.target)
        ready = [node for node in {**after, **dict.fromkeys(self.passing)} if not waiting.get(node)]
        while ready:
            node = ready.pop()
            if node in self.passing and len(expression := self.whole(node)) <= _LONGEST:
                self._through[node] = expression
            for target in after.get(node, ()):
                waiting[target] -= 1
                if not waiting[target]:
                    ready.append(target)

    def merged(self, values: list[str]) -> str:
        """Several values as one: the only one that is there as it is, more than one merged in their order."""
        if len(values) == 1:
            return values[0]
        together = f"merge({', '.join(values)})"
        if self.certain:
            return together
        if len(values) == 2:
            one, other = values
            return f"({together} if {one} != null and {other} != null else {one} ?? {other})"
        there = f"[x for x in [{', '.join(values)}] if x != null]"
        return f"(merge({there}) if len({there}) > 1 else first({there}))"


def quoted(text: str) -> str:
    """A text as a literal of the expression language."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def member(root: str, key: str) -> str:
    """`root.key`, or with brackets when the key is no plain name."""
    return f"{root}.{key}" if _IDENTIFIER.match(key) else f"{root}[{quoted(key)}]"


def output_of(identifier: str) -> str:
    """The expression for the output of a step."""
    return f"{member('steps', identifier)}.output"
