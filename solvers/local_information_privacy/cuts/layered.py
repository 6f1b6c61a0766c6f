"""Posteriors and a bound by layers, for a share of the time; see :mod:`privopt.solvers.local_information_privacy.cuts.layers`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.bound import priced_bound
from privopt.problems.local_information_privacy.layers import Layers, least_layer_cost
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.cuts.descents import Descents
from privopt.solvers.local_information_privacy.cuts.layers import LayerTree

DESCENDING = 0.75
"""When descents from boxes end, as a share of the time."""

STEP = 0.05
"""Share of the time between two changes of prices."""

ROUNDS = tuple(0.5 + STEP * k for k in range(1, 6))
"""When prices change where secrets have few values, as shares of the time."""

END = 0.93
"""When the tree is done, as a share of the time: what is left is for its check."""

WORST = 20
"""Boxes from which descents start then."""

AGAIN = (0.78, 0.84)
"""When prices are sought again for the boxes that are open, as shares of the time."""


@dataclass
class Layered:
    """One run.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    layers : Layers
        Of its set.
    descents : Descents
        Seek posteriors while the tree stands.
    until : callable
        The budget that ends when a share of the time is spent.
    """

    problem: LocalInformationPrivacy
    layers: Layers
    descents: Descents
    until: Callable[[float], Budget]
    boxes: int = 0
    tree: LayerTree = field(init=False)
    first: Floats | None = None

    def begin(self) -> float:
        """What boxes are expected to prove after a while; infinity where no prices are found in time."""
        self.tree = LayerTree(self.layers)
        if self.tree.few:
            self.tree.prepare(self.until(0.5))
            self.tree.begin(self.descents.mixtures.prices, self.until(0.5))
            self.tree.run(self.until(0.5), math.inf)
            return priced_bound(self.problem, self.tree.at, self.tree.bound)
        self.tree.prepare(self.until(0.5))
        self.first = self.tree.prices(self.until(0.55).remaining)
        if self.first is None:
            return math.inf
        self.tree.begin(self.first, self.until(0.6))
        self.tree.run(self.until(0.6), math.inf)
        return priced_bound(self.problem, self.tree.at, self.tree.bound)

    def run(self) -> tuple[float, dict[str, object]] | None:
        """The bound with its dual; None where no prices were found in time."""
        tree = self.tree
        if tree.few:
            self._rounds()
        elif self.first is None:
            return None
        else:
            self.descents.run(self.until(DESCENDING))
            for share in AGAIN:
                tree.run(self.until(share), math.inf)
                if (better := tree.prices(self.until(share + 0.02).remaining)) is not None:
                    tree.begin(better, self.until(share + 0.04))
        tree.run(self.until(END), math.inf)
        nodes = tree.root.preorder()
        self.boxes = len(nodes)
        ends = least_layer_cost(self.problem, tree.at, nodes)
        if ends is None:
            return None
        dual: dict[str, object] = {"kind": "layers", "pi": tree.at.tolist(), "tree": nodes}
        return priced_bound(self.problem, tree.at, ends[0]), dual

    def _rounds(self) -> None:
        """Go down from what the worst boxes mix, and on with the prices of the mixture that this makes."""
        tree, p = self.tree, self.layers.p.mid
        for share in ROUNDS:
            tree.run(self.until(share), math.inf)
            until, before = self.until(share + 0.5 * STEP), self.descents.mixtures.value
            points = [
                v
                for solved in tree.worst(WORST)
                for v in self.descents.allowed.descend(
                    self.descents.mixtures.prices, solved.posterior(p), until
                )
            ]
            if points:
                self.descents.mixtures.mix(np.array(points))
            if self.descents.mixtures.value < before:
                tree.begin(self.descents.mixtures.prices, self.until(END))
