"""The joints of a set at which a release breaks its bounds on ratios, as further rows of the posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice

import numpy as np

from privopt.arrays import Floats
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Observation, Release
from privopt.problems.local_information_privacy.members import Demand, extreme, row_of, written
from privopt.problems.local_information_privacy.polytope import Cut
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.robust import never_seen
from privopt.problems.robust_reading import SetReader

BREAKS = 1e-9
"""Nats by which a column must break a bound to ask for a row."""

EACH = 4
"""Rows that one column asks for in a round, the most broken first."""

MOST_NEW = 250
"""Rows that one round adds: a second of work for the largest sets."""

RAREST = 1e-290
"""Probability of a symbol below which posteriors over it are no floats."""

LARGEST = 1e300
"""Entries of a row beyond which it is left out: sums of them need not be floats."""

SCALE = 2**60
"""Columns are rounded to integers of this size where the joint is sought at which they leak most."""


def set_refused(ambiguity: JointAmbiguity | None, observation: Observation) -> str | None:
    """Why rows for the joints of a set are no help: there is no set, or a symbol of it is unknown to its nominal joint."""
    if ambiguity is None:
        return "it is for sets of distributions: give a JointAmbiguity"
    outside = set(never_seen(ambiguity))
    odd = next((w for w in observation.unseen if w not in outside), None)
    if odd is None:
        return rare_refused(observation)
    return (
        f"the nominal joint gives {ambiguity.useful[odd]!r} probability 0 and the set does not: leave the symbol out, or "
        "give a nominal joint with all of them"
    )


def rare_refused(observation: Observation) -> str | None:
    """Why posteriors are no floats: a symbol that occurs has a probability that is 0 as a float, or nearly."""
    least = float(np.delete(observation.p_w, list(observation.unseen)).min())
    return (
        f"a symbol has a probability below {RAREST:g}: ratios to it leave the floats"
        if least < RAREST
        else None
    )


class Separation:
    """The rows so far, and the posteriors met that keep the bounds at every joint of the set.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    ambiguity : JointAmbiguity
        Its set.

    Attributes
    ----------
    demands : list
        The joints that were added, each with the row that it demands.
    """

    def __init__(self, problem: LocalInformationPrivacy, ambiguity: JointAmbiguity) -> None:
        self.problem, self.ambiguity, self.reader = problem, ambiguity, SetReader.of(ambiguity)
        self.demands: list[Demand] = []
        self._cuts: dict[Cut, None] = {}
        observed = problem.observation
        self.support, self.p = observed.support, observed.p_w[observed.support]

    def relaxed(self) -> LocalInformationPrivacy:
        """The problem with the rows so far, and one joint."""
        return self.problem.relaxed(tuple(self._cuts))

    def proof(self, dual: object, which: Sequence[int] | None = None) -> dict[str, object]:
        """A dual of the relaxed problem, or of that with some of the rows, as one of the problem."""
        demands = self.demands if which is None else [self.demands[i] for i in which]
        return {**written(demands), "proof": dual}

    @property
    def count(self) -> int:
        """Rows so far."""
        return len(self.demands)

    def rows(self, first: int) -> Floats:
        """The rows from one on, in floats, for posteriors."""
        listed = islice(self._cuts, first, None)
        rows = [[row[w] / below for w in self.support.tolist()] for row, below in listed]
        return np.array(rows).reshape(-1, len(self.p)) / self.p

    def posteriors(self, channel: Release) -> Floats:
        """Those of the releases that occur."""
        joint = channel.matrix[self.support] * self.p[:, None]
        mass = joint.sum(axis=0)
        return np.asarray((joint[:, mass > 0] / mass[mass > 0]).T)

    def matrix(self, masses: Floats) -> Floats:
        """P(y | w) from joint masses on what occurs; symbols without mass are released like the average one."""
        kept = np.maximum(masses, 0.0)
        sums = kept.sum(axis=1)
        matrix = np.tile(kept.sum(axis=0) / kept.sum(), (len(self.problem.observation.p_w), 1))
        matrix[self.support[sums > 0]] = kept[sums > 0] / sums[sums > 0, None]
        return matrix

    def separate(self, posteriors: Floats) -> int:
        """Add rows for the joints at which posteriors break their bounds most; how many are new."""
        before = len(self._cuts)
        columns = self.columns(posteriors)
        rise, fall = self.reader.spread(columns, self.problem.notion).levels()
        upper = self.problem.budget if self.problem.notion == "ldp" else self.problem.upper
        worst: list[tuple[float, int, int, int]] = []
        for k in range(columns.shape[1]):
            broken = [
                (float(level[s, k] - bound), k, int(s), side)
                for level, bound, side in ((rise, upper, 1), (fall, self.problem.lower, -1))
                for s in np.flatnonzero(level[:, k] > bound + BREAKS)
            ]
            worst += sorted(broken, reverse=True)[:EACH]
        for _, k, s, side in sorted(worst, reverse=True):
            if len(self._cuts) >= before + MOST_NEW:
                break
            column = columns[:, k] / columns[:, k].max()
            self._demand([round(v * SCALE) for v in column.tolist()], s, side)
        return len(self._cuts) - before

    def _demand(self, column: list[int], s: int, side: int) -> None:
        t = side if self.problem.notion == "lip" else self._lowest(column, s)
        self.take(extreme(self.ambiguity, self.problem.notion, column, s, t))

    def take(self, demand: Demand) -> None:
        """Add the row of a joint, if it is new and says something that floats can hold."""
        cut = row_of(self.problem, demand)
        if cut is not None and cut not in self._cuts and self._held(cut):
            self._cuts[cut] = None
            self.demands.append(demand)

    def _held(self, cut: Cut) -> bool:
        """Whether a row of posteriors, divided by the least probability of a symbol, is one of floats."""
        row, below = cut
        return max(map(abs, row)) <= Fraction(LARGEST) * Fraction(float(self.p.min())) * below

    def _lowest(self, column: list[int], s: int) -> int:
        """The other value of the secret whose least probability of a release is least."""
        rows = self.ambiguity.rows
        least = {
            t: rows[t].smallest(column)[0] / rows[t].denominator
            for t in np.flatnonzero(self.reader.possible).tolist()
            if t != s
        }
        return min(least, key=least.__getitem__)

    def prune(self, posteriors: Floats, most: int) -> None:
        """Drop the rows that posteriors in use keep most easily, where there are more than so many."""
        if self.count <= most:
            return
        rows = self.rows(0)
        used = (rows @ posteriors.T).max(axis=1) / np.abs(rows).max(axis=1)
        self.keep(sorted(np.argsort(-used, kind="stable")[:most].tolist()))

    def keep(self, which: Sequence[int]) -> None:
        """Drop all other rows."""
        listed = list(self._cuts)
        self.demands = [self.demands[i] for i in which]
        self._cuts = {listed[i]: None for i in which}

    def columns(self, posteriors: Floats) -> Floats:
        """P(y | w) over P(y), shape (n_w, k); symbols that never occur are released like the average one."""
        full = np.ones((len(self.problem.observation.p_w), len(posteriors)))
        full[self.support] = (posteriors / self.p).T
        return full
