"""Every strategy on drawn graphs: the order it keeps, that nothing waits for ever, what it costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.simulator import Simulator, ancestors, ideal, order_of
from tests.examples import few
from translator.graph.strategies.choice import STRATEGIES, arrange
from translator.graph.strategies.dag import CycleError
from translator.graph.strategies.layout import Branches, Layout, Leaf, Series, leaves, nodes, transitions

EXACT = ("chains", "exact")
Preds = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn, most: int = 14) -> Preds:
    """Any graph, under any numbering."""
    count = draw(st.integers(1, most))
    density = draw(st.sampled_from([1, 2, 4]))
    names = draw(st.permutations(range(count)))
    preds: Preds = [[] for _ in range(count)]
    for step in range(count):
        chosen = draw(st.sets(st.integers(0, count - 1), max_size=density))
        preds[names[step]] = [names[source] for source in sorted(chosen) if source < step]
    return preds


@st.composite
def trees(draw: st.DrawFn) -> tuple[Preds, int]:
    """A series-parallel graph with its transitive edges, and how many Parallels it takes."""
    preds: Preds = []

    def build(depth: int, parallel: bool) -> tuple[list[int], int]:
        size = draw(st.integers(2, 3)) if depth else 1
        if size == 1:
            preds.append([])
            return [len(preds) - 1], 0
        members: list[int] = []
        count = int(parallel)
        for _ in range(size):
            inner, more = build(draw(st.integers(0, depth - 1)), not parallel)
            if not parallel:
                for step in inner:
                    preds[step].extend(members)
            members.extend(inner)
            count += more
        return members, count

    _, count = build(draw(st.integers(0, 4)), draw(st.booleans()))
    return preds, count


def durations(preds: Preds) -> st.SearchStrategy[list[float]]:
    return st.lists(st.integers(0, 50).map(float), min_size=len(preds), max_size=len(preds))


@few(60)
@given(st.data(), graphs(), st.sampled_from(STRATEGIES), st.booleans())
def test_order_is_kept_and_nothing_waits_for_ever(data: st.DataObject, preds: Preds, name: str, vocal: bool) -> None:
    hints, real = data.draw(durations(preds)), data.draw(durations(preds))
    layout = arrange(preds, name, hints, vocal=frozenset(range(0, len(preds), 2)) if vocal else frozenset())
    assert sorted(leaves(layout.tree)) == list(range(len(preds) + layout.joints))
    before, kept = ancestors(preds), order_of(layout)
    assert all(not need & ~got for need, got in zip(before, kept, strict=True))
    run = Simulator(layout, real, data.draw(st.sampled_from([0.0, 1.0])), data.draw(st.sampled_from([0.0, 3.0]))).result()
    assert run.finished
    assert run.states == transitions(layout)
    for step, sources in enumerate(preds):
        assert all(run.start[step] >= run.end[source] for source in sources)
    if name in EXACT or not layout.added:
        assert kept == before
        run = Simulator(layout, real).result()
        ends, shortest = ideal(preds, real)
        assert run.end == ends
        assert run.makespan == shortest


@few(40)
@given(trees(), st.sampled_from(["exact", "auto", "barriers", "hinted"]))
def test_series_parallel_graphs_need_nothing_but_their_parallels(graph: tuple[Preds, int], name: str) -> None:
    preds, parallels = graph
    layout = arrange(preds, name)
    assert not layout.tokens and not layout.joints and not layout.added
    assert transitions(layout) == len(preds) + parallels
    assert order_of(layout) == ancestors(preds)


@few(40)
@given(graphs(), st.data())
def test_no_strategy_enters_more_states_than_it_promises(preds: Preds, data: st.DataObject) -> None:
    hints = data.draw(durations(preds))
    exact = transitions(arrange(preds, "exact", hints))
    assert exact <= transitions(arrange(preds, "chains", hints))
    hinted = arrange(preds, "hinted", hints)
    assert transitions(hinted) <= exact
    assert Simulator(hinted, hints).result().makespan <= 1.01 * ideal(preds, hints)[1] + 1e-6 or not any(hints)
    assert not arrange(preds, "barriers", hints).tokens
    assert not arrange(preds, "levels", hints).tokens
    assert not arrange(preds, "auto", hints, express=True).tokens


@few(40)
@given(graphs(), st.sampled_from(STRATEGIES), st.integers(1, 4), st.booleans(), st.data())
def test_at_most_so_many_steps_run_at_once(preds: Preds, name: str, limit: int, express: bool, data: st.DataObject) -> None:
    layout = arrange(preds, name, data.draw(durations(preds)), limit, express=express)
    run = Simulator(layout, [1.0 + own for own in data.draw(durations(preds))]).result()
    assert run.finished
    assert run.most <= limit
    assert run.states == transitions(layout)
    if express and name == "auto":
        assert not layout.slots and not layout.tokens


@few(40)
@given(graphs(), st.sampled_from(EXACT), st.data())
def test_every_token_is_needed(preds: Preds, name: str, data: st.DataObject) -> None:
    """A layout without one of its tokens has lost order: the checks here would see a token that was forgotten."""
    layout = arrange(preds, name)
    if layout.tokens:
        lost = data.draw(st.sampled_from(layout.tokens))
        rest = tuple(token for token in layout.tokens if token != lost)
        other = Layout(name, layout.steps, layout.tree, rest, layout.joints)
        assert order_of(other) != ancestors(preds)


@few(30)
@given(graphs(), st.sampled_from(STRATEGIES))
def test_equal_graphs_have_equal_layouts(preds: Preds, name: str) -> None:
    hints = [1.0 + step % 3 for step in range(len(preds))]
    assert arrange(preds, name, hints) == arrange([sources[::-1] for sources in preds], name, hints)


def test_smallest_graph_that_needs_a_token() -> None:
    layout = arrange([[], [], [0], [0, 1]])
    assert layout.strategy == "exact"
    assert layout.tokens in {((0, 3),), ((0, 2),), ((1, 3),)}
    assert transitions(layout) == 4 + 1 + 2  # a Parallel, a signal, a wait


def test_steps_that_signal_themselves_need_no_gate_for_it() -> None:
    layout = arrange([[], [], [0], [0, 1]], vocal=frozenset(range(4)))
    assert transitions(layout) == 4 + 1 + 1


def test_complete_bipartite_parts_need_no_token() -> None:
    layout = arrange([[], [], [0, 1], [0, 1], [2], [3]])
    assert layout.tree == Series((
        Branches((Leaf(0), Leaf(1))), Branches((Series((Leaf(2), Leaf(4))), Series((Leaf(3), Leaf(5))))),
    ))


def test_barrier_where_nobody_has_to_wait() -> None:
    """Step 2 may wait for step 1 too, which is over long before step 0."""
    layout = arrange([[], [], [0], [0, 1]], "auto", [100.0, 1.0, 10.0, 10.0])
    assert layout.strategy == "hinted"
    assert not layout.tokens and layout.added
    assert transitions(layout) == 6


def test_estimates_that_forbid_a_barrier() -> None:
    layout = arrange([[], [], [0], [0, 1]], "hinted", [1.0, 100.0, 100.0, 100.0])
    assert layout.tokens and not layout.added


def test_single_steps_side_by_side_are_bounded_without_places() -> None:
    layout = arrange([[], [0], [0], [0], [1, 2, 3]], limit=2)
    assert layout.slots is None
    assert [part.limit for part in nodes(layout.tree) if isinstance(part, Branches)] == [2]


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_steps(name: str) -> None:
    layout = arrange([], name)
    assert layout.tree is None and transitions(layout) == 0


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("deep", ["chain", "ladder"])
def test_deep_graphs(name: str, deep: str) -> None:
    """No strategy is bound by how deep Python may call."""
    count = 1_500
    if deep == "chain":
        preds = [[step - 1] if step else [] for step in range(count)]
    else:  # parallels in parallels: the first half forks, the second half joins
        half = count // 3
        preds = [[step - 1] if step else [] for step in range(half)]
        preds += [[step] for step in range(half)]
        preds += [[2 * half - 1, half - 1]]
        preds += [[2 * half + step, 2 * half - 2 - step] for step in range(half - 1)]
    layout = arrange(preds, name, [1.0] * len(preds))
    assert sorted(leaves(layout.tree)) == list(range(len(preds) + layout.joints))
    assert Simulator(layout, [1.0] * len(preds)).result().finished


def test_wrong_input_is_told() -> None:
    with pytest.raises(CycleError):
        arrange([[1], [0]])
    with pytest.raises(ValueError, match="strategy"):
        arrange([[]], "best")
    with pytest.raises(ValueError, match="durations"):
        arrange([[]], "hinted", [1.0, 2.0])
    with pytest.raises(ValueError, match="duration"):
        arrange([[]], "hinted", [float("nan")])
    with pytest.raises(ValueError, match="at once"):
        arrange([[]], limit=0)
