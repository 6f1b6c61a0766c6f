"""What everybody knows of the present state, from the releases so far: computed in floats, with a proved distance.

After a release y the belief b over states becomes b w(., y), divided by its sum, times the transition matrix P. The Hilbert
distance of two positive vectors with the same support, ln max(u/v) - ln min(u/v), is unchanged by scaling and by the
multiplication of both with the same w(., y), and no non-negative matrix expands it. Rounding adds to it: with a unit
u = 2^-53, the product with an integer below 2**53, the rounded entry of P, its product, the sum of n terms in any
order and the division are at most n + 3 relative errors of u for an entry, so at most 2 (n + 3) u for the distance. The
first belief is rounded from the exact law, which is within the same. After k releases the computed belief is within
h = 2 (k + 1) (n + 3) u of the true one; words of w letters add at most 2 (2 w + f) u a release, f being the number
of paths of states that end in one state.

Which states are possible is followed exactly, by a product of booleans, so an impossible state has belief 0 exactly
and a possible one has not: a belief below 1e-300 is raised to it. This error is not relative, and is contained as
follows. An input that a state of belief below 1e-270 can cause is muted: the kernel gives it the output law, so
evidence multiplies such a state by 1 (within 2^-26). What was raised therefore stays a mass of at most n (k + 1) 1e-300
(1 + 2^-6 for k up to 2^20) below that level; when it flows into a state of more than 1e-270, the relative error there
grows by at most n (k + 1) 1e-30 a step, over all steps by less than n 2^41 1e-30, which is far below u.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy import words
from privopt.mechanisms.policy.fixed import gathered, means, total
from privopt.models import MarkovChain

FLOOR = 1e-300
FAINT = 1e-270
_UNIT = 2.0**-53


@dataclass(frozen=True)
class Filter:
    """How beliefs over states become beliefs over inputs, and move on after a release.

    Examples
    --------
    >>> beliefs = Filter(MarkovChain([[0.75, 0.25], [0.5, 0.5]], [0.5, 0.5]), 1)
    >>> beliefs.start().tolist()
    [0.5, 0.5]
    >>> beliefs.after(np.array([[0.5, 0.5]]), np.array([[3.0, 1.0]]), 0).tolist()
    [[0.6875, 0.3125]]
    """

    chain: MarkovChain
    batch: int

    @property
    def paths(self) -> words.Paths:
        """How states spell inputs."""
        return words.paths(self.chain, self.batch)

    def distance(self, steps: int) -> float:
        """Hilbert distance h between computed and true beliefs after at most ``steps`` releases."""
        ways = self.paths
        extra = 0
        if not ways.identity:
            extra = 2 * self.batch + int(np.bincount(ways.states[:, -1]).max())
            extra += int(np.bincount(ways.word).max())  # the belief over inputs is a sum of its own
        return 2.0 * (steps + 1) * (self.chain.k + 4 + extra) * _UNIT

    def start(self) -> Floats:
        """Belief over states before anything is released, shape (k,)."""
        sure = np.array([weight > 0 for weight in self.chain.exact_initial.weights])
        return np.where(sure, np.maximum(self.chain.initial, FLOOR), 0.0)

    def inputs(self, beliefs: Floats, record: int) -> Floats:
        """Beliefs over inputs from beliefs over states (M, k) at a record; shape (M, n)."""
        ways = self.paths
        if ways.identity:
            return beliefs
        sure = words.possible(self.chain, ways.states, record)
        joint = beliefs[:, ways.states[:, 0]] * words.probabilities(self.chain, ways.states, record)
        can = (beliefs[:, ways.states[:, 0]] > 0) & sure
        joint = np.where(can, np.maximum(joint, FLOOR), 0.0)
        return gathered(joint, ways.word, len(ways.words))

    def muted(self, beliefs: Floats, record: int) -> Bools:
        """Inputs that are impossible, or that a state of vanishing belief can cause; shape (M, n)."""
        ways, faint = self.paths, beliefs < FAINT
        if ways.identity or not faint.any():
            return faint if ways.identity else self._impossible(beliefs, record)
        risky = (faint & (beliefs > 0))[:, ways.states[:, 0]]
        risky &= words.possible(self.chain, ways.states, record)
        found: Bools = gathered(risky.astype(np.float64), ways.word, len(ways.words)) > 0
        return found | self._impossible(beliefs, record)

    def _impossible(self, beliefs: Floats, record: int) -> Bools:
        return np.asarray(self.inputs(beliefs, record) < FAINT)

    def after(self, beliefs: Floats, columns: Floats, record: int) -> Floats:
        """Beliefs over the state that follows, given the column w(., y) of what was released; shape (M, k).

        Raises
        ------
        InvalidMechanism
            If a release has probability 0 at its belief.
        """
        joint = self._posterior(beliefs, columns, record)
        mass = total(joint)
        if not (mass > 0).all():
            raise InvalidMechanism(
                f"user {int(np.argmin(mass))}: this release has probability 0 at the belief given"
            )
        joint /= mass[:, None]
        last = record + self.batch - 1
        if self.chain.max_length is not None and last + 1 >= self.chain.max_length:
            return joint
        if (anew := self._anew(last)) is not None:
            return np.repeat(anew[None, :], len(joint), axis=0)
        moved = means(joint, self.chain.step(last))
        moved /= total(moved)[:, None]
        low = (moved < FLOOR).any(axis=1)
        if low.any():
            can = (joint[low] > 0).astype(np.float64) @ words.reachable(self.chain, last) > 0
            moved[low] = np.where(can, np.maximum(moved[low], FLOOR), 0.0)
        return np.asarray(moved)

    def _anew(self, record: int) -> Floats | None:
        """The belief after a record that the next one does not depend on: the same whatever was released."""
        when = 0 if self.chain.homogeneous else record
        if when not in self._begun:
            rows = self.chain.exact_step(when)
            alike = all((row.weights, row.total) == (rows[0].weights, rows[0].total) for row in rows)
            can = np.array([weight > 0 for weight in rows[0].weights])
            law = np.where(can, np.maximum(self.chain.step(when)[0], FLOOR), 0.0)
            self._begun[when] = law if alike else None
        return self._begun[when]

    @cached_property
    def _begun(self) -> dict[int, Floats | None]:
        return {}

    def _posterior(self, beliefs: Floats, columns: Floats, record: int) -> Floats:
        """Weights of the last states, 0 exactly where impossible."""
        ways = self.paths
        if ways.identity:
            return beliefs * columns
        first = ways.states[:, 0]
        weight = beliefs[:, first] * columns[:, ways.word]
        can = (weight > 0) & words.possible(self.chain, ways.states, record)
        joint = weight * words.probabilities(self.chain, ways.states, record)
        joint = np.where(can, np.maximum(joint, FLOOR), 0.0)
        return gathered(joint, ways.states[:, -1], self.chain.k)
