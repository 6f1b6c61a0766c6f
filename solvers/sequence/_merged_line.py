"""One release over a long line: neighbouring letters merged until a linear program fits, its prices read between them.

Letters of a class share a row, so that the answer is private for every one of them, and any prices prove a bound. What
merging costs is therefore in the gap, and on a line it is small: distortions and prices change little between neighbours.
"""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.formulas.steps import Answer, Step, all_or_nothing, structure

CLASSES = 100
"""Classes of neighbours, and releases: one that stands for each."""


def merged(step: Step, seconds: float) -> Answer | None:
    """The best release of classes of neighbours; None if it is not found in time.

    Parameters
    ----------
    step : Step
        Of letters on a line.
    seconds : float
        For the program of the classes.
    """
    known = all_or_nothing(step, {"iterations": 0, "stop": "all or nothing"})
    if known is not None:
        return known
    order, label = _classes(step)
    mass = np.asarray(np.bincount(label, weights=step.p[order]), dtype=np.float64)
    chosen = _medians(step.p[order], label, mass)
    releases = order[chosen]
    cost = np.zeros((len(mass), len(releases)))
    np.add.at(cost, label, (step.p[order] / mass[label])[:, None] * step.cost[np.ix_(order, releases)])
    answer = structure(Step(mass, cost, step.budget, mass.tolist()), seconds)
    if answer is None:
        return None
    rows = np.asarray(answer.kernel, dtype=np.float64)
    kernel = np.zeros(step.cost.shape)
    kernel[np.ix_(order, releases)] = rows[label]
    kernel[np.ix_(step.p == 0, releases)] = mass @ rows
    places = np.array(step.line, dtype=np.float64)
    prices = np.interp(places, places[releases], answer.prices)
    return Answer(kernel, prices, {**answer.stats, "classes": len(mass)})


def _classes(step: Step) -> tuple[Ints, Ints]:
    """The possible letters in the order of the line, and the class of each: equally many letters each, none of them in two."""
    places = np.array(step.line, dtype=np.float64)[step.support]
    order = step.support[np.argsort(places, kind="stable")]
    count = min(CLASSES, len(order))
    return order, np.arange(len(order)) * count // len(order)


def _medians(p: Floats, label: Ints, mass: Floats) -> Ints:
    """The letter of each class that half of its mass is up to."""
    classes, upto = np.arange(len(mass)), np.cumsum(p)
    first, last = (np.searchsorted(label, classes, side=side) for side in ("left", "right"))
    return np.asarray(np.clip(np.searchsorted(upto, upto[last - 1] - mass / 2), first, last - 1))
