"""Series and parallel reduction of a graph, in the manner of Valdes, Tarjan and Lawler (https://doi.org/10.1137/0211023).

Two vertices become one when the first has no other successor and the second no other predecessor (series), or when both have
the same predecessors and the same successors (parallel). When neither is left, an edge is *cut*: it becomes a token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

LEAF, SERIES, PARALLEL = 0, 1, 2

# Nodes of the tree that a reduction builds: (kind, first, second); of a leaf, `first` is its vertex.
Node = tuple[int, int, int]
_WORD = (1 << 64) - 1


def scattered(number: int) -> int:
    """A fixed pseudo-random word for a number (splitmix64), to compare sets of vertices by the sum of their words."""
    number = (number + 1) * 0x9E3779B97F4A7C15 & _WORD
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _WORD
    return number ^ number >> 31


class Reduction:
    """A graph on the way to a single vertex. It changes the sets it is given.

    `flat` marks vertices that are branches already (one more branch costs no further Parallel), `empty` those that are joints,
    `vocal` those that end in a step that sends its signals itself, without a gate. `cost` counts Parallels and gates that are
    settled so far.
    """

    def __init__(
        self, preds: list[set[int]], succs: list[set[int]],
        flat: Iterable[int] = (), empty: Iterable[int] = (), vocal: Iterable[int] = (),
    ) -> None:
        count = len(preds)
        self.preds, self.succs = preds, succs
        self.node = list(range(count))
        self.nodes: list[Node] = [(LEAF, vertex, -1) for vertex in range(count)]
        self.cuts: list[tuple[int, int]] = []  # after which node a signal is sent, before which node it is waited for
        self.cost = 0
        self.alive = bytearray(b"\1" * count)
        self.signals = bytearray(count)
        self.waits = bytearray(count)
        self.flat = bytearray(count)
        self.empty = bytearray(count)
        self.vocal = bytearray(count)
        for marks, marked in ((self.flat, flat), (self.empty, empty), (self.vocal, vocal)):
            for vertex in marked:
                marks[vertex] = 1
        self.first = list(range(count))  # a vertex where each begins, and one where it ends: names for edges
        self.last = list(range(count))
        self.count = count
        self.word = [scattered(vertex) for vertex in range(count)]
        self.above = [sum(self.word[other] for other in near) & _WORD for near in preds]
        self.below = [sum(self.word[other] for other in near) & _WORD for near in succs]
        self.known: dict[tuple[int, int], int] = {}
        self.dirty = list(range(count - 1, -1, -1))
        self.queued = bytearray(b"\1" * count)
        self.heap: list[tuple[float, int, int]] = []
        self.price: Callable[[int, int], float] | None = None

    # Reductions

    def settle(self) -> None:
        """Makes every series and parallel reduction that there is."""
        dirty, queued, alive = self.dirty, self.queued, self.alive
        while dirty:
            vertex = dirty.pop()
            queued[vertex] = 0
            if not alive[vertex]:
                continue
            near = self.succs[vertex]
            if len(near) == 1:
                (other,) = near
                if len(self.preds[other]) == 1:
                    self._series(vertex, other)
                    continue
            near = self.preds[vertex]
            if len(near) == 1:
                (other,) = near
                if len(self.succs[other]) == 1:
                    self._series(other, vertex)
                    continue
            key = (self.above[vertex], self.below[vertex])
            twin = self.known.get(key)
            if (
                twin is not None and twin != vertex and alive[twin] and (self.above[twin], self.below[twin]) == key
                and self.preds[twin] == self.preds[vertex] and self.succs[twin] == self.succs[vertex]
            ):
                self._parallel(twin, vertex)
            else:
                self.known[key] = vertex

    def _touch(self, vertex: int) -> None:
        if not self.queued[vertex]:
            self.queued[vertex] = 1
            self.dirty.append(vertex)

    def _series(self, first: int, second: int) -> None:
        waited, signalled = self.waits[first], self.signals[second]
        gate = self.signals[first] | self.waits[second]
        vocal = self.vocal[second]
        node = len(self.nodes)
        self.nodes.append((SERIES, self.node[first], self.node[second]))
        # A joint adds its gates to those of its neighbour: a joint between two steps needs one gate at most.
        if self.empty[first]:
            waits, signals = gate | self.waits[first], self.signals[second]
            flat, empty = self.flat[second], self.empty[second]
            if empty:
                waits = signals = waits | signals
        elif self.empty[second]:
            waits, signals = self.waits[first], gate | self.signals[second]
            flat, empty = self.flat[first], 0
            vocal = self.vocal[first] and not self.waits[second]
        else:
            self.cost += self.waits[second] or self.signals[first] and not self.vocal[first]
            waits, signals, flat, empty = self.waits[first], self.signals[second], 0, 0
        kept, gone = (first, second) if len(self.succs[second]) <= len(self.preds[first]) else (second, first)
        change = self.word[kept] - self.word[gone]
        if kept == first:
            self.succs[first], self.below[first] = self.succs[second], self.below[second]
            for target in self.succs[first]:
                near = self.preds[target]
                near.discard(second)
                near.add(first)
                self.above[target] = self.above[target] + change & _WORD
                self._touch(target)
        else:
            self.preds[second], self.above[second] = self.preds[first], self.above[first]
            for source in self.preds[second]:
                near = self.succs[source]
                near.discard(first)
                near.add(second)
                self.below[source] = self.below[source] + change & _WORD
                self._touch(source)
        self.alive[gone] = 0
        self.count -= 1
        self.node[kept] = node
        self.first[kept], self.last[kept] = self.first[first], self.last[second]
        self.waits[kept], self.signals[kept], self.flat[kept], self.empty[kept] = waits, signals, flat, empty
        self.vocal[kept] = vocal
        self._touch(kept)
        if self.price is not None:
            if kept == first or signals > signalled:
                self._offer(self.succs[kept], kept, True)
            if kept == second or waits > waited:
                self._offer(self.preds[kept], kept, False)

    def _parallel(self, first: int, second: int) -> None:
        if self.empty[first] and not self._gates(first):
            self._forget(second, first)  # an empty branch says nothing
            return
        if self.empty[second] and not self._gates(second):
            self._forget(first, second)
            return
        plain = 0
        for vertex in (first, second):
            gates = self._gates(vertex)
            self.cost += gates
            plain += self.flat[vertex] and not gates
        self.cost += 1 - plain
        self.nodes.append((PARALLEL, self.node[first], self.node[second]))
        self.node[first] = len(self.nodes) - 1
        self.first[first] = min(self.first[first], self.first[second])
        self.last[first] = min(self.last[first], self.last[second])
        self.flat[first], self.empty[first], self.waits[first], self.signals[first], self.vocal[first] = 1, 0, 0, 0, 0
        self._drop(second)
        self._touch(first)

    def _gates(self, vertex: int) -> int:
        if self.empty[vertex]:
            return self.waits[vertex] | self.signals[vertex]
        return self.waits[vertex] + (self.signals[vertex] and not self.vocal[vertex])

    def _forget(self, kept: int, gone: int) -> None:
        self.known[self.above[kept], self.below[kept]] = kept
        self._drop(gone)
        self._touch(kept)

    def _drop(self, vertex: int) -> None:
        word = self.word[vertex]
        for source in self.preds[vertex]:
            self.succs[source].discard(vertex)
            self.below[source] = self.below[source] - word & _WORD
            self._touch(source)
        for target in self.succs[vertex]:
            self.preds[target].discard(vertex)
            self.above[target] = self.above[target] - word & _WORD
            self._touch(target)
        self.alive[vertex] = 0
        self.count -= 1

    # Cuts

    def cut(self, first: int, second: int) -> None:
        """Turns the edge into a token."""
        self.cuts.append((self.node[first], self.node[second]))
        self.succs[first].discard(second)
        self.below[first] = self.below[first] - self.word[second] & _WORD
        self.preds[second].discard(first)
        self.above[second] = self.above[second] - self.word[first] & _WORD
        fresh_signal, fresh_wait = not self.signals[first], not self.waits[second]
        self.signals[first] = self.waits[second] = 1
        self._touch(first)
        self._touch(second)
        if self.price is not None:
            if fresh_signal:
                self._offer(self.succs[first], first, True)
            if fresh_wait:
                self._offer(self.preds[second], second, False)
            if self.empty[first] and fresh_signal:
                self._offer(self.preds[first], first, False)
            if self.empty[second] and fresh_wait:
                self._offer(self.succs[second], second, True)

    def _offer(self, near: Iterable[int], vertex: int, forward: bool) -> None:
        """Puts edges of a vertex on the heap once more, under their present names and at their present price."""
        assert self.price is not None
        for other in near:
            source, target = (vertex, other) if forward else (other, vertex)
            heappush(self.heap, (self.price(source, target), source, target))

    def unlocked(self, first: int, second: int) -> int:
        """How many reductions the cut of an edge makes possible at once."""
        found = 0
        after, before = self.succs[first], self.preds[second]
        if len(after) == 2:
            other = next(target for target in after if target != second)
            found += len(self.preds[other]) == 1
        if len(before) == 2:
            other = next(source for source in before if source != first)
            found += len(self.succs[other]) == 1
        for key in (
            (self.above[first], self.below[first] - self.word[second] & _WORD),
            (self.above[second] - self.word[first] & _WORD, self.below[second]),
        ):
            twin = self.known.get(key)
            found += twin is not None and bool(self.alive[twin]) and (self.above[twin], self.below[twin]) == key
        return found

    def run(self, price: Callable[[int, int], float], ties: int = 16) -> None:
        """Reduces to a single vertex; where nothing can be reduced, the cheapest edge is cut, ties by reductions unlocked."""
        self.settle()
        if self.count <= 1:
            return
        self.price = price
        heap = self.heap = [
            (price(source, target), source, target)
            for source in range(len(self.alive)) if self.alive[source] for target in self.succs[source]
        ]
        heapify(heap)
        while self.count > 1:
            best: tuple[float, int, int] | None = None
            gain = -1
            aside: list[tuple[float, int, int]] = []
            while heap and len(aside) < ties and (best is None or heap[0][0] <= best[0] + 1e-9):
                entry = heappop(heap)
                cost, source, target = entry
                if not self.alive[source] or target not in self.succs[source]:
                    continue
                now = price(source, target)
                if now > cost + 1e-9:
                    heappush(heap, (now, source, target))
                    continue
                if aside and entry == aside[-1]:
                    continue
                aside.append(entry)
                found = self.unlocked(source, target)
                if found > gain:
                    best, gain = entry, found
            assert best is not None, "a graph of several vertices without an edge is reduced"
            for entry in aside:
                if entry is not best:
                    heappush(heap, entry)
            self.cut(best[1], best[2])
            self.settle()

    @property
    def root(self) -> int:
        """The vertex that is left."""
        return self.alive.index(1)

    def total(self) -> int:
        """Parallels and gates of the whole, when a single vertex is left."""
        return self.cost + self._gates(self.root)


def page_price(graph: Reduction, single: float = 2.0, several: float = 1.0) -> Callable[[int, int], float]:
    """The price of cutting an edge: a gate after its first vertex and one before its second, unless they are there already.

    A gate is shared with the other edges that will have to be cut at that vertex; the last edge of a vertex is dear, since
    the vertex then hangs on nothing.
    """
    succs, preds, signals, waits, empty, vocal = graph.succs, graph.preds, graph.signals, graph.waits, graph.empty, graph.vocal

    def price(source: int, target: int) -> float:
        cost = 0.0
        if not (signals[source] or empty[source] and waits[source]):
            degree = len(succs[source])
            cost = single if degree == 1 else several / (degree - 1)
            if vocal[source]:
                cost = max(0.0, cost - 1) if degree == 1 else 0.0
        if not (waits[target] or empty[target] and signals[target]):
            degree = len(preds[target])
            cost += single if degree == 1 else several / (degree - 1)
        return cost

    return price
