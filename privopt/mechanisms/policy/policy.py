"""Sequence policies: letters released one by one, each by the best kernel for what is known by then."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats, Ints
from privopt.core.exact import IntegerRow
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels
from privopt.mechanisms.base import Mechanism
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy import _codec as codec
from privopt.mechanisms.policy._draw import draw
from privopt.mechanisms.policy.costs import Distortion
from privopt.mechanisms.policy.costs import distortion as read_distortion
from privopt.mechanisms.policy.journal import PolicyJournal
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.part import Part
from privopt.mechanisms.policy.rules import Setting, find_rule
from privopt.mechanisms.policy.state import PolicyState
from privopt.models import MarkovChain

LIMIT = 2**20


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SequencePolicy(Mechanism):
    """Releases a sequence letter by letter, or word by word, so that no release changes any odds by more than its budget.

    Before each release everybody who has read the earlier ones has the same belief over the present input. A rule
    proposes a kernel for that belief; the policy does not trust it: it mixes the kernel with its own output law where the
    leakage would exceed the budget, rounds it to integers and checks these, with a margin for the rounding of the
    belief, so the bound holds along every path of up to ``limit`` releases. Instantaneous leakages add up to a bound
    on the leakage of the whole sequence.

    Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy": instantaneous and
    batched information leakage, and their composition.

    Parameters
    ----------
    chain : MarkovChain
        Law of the letters, of any order. At order k the belief is over words of k letters, and the letter of record t is the
        last one of its state.
    epsilon : float
        Budget of a letter, in nats, >= 0, perhaps inf.
    batch : int
        Letters w in one release; its budget is ``batch * epsilon``. What is left at the end of data is a shorter word.
    distortion : {"hamming", "l1", "squared"} or matrix, shape (letters, columns)
        Of single letters; a word has the mean over its letters.
    rule : str
        Who proposes kernels, such as "closed-form".
    enforced : bool
        False uses what is proposed as it is: for comparison with published mechanisms, which may leak more. Such a policy
        only simulates.
    limit : int
        Releases of one sequence that the margin covers, at most 2**40.
    prepared : sequence of (belief over inputs, Channel)
        Kernels at these beliefs instead of asking the rule; checked like any other. Whole numbers out of 2**52 that pass
        are drawn from as they are, so a policy that carries its kernels releases alike on every machine.
    simulation_only : bool
        Set by ``solve(..., certify=False)``: such a mechanism releases only with a simulation generator.

    Raises
    ------
    InvalidMechanism
        If an argument is out of its range.
    UnsuitableSolver
        If there is no such rule.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], states=["home", "away"])
    >>> policy = SequencePolicy(chain, 1.0)
    >>> policy.kernel(chain.initial).matrix.round(4)
    array([[0.8528, 0.1472],
           [0.2207, 0.7793]])
    >>> release, state = policy.step(policy.start(), "home")
    >>> state == policy.advance(policy.start(), release)
    True
    """

    kind: ClassVar[str] = "sequence_policy"

    chain: MarkovChain
    epsilon: float
    batch: int
    distortion: Distortion
    rule: str
    enforced: bool
    limit: int
    prepared: tuple[tuple[tuple[float, ...], Channel], ...]
    simulation_only: bool

    def __init__(
        self,
        chain: MarkovChain,
        epsilon: float,
        batch: int = 1,
        distortion: str | ArrayLike = "hamming",
        rule: str = "closed-form",
        *,
        enforced: bool = True,
        limit: int = LIMIT,
        prepared: Sequence[tuple[ArrayLike, Channel]] = (),
        simulation_only: bool = False,
    ) -> None:
        codec.check(chain, epsilon, batch, limit)
        values: dict[str, object] = {
            "chain": chain,
            "epsilon": float(epsilon),
            "batch": int(batch),
            "distortion": read_distortion(distortion, chain.letters),
            "rule": find_rule(rule).name,
            "enforced": bool(enforced),
            "limit": int(limit),
            "prepared": (),
            "simulation_only": bool(simulation_only) or not enforced,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if prepared:
            object.__setattr__(self, "prepared", codec.prepared(prepared, self.setting))
        if rule == "closed-form" and not self.prepared and (self.distortion != "hamming" or batch > 1):
            raise InvalidMechanism(
                'the rule "closed-form" knows the Hamming distortion of single letters; name another rule, as rule='
            )

    @property
    def letters(self) -> Labels:
        """Labels of the letters."""
        return self.chain.letters

    @cached_property
    def setting(self) -> Setting:
        """What a full release is about: inputs, outputs, cost and budget."""
        return Setting(self.chain, self.batch, self.batch * self.epsilon, self.distortion)

    @cached_property
    def _parts(self) -> dict[int, Part]:
        return {}

    def part(self, length: int) -> Part:
        """Releases of words of this length: ``batch``, or less at the end of data."""
        if length not in self._parts:
            setting = Setting(self.chain, length, length * self.epsilon, self.distortion)
            known = [(law, kernel) for law, kernel in self.prepared if kernel.inputs == setting.inputs]
            tables = tuple((np.array(belief), kernel.matrix) for belief, kernel in known)
            drift = 0.0 if length == self.batch else self._drift
            self._parts[length] = Part(setting, self.rule, self.enforced, self.limit, tables, drift)
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
        step : int
            Which release, 0 first; matters only for batches on a chain with a matrix per step.
        """
        weights, total = self.kernels(codec.belief(belief, self.chain)[None, :], step)
        return Channel(weights[0] / total, self.setting.inputs, self.setting.outputs)

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
        row = weights[:, codec.place(letter, part.places, self.batch)]
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
        code = codec.place(release, part.codes, self.batch)
        return self._moved(part, state, self._weights(part, state), np.array([code]))

    def _part_of(self, item: Label, state: PolicyState) -> Part:
        if state.ended:
            raise InvalidMechanism(
                "a word of fewer letters has ended this sequence: begin again with start()"
            )
        if len(state.belief) != self.chain.k:
            raise InvalidMechanism(
                f"the state has {len(state.belief)} beliefs, the chain {self.chain.k} states"
            )
        return self.part(codec.word_length(item, self.batch))

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

    def release(
        self,
        data: Any,
        rng: np.random.Generator | None = None,
        *,
        state: PolicyJournal | None = None,
        progress: codec.Progress | None = None,
    ) -> Any:
        """Release a stream, a sequence, or the sequences of many users.

        Parameters
        ----------
        data : iterator, sequence, array, pandas or Polars column, or table (users, records)
            Letters. An iterator is read as releases are asked for, in constant memory. A table is released for all users
            at once, a bounded number of users at a time.
        rng : numpy.random.Generator, optional
            Simulate with this generator. The result is then marked as simulated and protects nobody.
        state : PolicyJournal, optional
            Where to continue, and to write each release down before it is handed out; see :meth:`state`. The
            data then begin with the first letter that is not yet recorded.
        progress : callable (fraction, sentence), optional
            Told how far a table is.

        Returns
        -------
        iterator, or the same kind of column, or a NumPy object array
            An iterator yields one release at a time: letters, or tuples for ``batch`` > 1. Everything else has the length
            of the data, with words spelled out.

        Raises
        ------
        InvalidMechanism
            If a letter is unknown or cannot follow the one before it (with its position, 0 first), or the policy may only
            simulate and no ``rng`` is given.

        Examples
        --------
        >>> policy = SequencePolicy(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0)
        >>> policy.release([[0, 1, 1], [0, 0, 0]], np.random.default_rng(0)).shape
        (2, 3)
        >>> len(list(policy.release(iter([0, 1, 1]))))
        3
        """
        from privopt.mechanisms.policy.release import release

        return release(self, data, rng, state, progress)

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

    def exact(self) -> tuple[IntegerRow, ...]:
        """Integer rows of the kernel at the start; those of any other belief come from :meth:`kernels`."""
        weights, total = self.kernels(np.array([self.start().belief]))
        return tuple(IntegerRow(tuple(row), total) for row in weights[0].tolist())

    def quantised(self) -> SequencePolicy:
        """The policy itself: its kernels are integers."""
        return self

    def validated(self, simulation_only: bool = False) -> SequencePolicy:
        """A fresh copy that went through the constructor's checks again."""
        return self._copy(self.enforced, simulation_only)

    def with_prepared(self, prepared: Sequence[tuple[ArrayLike, Channel]]) -> SequencePolicy:
        """The same policy with other kernels made ready."""
        return self._copy(self.enforced, self.simulation_only and self.enforced, tuple(prepared))

    def _copy(
        self,
        enforced: bool,
        simulation_only: bool,
        prepared: Sequence[tuple[ArrayLike, Channel]] | None = None,
    ) -> SequencePolicy:
        return SequencePolicy(
            self.chain,
            self.epsilon,
            self.batch,
            self.distortion,
            self.rule,
            enforced=enforced,
            limit=self.limit,
            prepared=self.prepared if prepared is None else prepared,
            simulation_only=simulation_only,
        )

    def with_enforcement(self) -> SequencePolicy:
        """The same policy with its budget enforced."""
        return self._copy(True, self.simulation_only and self.enforced)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal policy back."""
        return codec.encode(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The policy that :meth:`to_dict` wrote.

        Raises
        ------
        InvalidMechanism
            If a field is missing or not of its kind.
        """
        f = codec.decode(fields)
        return cls(
            f.chain,
            f.epsilon,
            f.batch,
            f.distortion,
            f.rule,
            enforced=f.enforced,
            limit=f.limit,
            prepared=f.prepared,
            simulation_only=f.simulation_only,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequencePolicy):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        what = (self.chain, self.epsilon, self.batch, self.distortion, self.rule)
        return (*what, self.enforced, self.limit, self.prepared, self.simulation_only)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        named = self.distortion if isinstance(self.distortion, str) else "matrix"
        batch = f", batch={self.batch}" if self.batch > 1 else ""
        note = "" if self.enforced else ", not enforced"
        note += ", simulation only" if self.simulation_only and self.enforced else ""
        note += f", {len(self.prepared)} prepared" if self.prepared else ""
        size = f"{len(self.letters)} letters"
        budget = "inf" if self.epsilon == math.inf else f"{self.epsilon:g}"
        return (
            f"SequencePolicy({size}, epsilon={budget}{batch}, distortion={named!r}, rule={self.rule!r}{note})"
        )

    def _repr_html_(self) -> str:
        from privopt.files.text import html_table, number

        first = self.part(self.batch)
        weights = first.weights(np.array([self.start().belief]), 0)[0, :50]
        rows = [
            (label, *(number(p) for p in row))
            for label, row in zip(self.setting.inputs[:50], (weights / TOTAL).tolist(), strict=True)
        ]
        return html_table(rows, ("at the start", *(f"Pr({y!r})" for y in self.setting.outputs)))
