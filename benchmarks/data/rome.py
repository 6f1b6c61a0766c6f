"""Nodes of the road network of Rome, which do not ship, and the problems on which methods for places are compared."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.benchmarks.data.external import External, load_external, register_data_set
from privopt.models.coordinates import EARTH
from privopt.models.metric import Metric
from privopt.problems.metric_privacy.problem import MetricPrivacy

register_data_set(
    External(
        "rome",
        "rome/nodes.csv.gz",
        "9c35da3e234fd3c8cfafefd7e6422b8b5b846e053b49802095ad21ea18eb2198",
        "43 160 nodes of Rome's road network, from chenxiunt/LocalRelevant_Geo-Obfuscation; geometry and text columns left out.",
        "© OpenStreetMap contributors, ODbL: attribution, and a derived table stays open.",
    )
)

EPSILON = 5.0
"""Nats per kilometre."""

RADIUS = 0.8
"""Kilometres within which pairs are promised."""

OUTPUTS = 100
SEED = 7


def rome() -> Floats:
    """The nodes in kilometres east and north, equirectangular at the mean latitude; shape (43160, 2).

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    import pandas as pd

    frame = pd.read_csv(load_external("rome"))
    up, along = np.radians(frame["lat"].to_numpy()), np.radians(frame["lon"].to_numpy())
    middle = np.radians(frame["lat"].mean())
    return EARTH["km"] * np.column_stack([along * np.cos(middle), up])


def rome_problem(points: int, outputs: int = OUTPUTS) -> MetricPrivacy:
    """Some nodes, and how far they are from one of them: the loss is the error of that distance, in metres.

    The points are the first of a permutation by generator 7, the outputs the first of a permutation of these by the
    same generator; the distance is to the point at position 1, the second, for which the exponential mechanism loses 783.5 m
    with 500 and 872.8 m with 1000 points (for the first it is 776.7 m and 884.7 m); the prior is uniform.
    """
    nodes, rng = rome(), np.random.default_rng(SEED)
    chosen: Floats = nodes[rng.permutation(len(nodes))[:points]]
    released: Ints = rng.permutation(points)[:outputs]
    reach = np.hypot(*(chosen - chosen[1]).T)
    loss = 1000.0 * np.abs(reach[:, None] - reach[None, released])
    metric = Metric.euclidean(chosen, unit="km")
    return MetricPrivacy(
        metric, [1 / points] * points, loss, EPSILON, outputs=released.tolist(), radius=RADIUS
    )
