"""Sequence policies: letters released one by one, each by the best kernel for what is known by then."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from privopt.core.exact import IntegerRow
from privopt.errors import InvalidMechanism
from privopt.files.numbers import encode_float
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy import _codec as codec
from privopt.mechanisms.policy.journal import PolicyJournal
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.ranges import check_set
from privopt.mechanisms.policy.release import Progress, release
from privopt.mechanisms.policy.rules import find_rule
from privopt.mechanisms.policy.setting import distortion as read_distortion
from privopt.mechanisms.policy.stepwise import StepwisePolicy
from privopt.models import ChainAmbiguity, MarkovChain

LIMIT = 2**20


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SequencePolicy(StepwisePolicy):
    """A policy: it releases a sequence letter by letter, or word by word, and no release moves odds by more than its budget.

    Before each release everybody who has read the earlier ones has the same belief over the present input. A rule
    proposes a kernel for that belief; the policy does not trust it: it mixes the kernel with its own output
    distribution where the leakage would exceed the budget, rounds it to integers and checks these, with a margin for
    the rounding of the belief, so the bound holds along every path of up to ``limit`` releases. Instantaneous
    leakages add up to a bound on the leakage of the whole sequence.

    Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy": instantaneous and
    batched information leakage, and their composition.

    Parameters
    ----------
    chain : MarkovChain
        Distribution of the letters, of any order. At order k the belief is over words of k letters, and the letter of
        record t is the last one of its state.
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
    limit : int or inf
        Releases of one sequence that the margin covers: at most 2**40, or inf for streams of any length. Then ``batch`` is 1,
        and some power of the transition matrix leads from every state to the same ones, so that beliefs forget their rounding.
    prepared : sequence of (belief over inputs, Channel)
        Kernels at these beliefs instead of asking the rule; checked like any other. Whole numbers out of 2**52 that pass
        are drawn from as they are, so a policy that carries its kernels releases alike on every machine.
    simulation_only : bool
        Set by ``solve(..., certify=False)``: such a mechanism releases only with a simulation generator.
    ambiguity : ChainAmbiguity, optional
        A set of chains around ``chain``: no release moves odds by more than its budget whichever of them the data follow,
        each step perhaps another. Single letters of a chain of order 1 only. Everybody then follows the bounds of the
        belief over the set, and the kernel keeps the budget at every belief within them.
    rounding : int
        Beliefs are rounded to odds that are powers of 2^(1 / rounding); 0 keeps them as they are. With a limit of inf only. The
        policy is then a machine of finitely many beliefs, whose utility in the long run can be computed; the budget is
        kept at the true belief, wherever it lies within what the rounding can add up to.

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

    def __init__(
        self,
        chain: MarkovChain,
        epsilon: float,
        batch: int = 1,
        distortion: str | ArrayLike = "hamming",
        rule: str = "closed-form",
        *,
        enforced: bool = True,
        limit: float = LIMIT,
        prepared: Sequence[tuple[ArrayLike, Channel]] = (),
        simulation_only: bool = False,
        ambiguity: ChainAmbiguity | None = None,
        rounding: int = 0,
    ) -> None:
        codec.check(chain, epsilon, batch, limit)
        if ambiguity is not None:
            check_set(ambiguity, chain, batch)
        codec.check_lasting(chain, epsilon if enforced else math.inf, batch, limit, ambiguity, rounding)
        values: dict[str, object] = {
            "chain": chain,
            "epsilon": float(epsilon),
            "batch": int(batch),
            "distortion": read_distortion(distortion, chain.letters),
            "rule": find_rule(rule).name,
            "enforced": bool(enforced),
            "limit": math.inf if limit == math.inf else int(limit),
            "prepared": (),
            "simulation_only": bool(simulation_only) or not enforced,
            "ambiguity": ambiguity,
            "rounding": int(rounding),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if prepared:
            object.__setattr__(self, "prepared", codec.prepared(prepared, self.setting))
        if rule == "closed-form" and not self.prepared and (self.distortion != "hamming" or batch > 1):
            raise InvalidMechanism(
                'the rule "closed-form" knows the Hamming distortion of single letters; name another rule, as rule='
            )

    def release(
        self,
        data: Any,
        rng: np.random.Generator | None = None,
        *,
        state: PolicyJournal | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Release a stream, a sequence, or the sequences of many users.

        Parameters
        ----------
        data : iterator, sequence, array, pandas or Polars column, or table (users, records)
            Letters. An iterator is read as releases are asked for, in constant memory. A table is released for all users
            at once, a bounded number of users at a time. A missing letter (None, NaN) is a gap: nothing is released of it,
            see :meth:`skip`.
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
            of the data, with words spelled out, and None where a record is missing.

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
        return release(self, data, rng, state, progress)

    def exact(self) -> tuple[IntegerRow, ...]:
        """Integer rows of the kernel at the start; those of any other belief come from :meth:`kernels`."""
        weights, total = self.kernels(np.array([self.start().belief]))
        return tuple(IntegerRow(tuple(row), total) for row in weights[0].tolist())

    def quantised(self) -> SequencePolicy:
        """The policy itself: its kernels are integers."""
        return self

    def validated(self, simulation_only: bool = False) -> SequencePolicy:
        """A fresh copy that went through the constructor's checks again."""
        return replace(self, simulation_only=simulation_only)

    def with_prepared(self, prepared: Sequence[tuple[ArrayLike, Channel]]) -> SequencePolicy:
        """The same policy with other kernels made ready."""
        return replace(
            self,
            prepared=codec.prepared(prepared, self.setting),
            simulation_only=self.simulation_only and self.enforced,
        )

    def with_enforcement(self) -> SequencePolicy:
        """The same policy with its budget enforced."""
        return replace(self, enforced=True, simulation_only=self.simulation_only and self.enforced)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal policy back."""
        named = self.distortion
        over: dict[str, Any] = {} if self.ambiguity is None else {"ambiguity": self.ambiguity.to_dict()}
        if self.rounding:
            over["rounding"] = self.rounding
        return {
            "type": self.kind,
            "version": 1,
            "chain": self.chain.to_dict(),
            "epsilon": encode_float(self.epsilon),
            "batch": self.batch,
            "distortion": named if isinstance(named, str) else [list(row) for row in named],
            "rule": self.rule,
            "enforced": self.enforced,
            "limit": encode_float(self.limit) if self.limit == math.inf else self.limit,
            "prepared": [
                {"belief": list(belief), "kernel": kernel.to_dict()} for belief, kernel in self.prepared
            ],
            "simulation_only": self.simulation_only,
            **over,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The policy that :meth:`to_dict` wrote.

        Raises
        ------
        InvalidMechanism
            If a field is missing or not of its kind.
        FileRefused
            If there is no such rule.
        """
        return codec.decode(fields, cls)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequencePolicy):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        what = (self.chain, self.epsilon, self.batch, self.distortion, self.rule, self.enforced)
        return (*what, self.limit, self.prepared, self.simulation_only, self.ambiguity, self.rounding)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        named = self.distortion if isinstance(self.distortion, str) else "matrix"
        batch = f", batch={self.batch}" if self.batch > 1 else ""
        note = "" if self.enforced else ", not enforced"
        note += ", simulation only" if self.simulation_only and self.enforced else ""
        note += f", {len(self.prepared)} prepared" if self.prepared else ""
        note += f", over {self.ambiguity!r}" if self.ambiguity is not None else ""
        note += f", rounding={self.rounding}" if self.rounding else ""
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
