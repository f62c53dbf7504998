"""A reduction that may add order where time allows it: a barrier costs no state, where a token costs a gate or two."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from translator.graph.strategies.core import Core
from translator.graph.strategies.reduction import LEAF, Reduction, page_price, scattered

Times = list[float]  # one moment or duration for each sample
TOLERANCE = 0.01  # how much longer than the ideal an execution may take, in the mean over the samples and in the first one

_EACH, _TOGETHER, _TOWARDS = 0, 1, 2


class Timing:
    """Longest paths of a graph that only ever grows, in several samples at once."""

    def __init__(self, durations: list[Times], preds: list[list[int]], bounds: Times) -> None:
        self.bounds = bounds  # what an execution takes at least
        self.samples = range(len(bounds))
        self.seconds = list(durations)
        self.preds = [list(near) for near in preds]
        self.succs: list[list[int]] = [[] for _ in preds]
        for point, near in enumerate(self.preds):
            for other in near:
                self.succs[other].append(point)
        self.ends = [list(own) for own in durations]  # the longest path up to and with a point
        self.rest = [list(own) for own in durations]  # the longest path from a point on, with it
        self.spent = [0.0 for _ in bounds]  # how much longer than the bound the longest path is, as a share of it
        left = [len(near) for near in self.preds]
        order = [point for point, number in enumerate(left) if not number]
        for point in order:  # grows while it is read
            for other in self.succs[point]:
                self._later(point, other)
                left[other] -= 1
                if not left[other]:
                    order.append(other)
        for point in reversed(order):
            for other in self.preds[point]:
                self._longer(point, other)

    def _later(self, source: int, target: int) -> bool:
        ends, own, changed = self.ends[target], self.seconds[target], False
        for sample, moment in enumerate(self.ends[source]):
            if moment + own[sample] > ends[sample]:
                ends[sample] = moment + own[sample]
                changed = True
        return changed

    def _longer(self, source: int, target: int) -> bool:
        rest, own, changed = self.rest[target], self.seconds[target], False
        for sample, moment in enumerate(self.rest[source]):
            if moment + own[sample] > rest[sample]:
                rest[sample] = moment + own[sample]
                changed = True
        return changed

    def point(self) -> int:
        """A further point that takes no time."""
        self.seconds.append([0.0] * len(self.bounds))
        for lists in (self.ends, self.rest):
            lists.append([0.0] * len(self.bounds))
        self.preds.append([])
        self.succs.append([])
        return len(self.preds) - 1

    def add(self, source: int, target: int) -> None:
        self.succs[source].append(target)
        self.preds[target].append(source)
        for sample in self.samples:
            bound = self.bounds[sample]
            over = (self.ends[source][sample] + self.rest[target][sample] - bound) / bound
            if over > self.spent[sample]:
                self.spent[sample] = over
        if self._later(source, target):
            queue = deque([target])
            while queue:
                here = queue.popleft()
                queue.extend(other for other in self.succs[here] if self._later(here, other))
        if self._longer(target, source):
            queue = deque([source])
            while queue:
                here = queue.popleft()
                queue.extend(other for other in self.preds[here] if self._longer(here, other))

    def harm(self, sources: Iterable[int], targets: Iterable[int]) -> float:
        """What the order "all sources before all targets" costs: the mean excess; infinite beyond the tolerance."""
        sources, targets = list(sources), list(targets)
        total = excess = 0.0
        for sample in self.samples:
            longest = max(self.ends[point][sample] for point in sources) + max(self.rest[point][sample] for point in targets)
            over = (longest - self.bounds[sample]) / self.bounds[sample]
            if sample == 0 and over > TOLERANCE:
                return float("inf")
            excess += max(0.0, over)
            total += max(self.spent[sample], over)
        return float("inf") if total > TOLERANCE * len(self.bounds) else excess / len(self.bounds)

    def reaches(self, sources: Iterable[int], targets: Iterable[int]) -> bool:
        """Whether some source is, or precedes, some target."""
        wanted = set(targets)
        latest = max(self.ends[point][0] for point in wanted)
        stack = list(sources)
        seen = set(stack)
        while stack:
            here = stack.pop()
            if here in wanted:
                return True
            for other in self.succs[here]:
                if other not in seen and self.ends[other][0] <= latest:
                    seen.add(other)
                    stack.append(other)
        return False


class Relaxed(Reduction):
    """A reduction of a core with three ways to add order.

    *Each*: instead of the edge u → v, a sibling goes between: v waits for another successor of u, or u goes before another
    predecessor of v. *Together*: all successors of a vertex wait for all that one of them waits for. *Towards*: the same for
    the predecessors of a vertex. The least harm goes first; a token is placed only when nothing else fits.
    """

    def __init__(self, core: Core, timing: Timing, grouped: float = 1.0, effort: int = 1_000_000) -> None:
        self.timing = timing
        self.effort = effort  # how many vertices may be looked at; tokens only afterwards
        self.pending: set[tuple[int, int, int]] = set()
        self.touched: set[int] = set(range(len(core.node)))
        self.begin = list(range(len(core.node)))  # the points of `timing` where a vertex begins and ends
        self.end = list(range(len(core.node)))
        self.grouped = grouped  # how much the ways that act on groups are preferred
        super().__init__(
            [set(near) for near in core.preds], [set(near) for near in core.succs], core.flat, core.empty, core.vocal
        )

    # What the reductions mean for the points

    def _touch(self, vertex: int) -> None:
        self.touched.add(vertex)
        super()._touch(vertex)

    def _series(self, first: int, second: int) -> None:
        begin, end = self.begin[first], self.end[second]
        super()._series(first, second)
        kept = first if self.alive[first] else second
        self.begin[kept], self.end[kept] = begin, end

    def _parallel(self, first: int, second: int) -> None:
        super()._parallel(first, second)
        if self.alive[first] and self.flat[first] and self.begin[first] != self.begin[second]:
            begin, end = self.timing.point(), self.timing.point()
            for vertex in (first, second):
                self.timing.add(begin, self.begin[vertex])
                self.timing.add(self.end[vertex], end)
            self.begin[first], self.end[first] = begin, end

    # Moves

    def relax(self) -> None:
        """Reduces to a single vertex."""
        self.settle()
        price = page_price(self)
        heap: list[tuple[float, float, int, int, int]] = []
        while self.count > 1 and self.effort > 0:
            for vertex in sorted(self.touched):
                if self.alive[vertex]:
                    self._propose(vertex, heap)
            self.touched.clear()
            if not self._move(heap):
                self._token(price)
            self.settle()
        self.run(price)

    def _propose(self, vertex: int, heap: list[tuple[float, float, int, int, int]]) -> None:
        """Puts on the heap whatever may have become possible by a change at a vertex."""
        self.effort -= len(self.preds[vertex]) + len(self.succs[vertex])
        moves = [(_EACH, vertex, target) for target in self.succs[vertex]]
        moves += [(_TOWARDS, target, -1) for target in self.succs[vertex]]
        moves += [(_EACH, source, vertex) for source in self.preds[vertex]]
        moves += [(_TOGETHER, source, -1) for source in self.preds[vertex]]
        for move in moves:
            if move not in self.pending:
                self.pending.add(move)
                heappush(heap, (0.0, -99.0, *move))

    def _move(self, heap: list[tuple[float, float, int, int, int]]) -> bool:
        """Makes the least harmful move. An entry of the heap is a lower bound: harm only grows."""
        last: tuple[float, float, int, int, int] | None = None
        while heap and self.effort > 0:
            entry = heappop(heap)
            self.pending.discard(entry[2:])
            if entry == last:
                continue
            last = entry
            _, _, kind, one, two = entry
            if not self.alive[one] or kind == _EACH and two not in self.succs[one]:
                continue
            sources, targets = self._between(one, two) if kind == _EACH else self._group(kind, one)
            self.effort -= len(sources) + len(targets) + (len(self.succs[one]) + len(self.preds[two]) if kind == _EACH else 0)
            if not sources or not targets:
                continue
            edges = sum(len(self.succs[source] & targets) for source in sources)
            if kind != _EACH and edges == len(sources) * len(targets) and min(len(sources), len(targets)) == 1:
                continue
            harm = self.timing.harm((self.end[vertex] for vertex in sources), (self.begin[vertex] for vertex in targets))
            if harm == float("inf"):
                continue
            gain = 1.0 if kind == _EACH else self.grouped * (edges - len(sources) - len(targets) + 2)
            now = (round(harm, 5), -gain, kind, one, two)
            if now > entry and heap and now > heap[0]:
                heappush(heap, now)
                continue
            if self.timing.reaches(
                (self.begin[vertex] for vertex in targets), (self.end[vertex] for vertex in sources)
            ):
                continue
            if kind == _EACH:
                self._order(sources, targets, -1)
            else:
                self._order(sources, targets, self._joint())
            return True
        return False

    def _between(self, source: int, target: int) -> tuple[set[int], set[int]]:
        """The one new edge that makes an edge pointless at the least harm."""
        best = float("inf")
        found: tuple[set[int], set[int]] = (set(), set())
        ends, rest = self.timing.ends, self.timing.rest
        others = self.succs[source] - {target}
        if others:
            other = min(others, key=lambda vertex: (ends[self.end[vertex]][0], vertex))
            best = ends[self.end[other]][0] + rest[self.begin[target]][0]
            found = {other}, {target}
        others = self.preds[target] - {source}
        if others:
            other = min(others, key=lambda vertex: (rest[self.begin[vertex]][0], vertex))
            if ends[self.end[source]][0] + rest[self.begin[other]][0] < best:
                found = {source}, {other}
        return found

    def _group(self, kind: int, vertex: int) -> tuple[set[int], set[int]]:
        if kind == _TOGETHER:
            targets = set(self.succs[vertex])
            sources = set().union(*(self.preds[target] for target in targets)) if len(targets) > 1 else set()
        else:
            sources = set(self.preds[vertex])
            targets = set().union(*(self.succs[source] for source in sources)) if len(sources) > 1 else set()
        return sources, targets

    def _joint(self) -> int:
        """A further empty vertex."""
        vertex = len(self.alive)
        self.preds.append(set())
        self.succs.append(set())
        self.node.append(len(self.nodes))
        self.nodes.append((LEAF, vertex, -1))
        for marks in (self.alive, self.signals, self.waits, self.flat, self.empty, self.vocal, self.queued):
            marks.append(0)
        self.alive[vertex] = self.empty[vertex] = 1
        self.first.append(vertex)
        self.last.append(vertex)
        self.word.append(scattered(vertex))
        self.above.append(0)
        self.below.append(0)
        point = self.timing.point()
        self.begin.append(point)
        self.end.append(point)
        self.count += 1
        return vertex

    def _link(self, source: int, target: int) -> None:
        if target not in self.succs[source]:
            self.succs[source].add(target)
            self.preds[target].add(source)
            self.below[source] = self.below[source] + self.word[target] & 2**64 - 1
            self.above[target] = self.above[target] + self.word[source] & 2**64 - 1
            self._touch(source)
            self._touch(target)

    def _unlink(self, source: int, target: int) -> None:
        self.succs[source].discard(target)
        self.preds[target].discard(source)
        self.below[source] = self.below[source] - self.word[target] & 2**64 - 1
        self.above[target] = self.above[target] - self.word[source] & 2**64 - 1
        self._touch(source)
        self._touch(target)

    def _order(self, sources: set[int], targets: set[int], joint: int) -> None:
        """Lets all sources precede all targets, through a joint if there is one, and drops the edges that say no more."""
        before, after = self._closure(sources, self.preds), self._closure(targets, self.succs)
        self.effort -= len(before) + len(after)
        near, far = before | sources, after | targets
        for source in near:
            for target in self.succs[source] & far:
                self._unlink(source, target)
        sources, targets = sources - before, targets - after
        timing = self.timing
        if joint < 0:
            for source in sources:
                for target in targets:
                    self._link(source, target)
                    timing.add(self.end[source], self.begin[target])
            return
        for source in sources:
            self._link(source, joint)
            timing.add(self.end[source], self.begin[joint])
        for target in targets:
            self._link(joint, target)
            timing.add(self.end[joint], self.begin[target])

    @staticmethod
    def _closure(start: set[int], near: list[set[int]]) -> set[int]:
        """All that is strictly before (or after) one of some vertices."""
        found: set[int] = set()
        stack = list(start)
        while stack:
            fresh = near[stack.pop()] - found
            found |= fresh
            stack.extend(fresh)
        return found

    def _token(self, price: Callable[[int, int], float]) -> None:
        best = min(
            (price(source, target), -self.unlocked(source, target), source, target)
            for source in range(len(self.alive)) if self.alive[source] for target in self.succs[source]
        )
        self.effort -= self.count
        self.cut(best[2], best[3])
