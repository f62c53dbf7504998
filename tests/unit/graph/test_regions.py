"""Order as nested series and branches: nothing is lost, nothing is added to series-parallel graphs, limits hold."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import few
from tests.unit.graph.scopes import Spec, ancestors, dags, leaves, most_at_once, ordered, scope_of, series_parallel
from translator.graph.regions import decompose, width
from translator.graph.strategies.layout import Branches, Leaf, Series
from translator.graph.strategies.layout import leaves as steps_of

FEW = few(80, derandomize=True)


def chain(count: int) -> list[Spec]:
    return [((number - 1, ()),) if number else () for number in range(count)]


@FEW
@given(dags())
def test_every_order_of_a_graph_is_kept(specs: list[Spec]) -> None:
    scope = scope_of(specs)
    region = decompose(scope)
    assert region is not None
    assert sorted(leaves(region)) == list(range(len(specs)))
    assert sorted(steps_of(region)) == list(range(len(specs)))
    before = ancestors(specs)
    assert before <= ordered(region)
    assert {(one, two) for one in scope for two in scope if scope.precedes(one, two)} == before


@FEW
@given(series_parallel())
def test_no_order_is_added_to_a_series_parallel_graph(specs: list[Spec]) -> None:
    region = decompose(scope_of(specs))
    assert region is not None
    assert ordered(region) == ancestors(specs)


@FEW
@given(dags(), st.integers(1, 4))
def test_a_limit_is_never_exceeded_and_keeps_the_order(specs: list[Spec], limit: int) -> None:
    scope = scope_of(specs)
    region = decompose(scope, limit)
    assert region is not None
    assert most_at_once(region) <= limit
    assert width(region) <= limit
    assert sorted(leaves(region)) == list(range(len(specs)))
    assert ancestors(specs) <= ordered(region)


@FEW
@given(dags())
def test_a_graph_written_in_another_order_has_the_same_order(specs: list[Spec]) -> None:
    turned = [tuple((len(specs) - 1 - source, outcomes) for source, outcomes in edges) for edges in reversed(specs)]
    one, two = decompose(scope_of(specs)), decompose(scope_of(turned))
    assert one is not None and two is not None
    last = len(specs) - 1
    assert {(last - first, last - second) for first, second in ordered(two)} == ordered(one)


def test_a_diamond_and_an_n() -> None:
    diamond: list[Spec] = [(), ((0, ()),), ((0, ()),), ((1, ()), (2, ()))]
    assert decompose(scope_of(diamond)) == Series((Leaf(0), Branches((Leaf(1), Leaf(2))), Leaf(3)))
    bent: list[Spec] = [(), (), ((0, ()),), ((0, ()), (1, ()))]
    assert decompose(scope_of(bent)) == Series((Branches((Leaf(0), Leaf(1))), Branches((Leaf(2), Leaf(3)))))


def test_nothing_and_one() -> None:
    assert decompose(scope_of([])) is None
    assert decompose(scope_of([()])) == Leaf(0)


def test_deep_and_wide_graphs_take_little_time() -> None:
    # A comb: each step of a chain also has a step of its own beside the rest, so that series and branches nest.
    comb: list[Spec] = [()]
    for number in range(1, 1500):
        comb.append(((2 * (number // 2) - 2 if number > 1 else 0, ()),))
    started = time.process_time()
    for specs in (chain(3000), [()] * 3000, comb):
        region = decompose(scope_of(specs))
        assert region is not None and sorted(steps_of(region)) == list(range(len(specs)))
    assert time.process_time() - started < 20
