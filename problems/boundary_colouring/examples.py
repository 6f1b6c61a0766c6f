"""Small problems on graphs of datasets; the optima are closed forms, or were computed with exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable

from privopt.core.problem import Example, Problem
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph

LN2 = math.log(2)


def examples(make: Callable[..., Problem[Colouring]]) -> tuple[Example[Colouring], ...]:
    """Easiest first."""
    path = DatasetGraph([(i, i + 1) for i in range(5)], [1, 1, 1, 2, 2, 2])
    tree = DatasetGraph([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (5, 6)], [1, 1, 1, 2, 1, 1, 2])
    star = DatasetGraph([(0, 1), (0, 2), (0, 3)], [1, 2, 2, 2])
    cells = DatasetGraph.grid([[1, 1, 2], [1, 2, 2], [1, 2, 1]])
    triangle = DatasetGraph([(0, 1), (1, 2), (0, 2)], [0, 1, 2])
    three = DatasetGraph([(0, 1), (1, 2), (2, 3), (3, 4)], [0, 0, 1, 2, 2])
    return (
        Example("one-colour", make(DatasetGraph([(0, 1)], ["no", "no"]), 0.5), 1.0),
        Example("edge", make(DatasetGraph.line(1, 1), LN2), 2 / 3),
        Example(
            "line",
            make(DatasetGraph.line(3, 2), LN2, boundary=(0.9, None)),
            (0.975 + 0.95 + 0.9 + 0.2 + 0.4) / 5,
        ),
        Example("balanced-delta", make(DatasetGraph.line(4, 3), LN2, 0.1), (2 * 0.7 + 2 * 0.9 + 3) / 7),
        Example("voters", make(DatasetGraph.voters(2, 1), LN2), (2 / 3 * 4 + 5 / 6 * 2 + 2 / 3) / 7),
        Example("path-given", make(path, LN2, boundary={2: 0.25}), (0.25 + 0.5 + 0.75 + 2.78125) / 6),
        Example("path-given-delta", make(path, LN2, 0.1, boundary={2: 0.5, 3: 0.4}), 4.675 / 6),
        Example("tree-given", make(tree, LN2, boundary={2: 0.1, 5: 0.6}), 3.35 / 7),
        Example("no-budget", make(path, 0.0), 0.5),
        Example("worst-case", make(path, 1.0, boundary=None, objective="worst_case"), math.e / (1 + math.e)),
        Example(
            "counts", make(DatasetGraph.counts(5), LN2, boundary=None, weights=[1, 5, 10, 10, 5, 1]), 0.734375
        ),
        Example("star", make(star, LN2, boundary=None, weights=[2, 1, 1, 1]), 10 / 3 / 5),
        Example("cells", make(cells, 1.0, boundary=None, weights=range(1, 10)), 33.06763944 / 45, 1e-9),
        Example(
            "cells-delta", make(cells, 1.0, 0.05, boundary=None, weights=range(1, 10)), 33.68265144 / 45, 1e-9
        ),
        Example("triangle", make(triangle, LN2, 0.1, boundary=None, objective="worst_case"), 0.55),
        Example("three-colours", make(three, LN2, boundary=None), 2 / 3),
        Example("three-colours-delta", make(three, LN2, 0.1, boundary=None), 0.72),
    )
