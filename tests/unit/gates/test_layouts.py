"""Scopes with tokens: exactly the graph's order, values that find their way, and where there are none."""

from __future__ import annotations

import random

import pytest

from tests.bench.drawn import definition, drawn
from tests.bench.simulator import ancestors, order_of
from tests.examples import TIMES
from tests.unit.graph.scopes import scope_of
from translator.graph.arranging import arranged
from translator.graph.strategies.layout import Layout
from translator.graph.strategies.routes import Routes
from translator.pipeline import Compilation, Source, compile_source, compile_sources

N = [[], [], [0], [0, 1], [1, 2]]


def layout_of(preds: list[list[int]], strategy: str = "exact") -> Layout:
    layout = arranged(scope_of([tuple((source, ()) for source in before) for before in preds]), strategy)
    assert layout is not None
    return layout


def test_tokens_and_tree_keep_exactly_the_order() -> None:
    draw = random.Random(3)
    for _ in range(40 * TIMES):
        preds = drawn(draw, 25)
        assert order_of(layout_of(preds)) == ancestors(preds), preds


def test_values_go_along_tokens_that_lead_from_where_they_are_to_who_reads_them() -> None:
    draw = random.Random(4)
    hops = 0
    for _ in range(30 * TIMES):
        preds = drawn(draw, 20)
        layout = layout_of(preds)
        routes, before = Routes(layout), ancestors(preds)
        for reader in range(len(preds)):
            for source in (one for one in range(len(preds)) if before[reader] >> one & 1):
                place = source
                for token in routes.path(source, reader):
                    signal, place_of_wait = layout.tokens[token]
                    assert place == signal or not routes.beside(place, signal), "the value is not there when it is sent"
                    place = place_of_wait
                    hops += 1
                assert place == reader or not routes.beside(place, reader)
    assert hops > 100


def test_a_series_parallel_scope_has_no_strategy() -> None:
    layout = layout_of([[], [0], [0], [1, 2]])
    assert (layout.strategy, layout.tokens, layout.added) == ("", (), False)


def compiled(text: str) -> Compilation:
    return compile_source(text)


RETRIED = """
dialect: canonical
id: x
steps:
  - id: both
    type: parallel
    {about}
    branches:
      - steps:
          - {{id: a, type: skill, config: {{skill: f}}}}
          - {{id: b, type: skill, config: {{skill: f}}}}
          - {{id: c, type: skill, depends_on: [a], config: {{skill: f}}}}
          - {{id: d, type: skill, depends_on: [a, b], config: {{skill: f}}}}
          - {{id: e, type: skill, depends_on: [b, c], config: {{skill: f}}}}
"""


@pytest.mark.parametrize(("text", "reason"), [
    (definition(N).replace("{strategy", "{execution: express, strategy"), "an Express execution waits for no token"),
    (definition(N).replace("{strategy", "{max_parallel: 1, strategy"), "at most 1 steps run at once"),
    (RETRIED.format(about="retry: {max_attempts: 2}"), "'both' may be tried again"),
    (RETRIED.format(about="on_failure: {action: escalate, approvers: [a]}"), "'both' may be tried again"),
    (RETRIED.format(about="on_failure: {action: retry, max_retries: 2, then: fail}"), "'both' may be tried again"),
], ids=["express", "limit", "retry", "escalate", "retried"])
def test_where_tokens_are_not_possible_there_are_barriers_and_the_reason(text: str, reason: str) -> None:
    (arrangement,) = compiled(text).arrangements
    assert (arrangement.tokens, arrangement.reason, arrangement.added) == (0, reason, True)


def test_what_the_machine_does_at_once_needs_no_function() -> None:
    text = definition(N).replace("type: skill", "type: transform")
    one = compiled(text.replace("{skill: f, parameters: {x: ", "{data: {x: ").replace(", on_failure: continue", ""))
    assert one.functions == {} and not one.arrangements


def test_known_durations_let_barriers_take_the_place_of_tokens_where_they_cost_no_time() -> None:
    long = compiled(definition(N).replace("{strategy", "{durations: {s0: 5, s1: 5, s2: 1, s3: 9, s4: 9}, strategy"))
    short = compiled(definition(N).replace("{strategy", "{durations: {s0: 1, s1: 9, s2: 9, s3: 1, s4: 1}, strategy"))
    assert [one.tokens > 0 for one in (*long.arrangements, *short.arrangements)] == [False, True]


def test_compiling_twice_gives_the_same_machine() -> None:
    text = definition(drawn(random.Random(8), 30))
    assert compiled(text).definition == compiled(text).definition


def test_a_graph_with_places_of_tokens_beside_its_steps_can_be_cut() -> None:
    preds = [[], [], [], [0, 1, 2], [0, 2, 3], [1, 2], [4, 5], [2, 3, 5]]
    whole = compiled(definition(preds))
    (cut,) = compile_sources([Source(definition(preds))], limit=9_000)
    assert any(one.joints for one in whole.layouts.values()) and cut.parts
