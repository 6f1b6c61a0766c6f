"""Problems over sets of distributions that are meant to break the library, and members of the sets at which exact arithmetic judges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import privopt as po
from oracles import hostile
from oracles.documents import Json

Rng = np.random.Generator
Row = list[Fraction]

RADII = (0.0, 5e-324, 1e-300, 1e-12, 0.01, 0.2, 0.5, 1.0, 2.0, 1e150)
"""Of balls, and of intervals as a share or as a width."""
INSIDE = Fraction(1, 2**20)
"""The share by which members are moved towards the middle of the others, so that whatever may occur does."""
OVER = " over a set"
"""What names of kinds end with."""


def row_set(rng: Rng, n: int, center: Sequence[float] | None = None) -> po.RowSet:
    """Distributions of n values: between bounds, in a ball, all, or one."""
    middle = hostile.vector(rng, n) if center is None else list(center)
    radius, style = float(rng.choice(RADII)), int(rng.integers(6))
    if style == 0:
        return po.RowSet.total_variation(middle, radius)
    if style == 1:
        return po.RowSet.chi2(middle, radius)
    if style == 2 and center is None:
        return po.RowSet.all(n)
    if style == 3:
        wide = [float(rng.choice(RADII[:-2])) for _ in middle]
    elif style == 4:
        wide = [v * min(radius, 1.0) for v in middle]
    else:
        wide = [min(radius, 1.0)] * n
    pairs = list(zip(middle, wide, strict=True))
    return po.RowSet.interval([max(0.0, v - w) for v, w in pairs], [min(1.0, v + w) for v, w in pairs])


def joints(rng: Rng) -> po.JointAmbiguity:
    """A set about a table; at times of counts, or with sets that have nothing to do with it."""
    style = int(rng.integers(6))
    if style == 0:
        return po.JointAmbiguity.from_counts(rng.integers(0, 30, size=rng.integers(1, 4, size=2)))
    table = hostile.joint(rng)
    if style == 1:
        return po.JointAmbiguity.total_variation(table, *(float(rng.choice(RADII)) for _ in range(2)))
    if style == 2:
        return po.JointAmbiguity.joint_total_variation(table, float(rng.choice(RADII)))
    if style == 3:
        low, high = (
            table.table / table.p_s.clip(min=1e-300)[:, None] * v for v in (rng.random(), 1 + rng.random())
        )
        return po.JointAmbiguity.interval(low, high, table.p_s, nominal=table)
    (s, x), own = table.table.shape, rng.random() < 0.7
    p_s = table.p_s.tolist()
    rows = [
        row_set(rng, x, (row / p).tolist() if own and p > 1e-3 else None)
        for row, p in zip(table.table, p_s, strict=True)
    ]
    prior: Any = row_set(rng, s, p_s) if rng.random() < 0.6 else p_s
    return po.JointAmbiguity(rows, prior, nominal=table if own else None)


def chains(rng: Rng) -> po.ChainAmbiguity:
    """A set of chains about one, in proportion to its steps, of counts, or of sets for each row."""
    style = int(rng.integers(4))
    if style == 0:
        return po.ChainAmbiguity.from_counts(rng.integers(0, 40, size=(2, 2)))
    one = hostile.chain(rng, 2)
    if style == 3:
        rows = [[row_set(rng, 2, row.tolist()) for row in one.transition] for _ in range(2)]
        return po.ChainAmbiguity(rows[0], rows[1], row_set(rng, 2, one.initial.tolist()), nominal=one)
    return po.ChainAmbiguity.interval(one, float(rng.choice(RADII[:-2])))


def covariances(rng: Rng) -> po.CovarianceAmbiguity:
    """Covariances of two records or three, entry by entry; singular ones among them, and variances next to 0."""
    m = int(rng.integers(2, 4))
    between = float(rng.choice([-0.5, 0.0, 1e-300, 0.3, 0.9, 1.0]))
    middle = np.eye(m) * (1 - between) + between if between >= 0 or m == 2 else np.eye(m)
    middle = middle * float(rng.choice([1.0, 1.0, 1e-150, 1e100]))
    wide = float(rng.choice([0.0, 1e-12, 0.05, 0.5, 0.999999])) * np.abs(middle)
    return po.CovarianceAmbiguity(middle - wide, middle + wide, nominal=middle)


def _lip(rng: Rng) -> hostile.Build:
    table, notion, low, high = (
        joints(rng),
        str(rng.choice(["lip", "ldp"])),
        hostile.budget(rng),
        hostile.budget(rng),
    )
    utility: Any = "mutual_information"
    if rng.random() < 0.5:
        utility = hostile.costs(rng, len(table.useful), len(table.useful))
    if rng.random() < 0.5:
        return lambda: po.LocalInformationPrivacy(table, low, notion=notion, utility=utility)
    return lambda: po.LocalInformationPrivacy(table, lower=low, upper=high, utility=utility)


def _pointwise(rng: Rng) -> hostile.Build:
    table, level = joints(rng), hostile.budget(rng)
    return lambda: po.PointwiseMaximalLeakage(table, level)


def _distortion(rng: Rng) -> hostile.Build:
    table, level = joints(rng), hostile.budget(rng)
    distortion = hostile.costs(rng, len(table.useful), len(table.useful))
    kind = str(rng.choice(["lip", "ldp", "maximal_leakage", "mutual_information"]))
    if rng.random() < 0.5:
        return lambda: po.DistortionPrivacy(table, distortion, max_leakage=level, leakage=kind)
    return lambda: po.DistortionPrivacy(table, distortion, max_distortion=level, leakage=kind)


def _funnel(rng: Rng) -> hostile.Build:
    table, level, form = joints(rng), hostile.budget(rng), str(rng.choice(["stochastic", "merging"]))
    return lambda: po.PrivacyFunnel(table, max_leakage=level, form=form)


def _belief(rng: Rng) -> hostile.Build:
    beliefs, level = row_set(rng, int(rng.integers(1, 5))), hostile.budget(rng)
    return lambda: po.BeliefRelease(beliefs, level)


def _sequence(rng: Rng) -> hostile.Build:
    near, level, horizon = chains(rng), hostile.budget(rng), int(rng.integers(1, 4))
    return lambda: po.SequenceInformationPrivacy(near, level, horizon=horizon)


def _redaction(rng: Rng) -> hostile.Build:
    near, level, length = chains(rng), hostile.budget(rng), int(rng.integers(1, 6))
    private = int(rng.integers(length))
    return lambda: po.Redaction(near, length, private, level)


def _bayesian(rng: Rng) -> hostile.Build:
    level = hostile.budget(rng)
    if rng.random() < 0.5:
        near, length = chains(rng), int(rng.integers(1, 6)) if rng.random() < 0.5 else None
        return lambda: po.BayesianPrivacy(near, "count", level, length=length)
    records, clip = covariances(rng), (0.0, float(rng.choice([1e-300, 1.0, 1e150])))
    return lambda: po.BayesianPrivacy(records, "sum", level, clip=clip)


MADE: dict[str, Callable[[Rng], hostile.Build]] = {
    "local_information_privacy": _lip,
    "pointwise_maximal_leakage": _pointwise,
    "distortion_privacy": _distortion,
    "privacy_funnel": _funnel,
    "belief_release": _belief,
    "sequence_information_privacy": _sequence,
    "redaction": _redaction,
    "bayesian_privacy": _bayesian,
}


def kinds() -> list[str]:
    """Names of all kinds of problems that are posed over sets."""
    return [name + OVER for name in MADE]


def problem(kind: str, rng: Rng) -> hostile.Build:
    """How a problem of a kind is built, over a set if its name says so; what it says may be refused."""
    if kind.endswith(OVER):
        return lambda: MADE[kind.removesuffix(OVER)](rng)()
    return hostile.problem(kind, rng)


# Members


def ends(allowed: po.RowSet, rng: Rng, count: int = 6) -> list[Row]:
    """Distributions at the border of a set, in exact numbers, and its middle; with no zero that the others do not share."""
    found = [_end(allowed, rng) for _ in range(count)]
    middle: Row = [sum(column, Fraction(0)) / count for column in zip(*found, strict=True)]
    inside: list[Row] = [[a + INSIDE * (b - a) for a, b in zip(end, middle, strict=True)] for end in found]
    return [middle, *inside]


def _end(allowed: po.RowSet, rng: Rng) -> Row:
    n = allowed.size
    order = [int(i) for i in rng.permutation(n)]
    if allowed.kind == "all":
        return [Fraction(int(i == order[0])) for i in range(n)]
    if allowed.kind == "interval":
        row, left = list(allowed.lower), 1 - sum(allowed.lower)
        for i in order:
            more = min(left, allowed.upper[i] - allowed.lower[i])
            row[i], left = row[i] + more, left - more
        return row
    row, left = list(allowed.center), allowed.radius
    if allowed.kind == "total_variation":
        for i in order[1:]:
            gone = min(left, row[i])
            row[i], row[order[0]], left = row[i] - gone, row[order[0]] + gone, left - gone
        return row
    some = [i for i in order if row[i]]
    if len(some) < 2:
        return row
    (a, p), (b, q) = ((i, row[i]) for i in some[:2])
    size = _below_root(
        min(left, Fraction(10**6)) ** 2 / (1 / p + 1 / q)
    )  # of a move from one value to another
    row[a], row[b] = p + min(size, q), q - min(size, q)
    return row


def _below_root(x: Fraction) -> Fraction:
    """A number that is at most the square root of one >= 0, nearly it."""
    shift = 256 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    return Fraction(math.isqrt((x.numerator << 2 * shift) // x.denominator), 1 << shift)


def _joints(near: po.JointAmbiguity, rng: Rng) -> Iterator[po.JointDistribution]:
    sets = [ends(row, rng) for row in near.rows]
    priors = ends(near.prior, rng)
    for _ in range(4):
        prior, *rows = (some[int(rng.integers(len(some)))] for some in (priors, *sets))
        table = [[p * v for v in row] for p, row in zip(prior, rows, strict=True)]
        common = math.lcm(*(v.denominator for row in table for v in row))
        counts = [[int(v * common) for v in row] for row in table]
        yield po.JointDistribution.normalised(counts, near.sensitive, near.useful)


def _chains(near: po.ChainAmbiguity, rng: Rng) -> Iterator[po.MarkovChain]:
    sets = [ends(row, rng) for row in near.forward]
    initial = ends(near.initial, rng)
    for _ in range(6):
        first, *rows = (some[int(rng.integers(len(some)))] for some in (initial, *sets))
        one = po.MarkovChain(rows, first, states=near.states)
        if near.contains(one):
            yield one


def _covariances(near: po.CovarianceAmbiguity, rng: Rng) -> Iterator[po.GaussianModel]:
    for _ in range(4):
        share = np.triu(rng.choice([0.0, 1.0, float(rng.random())], size=near.lower.shape))
        share = share + np.triu(share, 1).T
        table = np.clip(near.lower + share * (near.upper - near.lower), near.lower, near.upper)
        if np.linalg.eigvalsh(table).min() > 0:
            yield po.GaussianModel(table, names=near.names)


def members(posed: po.Problem[Any], rng: Rng) -> Iterator[Json]:
    """Documents of the problem at some distributions of its set, each of which a certified answer is private at.

    A joint distribution counts only if every secret and every symbol that the set knows may occur, as no other binds them all.
    """
    fields, known = posed.to_dict(), vars(posed)
    near = known.get("ambiguity", known.get("joint", known.get("belief")))
    if isinstance(near, po.JointAmbiguity):
        for one in _joints(near, rng):
            if (one.p_s > 0).all() and (one.table.sum(axis=0) > 0).all():
                yield {**fields, "joint": one.to_dict()}
    elif isinstance(near, po.RowSet):
        for row in itertools.islice(ends(near, rng), 4):
            if all(row):
                yield {**fields, "belief": [f"{v.numerator}/{v.denominator}" for v in row]}
    elif isinstance(near, po.ChainAmbiguity) and "chain" in fields:
        for chain in _chains(near, rng):
            yield {**fields, "chain": chain.to_dict()}
    elif isinstance(near, po.ChainAmbiguity):
        for chain in _chains(near, rng):
            yield {**fields, "model": chain.to_dict()}
    elif isinstance(near, po.CovarianceAmbiguity):
        for model in _covariances(near, rng):
            yield {**fields, "model": model.to_dict()}
