"""One release of a policy for many beliefs at once: proposals of the rule, made into integer kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privopt._labels import Label
from privopt.errors import InvalidMechanism
from privopt.mechanisms._hamming_cases import Floats, Integers
from privopt.mechanisms._policy_beliefs import Filter
from privopt.mechanisms._policy_kernel import Margin, cleaned, enforce, integers
from privopt.mechanisms._rules import Setting, find_rule

CELLS = 2**19
"""Cells of kernels that are worked on at once: about 50 MB with all temporaries."""
MEMORY = 2**22
"""Cells of kernels that are remembered: 32 MB."""
CHEAP = "closed-form"
"""The rule that is faster than a memory."""
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Part:
    """Releases of words of one length.

    Parameters
    ----------
    setting : Setting
    rule : str
    enforced : bool
    limit : int
        Releases that the margin covers.
    prepared : tuple of (belief over inputs, kernel) arrays
    """

    setting: Setting
    rule: str
    enforced: bool
    limit: int
    prepared: tuple[tuple[Floats, Floats], ...] = ()

    @cached_property
    def filter(self) -> Filter:
        """How beliefs move."""
        return Filter(self.setting.chain, self.setting.batch)

    @cached_property
    def margin(self) -> Margin:
        """Levels of mixing and of the check."""
        n, m = self.shape
        return Margin.of(self.setting.epsilon, self.filter.distance(self.limit), n, m)

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

    def weights(self, beliefs: Floats, record: int) -> Integers:
        """Integer kernels (M, n, m) for beliefs over states (M, k) at a record; rows sum to 2**52."""
        if len(beliefs) > 1 and (beliefs == beliefs[0]).all():
            return np.repeat(self._remembered(beliefs[:1], record), len(beliefs), axis=0)
        if self.rule == CHEAP:
            return self._chunked(beliefs, record)
        distinct, back = np.unique(beliefs, axis=0, return_inverse=True)
        return self._remembered(distinct, record)[np.asarray(back).ravel()]

    def _chunked(self, beliefs: Floats, record: int) -> Integers:
        if len(beliefs) <= self.users:
            return self._some(beliefs, record)
        found = np.empty((len(beliefs), *self.shape), dtype=np.int64)
        for i in range(0, len(beliefs), self.users):
            found[i : i + self.users] = self._some(beliefs[i : i + self.users], record)
        return found

    def _remembered(self, beliefs: Floats, record: int) -> Integers:
        """The same for a rule that may be slow, which is not asked twice about a belief while there is room."""
        if self.rule == CHEAP:
            return self._some(beliefs, record)
        when = 0 if self.setting.chain.homogeneous else record
        keys = [(when, row.tobytes()) for row in beliefs]
        new = [i for i, key in enumerate(keys) if key not in self._memory]
        found = np.empty((len(beliefs), *self.shape), dtype=np.int64)
        if new:
            found[new] = self._chunked(beliefs[new], record)
        for i, key in enumerate(keys):
            if key in self._memory:
                found[i] = self._memory[key]
        for i in new:
            if len(self._memory) * found[0].size > MEMORY:
                self._memory.clear()
            self._memory[keys[i]] = found[i].copy()
        return found

    @cached_property
    def _memory(self) -> dict[tuple[int, bytes], Integers]:
        return {}

    def _some(self, beliefs: Floats, record: int) -> Integers:
        inputs = self.filter.inputs(beliefs, record)
        proposal = self._proposal(inputs)
        if not self.enforced:
            return integers(cleaned(proposal))
        muted = self.filter.muted(beliefs, record)
        best = (inputs @ self.setting.cost).argmin(axis=1)
        return enforce(proposal, inputs, muted, self.margin, best)

    def _proposal(self, inputs: Floats) -> Floats:
        """What was prepared for a belief, else what the rule proposes."""
        found = np.empty((len(inputs), *self.shape))
        pending = np.ones(len(inputs), dtype=bool)
        for belief, kernel in self.prepared:
            same = pending & (np.abs(inputs - belief) <= _SAME).all(axis=1)
            found[same] = kernel
            pending &= ~same
        if pending.all():
            return self._proposed(inputs)
        if pending.any():
            found[pending] = self._proposed(inputs[pending])
        return found

    def _proposed(self, inputs: Floats) -> Floats:
        total = inputs / inputs.sum(axis=1, keepdims=True)
        found = np.asarray(find_rule(self.rule).propose(self.setting, total), dtype=np.float64)
        if found.shape != (len(inputs), *self.shape):
            raise InvalidMechanism(
                f"the rule {self.rule!r} proposed kernels of shape {found.shape} instead of {(len(inputs), *self.shape)}"
            )
        return found
