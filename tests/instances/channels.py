"""Small random problems of local information privacy, of every form."""

from __future__ import annotations

import numpy as np

import privopt as po


def tables(seed: int, secrets: int = 0, symbols: int = 0) -> np.ndarray:
    """Integer tables; some with zero cells, some with symbols of probability zero."""
    rng = np.random.default_rng(seed)
    shape = (secrets or int(rng.integers(2, 4)), symbols or int(rng.integers(2, 6)))
    table = rng.integers(1, 20, size=shape)
    if seed % 4 == 1:
        table[rng.random(shape) < 0.2] = 0
        table[0, 0] += 1
    if seed % 7 == 3:
        table[:, -1] = 0
    if seed % 7 == 5:
        table[-1] = 0
    return table


def joint(seed: int, secrets: int = 0, symbols: int = 0) -> po.JointDistribution | po.ObservedJoint:
    """A joint of S and X, or of S, X and an observation."""
    if seed % 5 == 4:
        rng = np.random.default_rng(seed)
        return po.ObservedJoint.normalised(rng.integers(0, 9, size=(2, 3, 4)).tolist())
    return po.JointDistribution.normalised(tables(seed, secrets, symbols).tolist())


def bounds(seed: int) -> dict[str, float]:
    """One of the forms of a budget: both sides, one side, or two different ones."""
    rng = np.random.default_rng(100 + seed)
    level, other = (float(b) for b in rng.choice([0.05, 0.2, 0.5, 1.0], 2))
    forms = ({"epsilon": level}, {"upper": level}, {"lower": level}, {"lower": level, "upper": other})
    return forms[seed % 4]


def random_problem(seed: int, utility: object = "mutual_information") -> po.LocalInformationPrivacy:
    """Every third one asks for local differential privacy."""
    model = joint(seed)
    if seed % 3 == 2:
        level = float(np.random.default_rng(100 + seed).choice([0.05, 0.2, 0.5, 1.0]))
        return po.LocalInformationPrivacy(model, epsilon=level, notion="ldp", utility=utility)  # type: ignore[arg-type]
    return po.LocalInformationPrivacy(model, **bounds(seed), utility=utility)  # type: ignore[arg-type]
