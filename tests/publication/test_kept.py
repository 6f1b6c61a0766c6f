"""What kept columns leak beside a release: against sums over the rows in fractions, for each way to count leakage."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.errors import InvalidMechanism
from privopt.publication.kept import kept_leakage

Rows = list[tuple[str, str, str]]
"""Secret, kept value, useful value."""


def people(count: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        vote = str(rng.choice(["blue", "red"]))
        age = str(
            rng.choice(["mid", "old", "young"], p=[0.2, 0.5, 0.3] if vote == "red" else [0.3, 0.3, 0.4])
        )
        region = str(rng.choice(["N", "S"], p=[0.6, 0.4] if vote == "red" else [0.45, 0.55]))
        rows.append((vote, region, age))
    return rows


ROWS = people(400)


def joint_of(rows: Rows) -> po.JointDistribution:
    votes, ages = sorted({row[0] for row in rows}), sorted({row[2] for row in rows})
    table = [[sum(row[0] == vote and row[2] == age for row in rows) for age in ages] for vote in votes]
    return po.JointDistribution.normalised(table, votes, ages)


JOINT = joint_of(ROWS)
CHANNEL = po.Channel(
    [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]], JOINT.useful, ["a", "b", "c"]
)


def shown(rows: Rows, channel: po.Channel) -> dict[tuple[str, str, str], Fraction]:
    """Pr(secret, kept, release), in fractions."""
    exact = channel.exact()
    told: dict[tuple[str, str, str], Fraction] = defaultdict(Fraction)
    for vote, region, age in rows:
        row = exact[channel.inputs.index(age)]
        for y, name in enumerate(channel.outputs):
            told[vote, region, str(name)] += row.fraction(y) / len(rows)
    return told


def log_lifts(rows: Rows, channel: po.Channel) -> dict[tuple[str, str, str], float]:
    told = shown(rows, channel)
    of_vote: dict[str, Fraction] = defaultdict(Fraction)
    of_seen: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for (vote, region, name), p in told.items():
        of_vote[vote] += p
        of_seen[region, name] += p
    return {
        (vote, *seen): math.log(told[vote, *seen] / (of_vote[vote] * of_seen[seen]))
        if told[vote, *seen]
        else -math.inf
        for vote in of_vote
        for seen in of_seen
        if of_seen[seen]
    }


def leakage(problem: po.Problem[Any], rows: Rows = ROWS) -> float:
    votes, regions, ages = zip(*rows, strict=True)
    beside = kept_leakage(problem, CHANNEL, None, votes, regions, ages)
    assert beside is not None
    return beside.leakage


def test_two_sided_one_sided_and_between_two_values() -> None:
    lifts = list(log_lifts(ROWS, CHANNEL).values())
    assert leakage(po.LocalInformationPrivacy(JOINT, 0.3)) == pytest.approx(max(map(abs, lifts)), abs=1e-12)
    assert leakage(po.PointwiseMaximalLeakage(JOINT, 0.3)) == pytest.approx(max(lifts), abs=1e-12)
    assert leakage(po.LocalInformationPrivacy(JOINT, lower=0.3)) == pytest.approx(-min(lifts), abs=1e-12)
    cells = log_lifts(ROWS, CHANNEL)
    spread = max(
        abs(value - cells["red", region, name])
        for (vote, region, name), value in cells.items()
        if vote == "blue"
    )
    assert leakage(po.LocalInformationPrivacy(JOINT, 0.3, notion="ldp")) == pytest.approx(spread, abs=1e-12)


def test_with_an_exception_for_few_cases() -> None:
    cells, told = log_lifts(ROWS, CHANNEL), shown(ROWS, CHANNEL)
    level = leakage(po.LocalInformationPrivacy(JOINT, 0.3, delta=0.1))
    assert sum(told[cell] for cell, value in cells.items() if abs(value) > level + 1e-9) <= 0.1
    assert sum(told[cell] for cell, value in cells.items() if abs(value) >= level - 1e-9) > 0.1


def test_averages() -> None:
    cells, told = log_lifts(ROWS, CHANNEL), shown(ROWS, CHANNEL)
    mean = sum(float(p) * cells[cell] for cell, p in told.items() if p)
    assert leakage(po.PrivacyFunnel(JOINT, max_leakage=0.1)) == pytest.approx(mean, abs=1e-12)
    assert leakage(po.DistortionPrivacy(JOINT, 1 - np.eye(3), max_leakage=0.1)) == pytest.approx(
        mean, abs=1e-12
    )
    best = sum(
        float(max(told[vote, region, name] / Fraction(str(votes)) for vote, votes in _votes().items()))
        for region in "NS"
        for name in "abc"
    )
    hard = po.DistortionPrivacy(JOINT, 1 - np.eye(3), max_leakage=0.1, leakage="maximal_leakage")
    assert leakage(hard) == pytest.approx(math.log(best), abs=1e-12)


def _votes() -> dict[str, Fraction]:
    return {vote: Fraction(sum(row[0] == vote for row in ROWS), len(ROWS)) for vote in ("blue", "red")}


def test_the_secret_itself_what_is_constant_and_what_is_drawn_apart() -> None:
    problem = po.LocalInformationPrivacy(JOINT, 0.3)
    alone = problem.evaluate(CHANNEL).leakage
    assert leakage(problem, [(vote, vote, age) for vote, _, age in ROWS]) == math.inf
    assert leakage(problem, [(vote, "same", age) for vote, _, age in ROWS]) == pytest.approx(alone, abs=1e-12)
    twice = [(vote, side, age) for vote, _, age in ROWS for side in "lr"]
    assert leakage(problem, twice) == pytest.approx(alone, abs=1e-12)
    numbered = [(vote, str(i), age) for i, (vote, _, age) in enumerate(ROWS)]
    assert leakage(problem, numbered) == math.inf
    once = po.PointwiseMaximalLeakage(JOINT, 0.3)
    assert leakage(once, numbered) == pytest.approx(-math.log(min(_votes().values())), abs=1e-12)


def test_sides_with_different_bounds_are_within_where_each_is() -> None:
    lifts = list(log_lifts(ROWS, CHANNEL).values())
    up, down = max(lifts), -min(lifts)
    for upper, lower, fits in (
        (up * 1.01, down * 1.02, True),
        (up * 0.99, down * 3, False),
        (up * 3, down * 0.99, False),
    ):
        problem = po.LocalInformationPrivacy(JOINT, upper=upper, lower=lower)
        votes, regions, ages = zip(*ROWS, strict=True)
        beside = kept_leakage(problem, CHANNEL, None, votes, regions, ages)
        assert beside is not None
        assert beside.within == fits


def test_nothing_is_secret_in_a_bottleneck_and_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, regions, ages = zip(*ROWS, strict=True)
    assert (
        kept_leakage(po.InformationBottleneck(JOINT, max_rate=0.1), CHANNEL, None, votes, regions, ages)
        is None
    )
    monkeypatch.setattr("privopt.publication.kept.MOST_CELLS", 10)
    with pytest.raises(InvalidMechanism, match="too many to say exactly"):
        kept_leakage(po.LocalInformationPrivacy(JOINT, 0.3), CHANNEL, None, votes, regions, ages)
