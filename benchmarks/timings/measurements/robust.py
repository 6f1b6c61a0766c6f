"""Releases that hold for every distribution of a set: what they cost beside those for one, and how far their proofs reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.benchmarks.data.joints import lecture
from privopt.benchmarks.timings.measurement import Timing, clock, register_measurement
from privopt.core.dispatch import solve
from privopt.mechanisms import Channel
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

ROWS = 10_000
"""Rows of the tables that are counted."""
SECONDS = 60.0
COUNTED = ((4, 20, 1.0), (10, 50, 5.0), (10, 50, 3.0), (10, 50, 1.0), (10, 50, 1 / 3))
"""Values of the secret, symbols, and budgets; a count is 125 or 20 rows on average, so that the last sets are wide ones."""
RADII = (0.001, 0.01)
"""Total variation of the rows of the table of the lectures."""


def counted(secrets: int, symbols: int) -> JointAmbiguity:
    """A set from counts of a random table, with 95 % confidence."""
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(secrets * symbols))
    return JointAmbiguity.from_counts(rng.multinomial(ROWS, truth).reshape(secrets, symbols))


def _against_one(radius: float) -> Timing:
    """The robust optimum of the table of the lectures and the nominal one, the same solver of each in one run."""
    joint = lecture()
    near = LocalInformationPrivacy(JointAmbiguity.total_variation(joint, radius), 1.0)
    one = LocalInformationPrivacy(joint, 1.0)
    solution, seconds = clock(lambda: solve(near, "cuts"))
    _, nominal = clock(lambda: solve(one, "column-generation"))
    note = f"times the nominal optimum takes; I(X;Y) {solution.objective:.6f}, bound {solution.bound:.6f}"
    return Timing(
        f"optimum of the lectures' 4 x 9 table, rows within {radius:g}", 9, seconds, "column-generation at the table itself",
        nominal, nominal / seconds, seconds / nominal, note, solution.status.name == "OPTIMAL",
    )  # fmt: skip


def _gap(secrets: int, symbols: int, epsilon: float) -> Timing:
    """How far the proof of an optimum is from what was reached, after a fixed time."""
    near = counted(secrets, symbols)
    solution, seconds = clock(lambda: solve(LocalInformationPrivacy(near, epsilon), time_limit=SECONDS))
    gap = np.inf if solution.gap is None or not solution.objective else solution.gap / solution.objective
    case = f"counts of {ROWS} rows, {secrets} x {symbols}, epsilon {epsilon:g}"
    note = f"relative gap after at most {SECONDS:g} s; I(X;Y) {solution.objective}, bound {solution.bound}"
    return Timing(case, secrets * symbols, seconds, quality=float(gap), note=note, holds=solution.certified)


def _certificate(secrets: int, symbols: int, releases: int) -> Timing:
    """The seconds of one certificate over a set."""
    near = counted(secrets, symbols)
    rng = np.random.default_rng(2)
    channel = Channel(rng.dirichlet(np.ones(releases), symbols)).quantised()
    problem = LocalInformationPrivacy(near, 100.0)
    proved, seconds = clock(lambda: problem.certify(channel))
    case = f"certificate of {secrets} x {symbols} x {releases} over a set from counts"
    return Timing(
        case, secrets * symbols, seconds, quality=proved.leakage[1], note="nats", holds=proved.leakage[0] > 0
    )


@register_measurement(
    "robust", "Optima and certificates over sets of distributions, beside those at one; gaps after a minute"
)
def robust(quick: bool) -> Sequence[Timing]:
    """The table of the lectures, sets from counts, and a large certificate."""
    rows = [_against_one(radius) for radius in (RADII[:1] if quick else RADII)]
    rows.append(_certificate(3, 20, 10) if quick else _certificate(10, 200, 100))
    return rows if quick else [*rows, *(_gap(*case) for case in COUNTED)]
