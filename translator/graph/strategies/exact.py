"""Strategies that add no order: `exact`, and `chains`, its simple relative."""

from __future__ import annotations

from collections.abc import Callable

from translator.graph.strategies.assembly import assemble
from translator.graph.strategies.dag import Dag, joined
from translator.graph.strategies.layout import Branches, Layout, Leaf, Series, Tree, transitions
from translator.graph.strategies.reduction import LEAF, Node, Reduction, page_price


def exact(dag: Dag) -> Layout:
    graph = joined(dag)
    steps = len(dag)
    reduction = Reduction(graph.preds, graph.succs, (), range(steps, len(graph.preds)))
    joints = len(graph.preds) - steps
    reduction.settle()
    best=None
    for s in ((2.0,1.0),(1.0,1.0),(3,1),(2,2)):
      import copy
      r=copy.deepcopy(reduction)
      r.run(page_price(r,*s))
      l=assemble("exact", steps, joints, r.nodes, r.node[r.root], r.cuts)
      if best is None or transitions(l)<transitions(best): best=l
    return best
