"""One release of a policy for many beliefs at once: proposals of the rule, made into integer kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label
from privopt.mechanisms.policy.beliefs import Filter
from privopt.mechanisms.policy.fixed import means, total
from privopt.mechanisms.policy.formulas.formula import Cost
from privopt.mechanisms.policy.kernel import TOTAL, Margin, cleaned, enforce, integers, keeps
from privopt.mechanisms.policy.lasting import LastingFilter
from privopt.mechanisms.policy.ranges import Bounds, FilterOver, some
from privopt.mechanisms.policy.rules import cost_of, find_rule
from privopt.mechanisms.policy.setting import Setting
from privopt.models import ChainAmbiguity

CELLS = 2**19
"""Cells of kernels that are worked on at once: about 50 MB with all temporaries."""
MEMORY = 2**22
"""Cells of kernels that are remembered: 32 MB."""
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Part:
    """Releases of words of one length.

    Parameters
    ----------
    setting : Setting
    rule : str
    enforced : bool
    limit : int or inf
        Releases that the margin covers.
    prepared : tuple of (belief over inputs, kernel) arrays
        Kernels that are whole numbers out of 2**52, and keep the budget, are drawn from as they are.
    drift : float
        Distance of the computed from the true belief that releases of other lengths may have left.
    ambiguity : ChainAmbiguity, optional
        The set of chains at every one of which the budget must be kept.
    rounding : int
        Steps of a doubling of odds to which beliefs are rounded; 0 keeps them as they are.
    """

    setting: Setting
    rule: str
    enforced: bool
    limit: float
    prepared: tuple[tuple[Floats, Floats], ...] = ()
    drift: float = 0.0
    ambiguity: ChainAmbiguity | None = None
    rounding: int = 0

    @cached_property
    def filter(self) -> Filter:
        """How beliefs move; over a set of chains each is followed by its bounds."""
        if self.ambiguity is not None:
            return FilterOver(self.setting.chain, self.setting.batch, self.ambiguity)
        if self.limit == math.inf:
            nats = self.setting.epsilon if self.enforced else math.inf
            return LastingFilter(self.setting.chain, self.setting.batch, nats, self.rounding)
        return Filter(self.setting.chain, self.setting.batch)

    def bounds(self, beliefs: Floats) -> Bounds | None:
        """Bounds of the beliefs over inputs, which the budget must be kept within; None where there is one chain."""
        return self.filter.bounds(beliefs) if isinstance(self.filter, FilterOver) else None

    @cached_property
    def cost(self) -> Cost:
        """The class of cost of the rule."""
        return cost_of(self.rule)

    @cached_property
    def margin(self) -> Margin:
        """Levels of mixing and of the check."""
        n, m = self.shape
        return Margin.of(self.setting.epsilon, max(self.drift, self.filter.distance(self.limit)), n, m)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Number of inputs and of outputs."""
        return len(self.setting.inputs), len(self.setting.outputs)

    @cached_property
    def places(self) -> dict[Label, int]:
        """Position of each input."""
        return {label: i for i, label in enumerate(self.setting.inputs)}

    @cached_property
    def codes(self) -> dict[Label, int]:
        """Position of each output."""
        return {label: i for i, label in enumerate(self.setting.outputs)}

    @property
    def users(self) -> int:
        """How many beliefs to treat at once."""
        return max(1, CELLS // (self.shape[0] * self.shape[1]))

    def weights(self, beliefs: Floats, record: int) -> Ints:
        """Integer kernels (M, n, m) for beliefs over states (M, k) at a record; rows sum to 2**52."""
        if len(beliefs) > 1 and (beliefs == beliefs[0]).all():
            return np.repeat(self._remembered(beliefs[:1], record), len(beliefs), axis=0)
        if self.cost is Cost.INSTANT:
            return self._chunked(beliefs, record)
        distinct, back = np.unique(beliefs, axis=0, return_inverse=True)
        return self._remembered(distinct, record)[np.asarray(back).ravel()]

    def _chunked(self, beliefs: Floats, record: int) -> Ints:
        if len(beliefs) <= self.users:
            return self._some(beliefs, record)
        weights = np.empty((len(beliefs), *self.shape), dtype=np.int64)
        for i in range(0, len(beliefs), self.users):
            weights[i : i + self.users] = self._some(beliefs[i : i + self.users], record)
        return weights

    def _remembered(self, beliefs: Floats, record: int) -> Ints:
        """The same for a rule that may be slow, which is not asked twice about a belief while there is room."""
        if self.cost is Cost.INSTANT:
            return self._some(beliefs, record)
        when = self.setting.chain.phase(record)
        keys = [(when, row.tobytes()) for row in beliefs]
        kept = [self._memory.get(key) for key in keys]  # once: another thread may clear it at any time
        new = [i for i, known in enumerate(kept) if known is None]
        weights = np.empty((len(beliefs), *self.shape), dtype=np.int64)
        if new:
            weights[new] = self._chunked(beliefs[new], record)
        for i, known in enumerate(kept):
            if known is not None:
                weights[i] = known
        for i in new:
            if len(self._memory) * weights[0].size > MEMORY:
                self._memory.clear()
            self._memory[keys[i]] = weights[i].copy()
        return weights

    @cached_property
    def _memory(self) -> dict[tuple[int, bytes], Ints]:
        return {}

    def _some(self, beliefs: Floats, record: int) -> Ints:
        inputs, muted = self.filter.inputs(beliefs, record), self.filter.muted(beliefs, record)
        bounds = self.bounds(beliefs)
        if not self.prepared:
            return self._made(self._proposed(inputs), inputs, muted, bounds)
        which = self._known(inputs)
        weights = np.empty((len(inputs), *self.shape), dtype=np.int64)
        made = which < 0
        if not made.all():
            at = np.flatnonzero(~made)
            ready, whole = self._tables
            weights[at] = (ready[which[at]] * float(TOTAL)).astype(np.int64)
            kept = whole[which[at]]
            if self.enforced:
                kept &= keeps(weights[at], inputs[at], muted[at], self.margin.check, some(bounds, at))
            again = at[~kept]
            if again.size:
                ends = some(bounds, again)
                weights[again] = self._made(ready[which[again]], inputs[again], muted[again], ends)
        if made.any():
            ends = some(bounds, made)
            weights[made] = self._made(self._proposed(inputs[made]), inputs[made], muted[made], ends)
        return weights

    def _made(self, proposal: Floats, inputs: Floats, muted: Bools, bounds: Bounds | None) -> Ints:
        if not self.enforced:
            return integers(cleaned(proposal))
        best = means(inputs, self.setting.cost).argmin(axis=1)
        return enforce(proposal, inputs, muted, self.margin, best, bounds)

    def carried(self, beliefs: Floats, record: int) -> Bools:
        """For which beliefs (M, k) the kernel is the same on every machine: that of a formula, or a prepared one."""
        if self.cost.same_everywhere:
            return np.ones(len(beliefs), dtype=bool)
        return self._known(self.filter.inputs(beliefs, record)) >= 0

    @cached_property
    def _tables(self) -> tuple[Floats, Bools]:
        """Prepared kernels, and which of them are whole numbers out of 2**52."""
        ready = np.array([kernel for _, kernel in self.prepared])
        weights = ready * float(TOTAL)
        whole = (weights == np.floor(weights)).all(axis=(1, 2))
        whole &= (weights.astype(np.int64).sum(axis=2) == TOTAL).all(axis=1)
        return ready, whole

    @cached_property
    def _places(self) -> tuple[Floats, dict[bytes, int]]:
        """Prepared beliefs, and where each is."""
        beliefs = np.array([belief for belief, _ in self.prepared])
        return beliefs, {row.tobytes(): len(beliefs) - 1 - i for i, row in enumerate(beliefs[::-1])}

    def _known(self, inputs: Floats) -> Ints:
        """Which prepared kernel is for a belief, -1 where there is none."""
        which = np.full(len(inputs), -1, dtype=np.int64)
        if not self.prepared:
            return which
        beliefs, places = self._places
        for at, row in enumerate(inputs):
            known = places.get(row.tobytes(), -1)
            if known < 0:
                near = np.flatnonzero((np.abs(beliefs - row) <= _SAME).all(axis=1))
                known = int(near[0]) if near.size else -1
            which[at] = known
        return which

    def _proposed(self, inputs: Floats) -> Floats:
        beliefs = inputs / total(inputs)[:, None]
        kernels = np.asarray(find_rule(self.rule).propose(self.setting, beliefs), dtype=np.float64)
        if kernels.shape != (len(inputs), *self.shape):
            raise InvalidMechanism(
                f"the rule {self.rule!r} proposed kernels of shape {kernels.shape} instead of {(len(inputs), *self.shape)}"
            )
        return kernels
