"""A sequence policy step by step: its declared fields, its kernels at a belief, and the state after each release."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels, short
from privopt.files.private import shown
from privopt.mechanisms.base import Mechanism
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.formulas.formula import Cost
from privopt.mechanisms.policy.journal import PolicyJournal, PolicyState
from privopt.mechanisms.policy.kernel import TOTAL, draw
from privopt.mechanisms.policy.part import Part
from privopt.mechanisms.policy.rules import cost_of
from privopt.mechanisms.policy.setting import Distortion, Setting
from privopt.models import ChainAmbiguity, MarkovChain

Prepared: TypeAlias = tuple[tuple[tuple[float, ...], Channel], ...]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StepwisePolicy(Mechanism):
    """The fields of :class:`privopt.SequencePolicy`, which says what they mean, and its releases one by one."""

    kind: ClassVar[str] = "sequence_policy"

    chain: MarkovChain
    epsilon: float
    batch: int
    distortion: Distortion
    rule: str
    enforced: bool
    limit: float
    prepared: Prepared
    simulation_only: bool
    ambiguity: ChainAmbiguity | None
    rounding: int

    @property
    def letters(self) -> Labels:
        """Labels of the letters."""
        return self.chain.letters

    @cached_property
    def setting(self) -> Setting:
        """What a full release is about: inputs, outputs, cost and budget."""
        return Setting(self.chain, self.batch, self.batch * self.epsilon, self.distortion)

    @property
    def cost(self) -> Cost:
        """The class of cost of the rule, which says whether its kernels are the same on every machine."""
        return cost_of(self.rule)

    @cached_property
    def _parts(self) -> dict[int, Part]:
        return {}

    def part(self, length: int) -> Part:
        """Releases of words of this length: ``batch``, or less at the end of data."""
        if length not in self._parts:
            setting = Setting(self.chain, length, length * self.epsilon, self.distortion)
            known = [(belief, kernel) for belief, kernel in self.prepared if kernel.inputs == setting.inputs]
            tables = tuple((np.array(belief), kernel.matrix) for belief, kernel in known)
            drift = 0.0 if length == self.batch else self._drift
            self._parts[length] = Part(
                setting, self.rule, self.enforced, self.limit, tables, drift, self.ambiguity, self.rounding
            )
        return self._parts[length]

    @cached_property
    def _drift(self) -> float:
        """How far full releases may have moved the computed belief from the true one; nothing where there can be none."""
        try:
            return self.part(self.batch).filter.distance(self.limit)
        except InvalidMechanism:  # more words than are listed: no full release can come before a shorter one
            return 0.0

    def record(self, step: int) -> int:
        """The first record of a release.

        Raises
        ------
        InvalidMechanism
            If it is beyond the limit of the policy or the end of the chain.
        """
        if not 0 <= step < self.limit:
            raise InvalidMechanism(
                f"release {step} is not within the {self.limit} that the margin covers: give a larger limit="
            )
        last = self.chain.max_length
        if last is not None and step * self.batch >= last:
            raise InvalidMechanism(
                f"release {step} is beyond the chain, which has {last} records: give more matrices"
            )
        return step * self.batch

    def kernel(self, belief: ArrayLike, step: int = 0) -> Channel:
        """The integer kernel that is used at a belief over the states of the chain, as a channel.

        Parameters
        ----------
        belief : array-like, shape (k,)
            Over a set of chains also the 3 k numbers of a state: the belief of the nominal chain, and its bounds.
        step : int
            Which release, 0 first; matters only for batches on a chain with a matrix per step.
        """
        weights, total = self.kernels(self._row(belief)[None, :], step)
        return Channel(weights[0] / total, self.setting.inputs, self.setting.outputs)

    def _row(self, belief: ArrayLike) -> Floats:
        """A belief as the filter keeps it: over a set, with its bounds, which are the belief itself where none are given."""
        if self.ambiguity is None:
            return read_belief(belief, self.chain)
        row, k = np.array(belief, dtype=np.float64), self.chain.k
        if row.shape != (3 * k,):
            return np.tile(read_belief(belief, self.chain), 3)
        if not (row >= 0).all() or not (row <= 1.1).all():
            raise InvalidMechanism("the belief of a state, or one of its bounds, is no probability")
        return np.concatenate([read_belief(row[:k], self.chain), row[k:]])

    def kernels(self, beliefs: Floats, step: int = 0) -> tuple[Ints, int]:
        """Integer kernels at many beliefs over the states of the chain.

        Parameters
        ----------
        beliefs : array (M, k)
            As :meth:`start` and :meth:`predict` give them.
        step : int
            Which release, 0 first; matters only for batches on a chain with a matrix per step.

        Returns
        -------
        weights : int64 array (M, n, m)
            Input x is released as output y with probability ``weights[., x, y] / total``.
        total : int
            2**52.

        Examples
        --------
        >>> from privopt.mechanisms import SequencePolicy
        >>> policy = SequencePolicy(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.0)
        >>> policy.kernels(np.array([[0.75, 0.25]]))[0].tolist() == [[[2**52, 0], [2**52, 0]]]
        True
        """
        return self.part(self.batch).weights(np.asarray(beliefs, dtype=np.float64), self.record(step)), TOTAL

    def predict(self, beliefs: Floats, kernels: Ints, releases: Ints, step: int = 0) -> Floats:
        """Beliefs over the state after the release: the posterior, moved on by the chain.

        Parameters
        ----------
        beliefs : array (M, k)
        kernels : int array (M, n, m)
            As :meth:`kernels` gives them for these beliefs.
        releases : int array (M,)
            Positions of outputs.
        step : int
            Which release this is, 0 first; matters on a chain with a matrix per step.

        Returns
        -------
        array (M, k)
            At the last record of a finite chain, the posterior itself.

        Raises
        ------
        InvalidMechanism
            If a release has probability 0.
        """
        columns = kernels[np.arange(len(kernels)), :, releases].astype(np.float64)
        return self.part(self.batch).filter.after(beliefs, columns, self.record(step))

    def start(self) -> PolicyState:
        """The state before anything is released."""
        return PolicyState(0, tuple(self.part(self.batch).filter.start().tolist()))

    def step(
        self, state: PolicyState, letter: Label, rng: np.random.Generator | None = None
    ) -> tuple[Label, PolicyState]:
        """Release one letter, or a word (a tuple of ``batch`` letters; fewer end the sequence).

        Raises
        ------
        InvalidMechanism
            If the letter is unknown, the word cannot occur, or the policy may only simulate and no ``rng`` is given.
        """
        self.check_release(rng)
        part = self._part_of(letter, state)
        weights = self._weights(part, state)
        row = weights[:, place(letter, part.places, self.batch)]
        code = draw(row, rng)
        release = part.setting.outputs[int(code[0])]
        single = self.batch > 1 and part.setting.batch == 1
        return (release,) if single else release, self._moved(part, state, weights, code)

    def advance(self, state: PolicyState, release: Label) -> PolicyState:
        """The state after a release, as every reader of the releases computes it.

        Raises
        ------
        InvalidMechanism
            If the release is unknown, or impossible at this state.
        """
        part = self._part_of(release, state)
        code = place(release, part.codes, self.batch)
        return self._moved(part, state, self._weights(part, state), np.array([code]))

    def skip(self, count: int = 1, state: PolicyState | PolicyJournal | None = None) -> PolicyState:
        """The state after a gap: records that are missing, of which nothing is released.

        A gap is a release that is the same for every letter. All its ratios are one, so it spends nothing of any budget,
        evidence leaves every belief as it is, and the belief goes forward by the chain alone. Products by one do not round,
        so the computed belief is no farther from the true one than after a release, and a gap counts as one of the
        ``limit`` releases that the margin covers. So the bound holds along every path of releases and gaps, if what is
        missing does not depend on the letters. A record left out because of its value is a release without protection.

        Parameters
        ----------
        count : int
            Number of releases that do not take place: letters, or whole words for ``batch`` > 1.
        state : PolicyState or PolicyJournal, optional
            Where the sequence stands; by default at its beginning. A journal records the gap.

        Returns
        -------
        PolicyState
            Where it stands then.

        Raises
        ------
        InvalidMechanism
            If the count is not a whole number of at least 1, or leads beyond the limit or the end of the chain.

        Examples
        --------
        >>> from privopt.mechanisms import SequencePolicy
        >>> policy = SequencePolicy(MarkovChain([[0.5, 0.5], [0.25, 0.75]], [1, 0]), 1.0)
        >>> policy.skip(2).belief
        (0.375, 0.625)
        """
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise InvalidMechanism(f"count must be a whole number of at least 1, got {short(count)}")
        journal = state if isinstance(state, PolicyJournal) else None
        now = self.start() if state is None else journal.current if journal is not None else state
        assert isinstance(now, PolicyState)
        self.record(now.step + int(count) - 1)
        for _ in range(int(count)):
            now = self.skip_word(now, self.batch)
        if journal is not None:
            journal.write(now, None)
        return now

    def skip_word(self, state: PolicyState, length: int) -> PolicyState:
        """The state after one missing word; of fewer letters than a batch it ends the sequence."""
        if state.ended:
            raise InvalidMechanism(
                "a word of fewer letters has ended this sequence: begin again with start()"
            )
        part = self.part(length)
        belief = np.array(state.belief)[None, :]
        after = part.filter.after(belief, np.ones((1, part.shape[0])), self.record(state.step))
        return PolicyState(state.step + 1, tuple(after[0].tolist()), length < self.batch)

    def _part_of(self, item: Label, state: PolicyState) -> Part:
        if state.ended:
            raise InvalidMechanism(
                "a word of fewer letters has ended this sequence: begin again with start()"
            )
        length = self.chain.k if self.ambiguity is None else 3 * self.chain.k
        if len(state.belief) != length:
            raise InvalidMechanism(f"the state has {len(state.belief)} beliefs, and should have {length}")
        return self.part(word_length(item, self.batch))

    def _weights(self, part: Part, state: PolicyState) -> Ints:
        return part.weights(np.array(state.belief)[None, :], self.record(state.step))

    def _moved(self, part: Part, state: PolicyState, weights: Ints, code: Ints) -> PolicyState:
        columns = weights[:, :, int(code[0])].astype(np.float64)
        after = part.filter.after(np.array(state.belief)[None, :], columns, self.record(state.step))
        ended = part.setting.batch < self.batch
        return PolicyState(state.step + 1, tuple(after[0].tolist()), ended)

    def check_release(self, rng: np.random.Generator | None) -> None:
        """Refuse to release for real where only simulation is allowed."""
        if self.simulation_only and rng is None:
            why = "was not certified (certify=False)" if self.enforced else "is not enforced"
            raise InvalidMechanism(f"this policy {why}: it releases only with rng=, as a simulation")

    def state(self, path: str | os.PathLike[str] | None = None) -> PolicyJournal:
        """A journal of one sequence: read from a file if there is one, else begun.

        Parameters
        ----------
        path : str or path-like, optional
            Where every release is written before it is handed out; None keeps the journal in memory.

        Raises
        ------
        FileRefused
            If the file is not a journal, or is that of another policy.
        """
        return PolicyJournal.open(path, self.fingerprint, self.start(), self.setting.outputs)


def word_length(item: Label, batch: int) -> int:
    """How many letters an input or a release has."""
    if batch == 1:
        return 1
    if not isinstance(item, tuple) or not 1 <= len(item) <= batch:
        raise InvalidMechanism(
            f"a release reads a word, a tuple of 1 to {batch} letters, not {shown(item, 'this one')}"
        )
    return len(item)


def place(item: Label, places: dict[Label, int], batch: int) -> int:
    """Position of an input or of a release."""
    single = batch > 1 and isinstance(item, tuple) and len(item) == 1
    label = item[0] if single and isinstance(item, tuple) else item
    try:
        return places[label]
    except (KeyError, TypeError):
        known = ", ".join(repr(s) for s in list(places)[:8])
        raise InvalidMechanism(
            f"{shown(item, 'the letter')} is not one of {known}{', ...' if len(places) > 8 else ''}: recode or drop it"
        ) from None


def read_belief(belief: ArrayLike, chain: MarkovChain) -> Floats:
    """Probabilities of the states of a chain, divided by their sum."""
    probabilities = np.array(belief, dtype=np.float64)
    if (
        probabilities.shape != (chain.k,)
        or not (probabilities >= 0).all()
        or abs(probabilities.sum() - 1) > 1e-9
    ):
        raise InvalidMechanism(
            f"belief must be {chain.k} probabilities that sum to 1, one a state of the chain, got {short(belief)}"
        )
    return np.asarray(probabilities / probabilities.sum())
