"""What columns that are kept beside a release leak about the secret together with it, as the problem counts leakage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.certificate import Certificate
from privopt.core.problem import FEASIBILITY, Problem
from privopt.core.reformulation import Reformulation
from privopt.errors import InvalidMechanism
from privopt.measures.shannon import mutual_information
from privopt.models.channel_data import Release
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.divergences import NOTIONS, readings
from privopt.problems.local_information_privacy.leakage import excesses, log_lifts
from privopt.problems.trade_off.data import TradeOffData

MOST_CELLS = 2**24
"""Cells of the joint table of the secret and everything that is shown, beyond which it is not made."""

SELDOM = 0.01
"""The probability of the cases that are left out of what is leaked mostly."""


@dataclass(frozen=True)
class Beside:
    """What the columns kept beside a release leak together with it.

    Parameters
    ----------
    leakage : float
        Of the kept columns and the release about the secret, in nats, as the problem counts it.
    alone : float
        Of the release alone, on the same rows.
    allowed : float
        What the certificate allows: the budget, or what it states where the leakage has none.
    rows : int
        Rows that were counted.
    mostly : float
        What is exceeded in one case of a hundred at most, where every release is bounded; else the leakage itself.
    """

    leakage: float
    alone: float
    allowed: float
    rows: int
    mostly: float

    @property
    def within(self) -> bool:
        """Whether it is no more than what the certificate allows."""
        return within(self.leakage, self.allowed)


def within(leakage: float, allowed: float) -> bool:
    """Whether a leakage that was read in floats is no more than what is allowed."""
    return leakage <= allowed + FEASIBILITY * max(1.0, min(allowed, 1e6))


def kept_leakage(
    problem: Problem[Any],
    mechanism: Release,
    certificate: Certificate | None,
    secrets: Sequence[Hashable],
    kept: Sequence[Hashable],
    read: Sequence[Hashable],
) -> Beside | None:
    """What kept values leak about the secret together with the release, from the rows themselves; None where nothing is secret.

    The joint distribution of secret, kept value and what the mechanism reads is that of the rows; what it releases of each is that
    of its matrix. The model says nothing of kept columns, so that nothing better than the rows is known.

    Parameters
    ----------
    problem : Problem
        Of a table: it says which leakage counts.
    mechanism : Channel or Merging
    certificate : Certificate or None
        States what is leaked where the problem bounds something else.
    secrets, kept, read : sequences of equal length
        A row each: the secret, the kept values, and the symbol that the mechanism reads.

    Raises
    ------
    InvalidMechanism
        If there are too many combinations.

    Examples
    --------
    >>> import privopt as po
    >>> vote = po.JointDistribution.normalised([[30, 10], [20, 40]], ["red", "blue"], ["young", "old"])
    >>> problem = po.LocalInformationPrivacy(vote, 0.5)
    >>> nothing = po.Merging([["young", "old"]])
    >>> rows = ["red"] * 40 + ["blue"] * 60, ["f", "m"] * 50, ["young"] * 30 + ["old"] * 10 + ["young"] * 20 + ["old"] * 40
    >>> kept_leakage(problem, nothing, None, *rows).leakage
    0.0
    >>> kept_leakage(problem, nothing, None, rows[0], rows[0], rows[2]).leakage
    inf
    """
    data: Problem[Any] = problem
    while isinstance(data, Reformulation) and not isinstance(data, LocalInformationPrivacyData):
        data = data.target
    allowed = _allowed(problem, data, certificate)
    if allowed is None:
        return None
    table = _table(mechanism, secrets, kept, read)
    together, mostly = _leakage(data, table), math.inf
    if isinstance(data, LocalInformationPrivacyData) and data.notion not in NOTIONS:
        mostly = max(0.0, _level(excesses(data, table), table, SELDOM))
    alone = _leakage(data, _table(mechanism, secrets, [None] * len(read), read))
    return Beside(together, alone, allowed, len(read), min(together, mostly))


def _allowed(problem: Problem[Any], data: Problem[Any], certificate: Certificate | None) -> float | None:
    """The budget of the leakage, or what is leaked where that has none; None where nothing is secret."""
    stated = math.inf if certificate is None else certificate.leakage[1]
    if isinstance(data, LocalInformationPrivacyData):
        return problem.budget
    if isinstance(data, DistortionData):
        return stated if data.max_leakage is None else data.budget
    if isinstance(data, TradeOffData) and data.is_funnel:
        return data.budget if data.is_cap else stated
    return None


def _table(
    mechanism: Release, secrets: Sequence[Hashable], kept: Sequence[Hashable], read: Sequence[Hashable]
) -> Floats:
    """The joint distribution of the secret and everything that is shown: a row a secret, a column a kept value with a release.

    Kept values that stand for proportional counts say the same, and are one.
    """
    places = {label: i for i, label in enumerate(dict.fromkeys(secrets))}
    inputs = {label: x for x, label in enumerate(mechanism.inputs)}
    counted: dict[Hashable, Counter[tuple[int, int]]] = {}
    for value, secret, symbol in zip(kept, secrets, read, strict=True):
        counted.setdefault(value, Counter())[places[secret], inputs[symbol]] += 1
    profiles: Counter[frozenset[tuple[tuple[int, int], int]]] = Counter()
    for counts in counted.values():
        common = math.gcd(*counts.values())
        profiles[frozenset((pair, n // common) for pair, n in counts.items())] += common
    if len(profiles) * len(places) * len(mechanism.outputs) > MOST_CELLS:
        raise InvalidMechanism(
            f"the kept columns have {len(counted)} combinations of values, too many to say exactly what they leak: keep fewer or coarser ones"
        )
    matrix = np.asarray(mechanism.matrix)
    blocks = []
    for profile, times in profiles.items():
        block = np.zeros((len(places), matrix.shape[1]))
        for (s, x), n in sorted(profile):
            block[s] += times * n * matrix[x]
        blocks.append(block[:, block.any(axis=0)])
    return np.asarray(np.hstack(blocks) / len(read))


def _leakage(data: Problem[Any], table: Floats) -> float:
    """The leakage of a joint table [s, z], as a problem counts it, in nats."""
    if isinstance(data, LocalInformationPrivacyData):
        return _ratios(data, table)
    if isinstance(data, DistortionData):
        return data.leakage_of(table)
    return mutual_information(table / table.sum())


def _ratios(data: LocalInformationPrivacyData, table: Floats) -> float:
    """The level of log-lifts; where the two sides have different bounds, the larger bound and by how much a side exceeds its own."""
    if data.notion in NOTIONS:
        return float(readings(data.notion, table).max(initial=0.0))
    if data.per_value is not None:
        raise InvalidMechanism(
            "what kept columns add is read against one bound on all lifts, and this problem has one for each value of the secret"
        )
    if data.notion == "ldp" or data.lower == data.upper or math.inf in (data.lower, data.upper):
        return max(0.0, _level(excesses(data, table), table, data.delta))
    lifts = log_lifts(table)
    over = _level(np.maximum(lifts - data.upper, -lifts - data.lower), table, data.delta)
    return max(0.0, data.budget + over)


def _level(used: Floats, table: Floats, delta: float) -> float:
    """The least level such that cells beyond it have probability at most delta."""
    if delta == 0:
        return float(used.max())
    flat, mass = used.ravel(), table.ravel()
    order = np.argsort(-flat, kind="stable")
    first = int(np.searchsorted(np.cumsum(mass[order]), delta, side="right"))
    return 0.0 if first >= flat.size else float(flat[order[first]])
