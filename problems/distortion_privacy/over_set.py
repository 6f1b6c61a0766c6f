"""Distortion and leakage over a set of joints: the largest of both, read in floats, proved in rationals, repaired by mixing."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from privopt.arrays import Floats
from privopt.core.exact import exp_at_least
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation
from privopt.mechanisms import Channel
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release, release_rows
from privopt.problems.costs import share
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.local_information_privacy import over_set as ratios
from privopt.problems.robust import best_guess_over, maximal_leakage_over, most_expected
from privopt.problems.robust_information import kept_share, most_information_over, read
from privopt.problems.robust_reading import SetReader

AVERAGES = ("mutual_information", "maximal_leakage")
"""Leakages that are averages over releases, with a bound over sets."""

ROUNDING = 2.0**-49
"""Nats kept free of the budget: what rounding the mixed matrix to floats can add to a leakage."""


def worst_distortion(data: DistortionData, ambiguity: JointAmbiguity, release: Release) -> Fraction:
    """The largest expected distortion of a release over the set; exact but for chi-squared sets, where it is at least that."""
    rows = release_rows(release, range(len(release.inputs)))
    values = [
        sum((Fraction(d) * w for d, w in zip(line, row.weights, strict=True) if w), Fraction(0)) / row.total
        for line, row in zip(data.distortion, rows, strict=True)
    ]
    return most_expected(ambiguity, values)


def least_worst(data: DistortionData, ambiguity: JointAmbiguity) -> Fraction:
    """The least that the largest expected distortion over the set can be: that of the best reproduction of each symbol."""
    return most_expected(ambiguity, [Fraction(min(line)) for line in data.distortion])


def evaluate(
    data: DistortionData, ambiguity: JointAmbiguity, reader: SetReader, release: Release
) -> Evaluation:
    """Utility at the nominal joint, the largest leakage over the set, and by how much the bound is missed, in float64."""
    utility = -float(data.costs.expected(release)) + 0.0
    if data.order is None:
        told = ratios.evaluate(data.ratios(1.0), reader, release)
        leakage, worst, where = told.leakage, told.worst, told.where
    else:
        leakage, worst, where = average_level(data, reader, release.matrix), (), ""
    if data.max_leakage is None:
        violation = (
            max(0.0, float(worst_distortion(data, ambiguity, release) - data.floor))
            if data.budget < math.inf
            else 0.0
        )
        objective = -leakage + 0.0
    else:
        violation, objective = 0.0 if leakage <= data.budget else leakage - data.budget, utility
    feasible = violation <= FEASIBILITY * max(1.0, min(abs(data.budget), 1e6))
    reading = Evaluation(utility, leakage, objective, feasible, violation)
    return reading if leakage == 0 else replace(reading, worst=worst, where=where)


def average_level(data: DistortionData, reader: SetReader, matrix: Floats) -> float:
    """The bound on an average over the set, in float64: on mutual information, or on maximal leakage."""
    return read(reader, matrix).bound if data.order == 1 else guess_level(reader, matrix)


def average_over(data: DistortionData, ambiguity: JointAmbiguity, release: Release) -> Enclosure:
    """Floats around the largest average over the set: at least that of one of its joints, and at most a proved bound."""
    if data.order == 1:
        return most_information_over(ambiguity, SetReader.of(ambiguity), release)
    nominal = data.leakage_of(data.observation.leaking_distribution(release))
    return nominal, max(nominal, maximal_leakage_over(ambiguity, release))


def guess_level(reader: SetReader, matrix: Floats) -> float:
    """Ln sum_y max_s of the largest P(y | s), in float64: a bound on maximal leakage over the set."""
    _, high = reader.extremes(matrix)
    return max(0.0, math.log(math.fsum(high[reader.possible].max(axis=0).tolist())))


def guess_kept(ambiguity: JointAmbiguity, release: Release, budget: float) -> bool | None:
    """Whether the bound on maximal leakage over the set is at most a budget, proved; None where it is not decided."""
    return exp_at_least(budget, *best_guess_over(ambiguity, release).as_integer_ratio())


def repair(
    data: DistortionData, ambiguity: JointAmbiguity, reader: SetReader, release: Release, margin: float
) -> Release:
    """The least mixture that meets the bound at every joint of the set."""
    if data.budget == math.inf:
        return release
    if data.max_leakage is None:
        return _closer(data, ambiguity, release, margin)
    return _quieter(data, reader, release, margin)


def _closer(data: DistortionData, ambiguity: JointAmbiguity, release: Release, margin: float) -> Release:
    """Mixed with the best reproduction: the largest distortion over the set is at most the mixture of both."""
    least, now = least_worst(data, ambiguity), worst_distortion(data, ambiguity, release)
    target = least + (data.floor - least) * (1 - Fraction(margin))
    if now <= target:
        return release
    weight = share(now - max(target, least), now - least) if now > least else Fraction(1)
    rows = []
    for row, line in zip(release_rows(release, range(len(release.inputs))), data.distortion, strict=True):
        mixed = [(1 - weight) * row.fraction(y) for y in range(len(line))]
        mixed[line.index(min(line))] += weight
        rows.append(mixed)
    return Channel(rows, release.inputs, release.outputs, simulation_only=release.simulation_only)


def _quieter(data: DistortionData, reader: SetReader, release: Release, margin: float) -> Release:
    """Mixed with the best constant release: e to the bound on maximal leakage moves straight towards 1, mutual information is convex."""
    limit = max(0.0, data.budget * (1 - margin) - ROUNDING)
    constant = data.constant().matrix
    if data.order == 1:
        keep = kept_share(reader, release.matrix, constant, limit)
    else:
        top, room = math.exp(guess_level(reader, release.matrix)), math.expm1(limit)
        keep = 1.0 if top - 1 <= room else max(0.0, math.nextafter(room / (top - 1), 0.0))
    if keep == 1.0:
        return release
    matrix = keep * release.matrix + (1 - keep) * constant if keep else constant
    return Channel(matrix, release.inputs, release.outputs, simulation_only=release.simulation_only)
