"""Sets of Markov chains: a set for each row of transitions, forward and backward in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from privopt.core.exact import IntegerRow, Number
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels
from privopt.models.ambiguity.intervals import check_confidence, read_confidence
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.ambiguity.stationary import backward_rows, stationary_distributions
from privopt.models.ambiguity.visits import anytime_interval
from privopt.models.codec import VERSION, document
from privopt.models.html import html_table
from privopt.models.markov.chain import MarkovChain
from privopt.models.markov.stream import StreamColumns
from privopt.models.validation import Row, Table, number_array

_FIELDS: dict[str, object] = {
    "forward": ..., "backward": ..., "initial": ..., "nominal": ..., "confidence": None,
}  # fmt: skip
CHECKED = 32
"""Records of a chain without end that is not stationary whose rows backward are compared with the sets."""


@dataclass(frozen=True, init=False, repr=False)
class ChainAmbiguity:
    """A set of distributions of a sequence of records, each of which depends on its neighbours.

    Seen from a private record, each record after it follows the one nearer by some row of ``forward``, each record
    before it by some row of ``backward``; rows may be others at every step. A certificate over the set holds for
    whichever of these distributions the data follow. Sets of rows forward alone say little of the rows backward, so
    that both are given.

    Source: rows that vary with time in sets of distributions are the imprecise Markov chains of De Cooman, Hermans and
    Quaeghebeur, "Imprecise Markov chains and their limit behaviour" (2009).

    Parameters
    ----------
    forward, backward : sequence of RowSet, length k
        A set of P(next | now), and of P(before | now), for each state.
    initial : RowSet or sequence of int, float or Fraction, length k
        The set of the distributions of record 0; a vector is one point.
    nominal : MarkovChain
        The chain by which utilities are read; must lie in the set. Its labels are those of the set.

    Attributes
    ----------
    forward, backward : tuple of RowSet
    initial : RowSet
    nominal : MarkovChain
    confidence : float or None
        How often a set made from counts holds the chain of the population.

    Raises
    ------
    InvalidModel
        If sizes differ, or the nominal chain does not lie in the set. Of a chain that is neither stationary nor ends,
        the rows backward of the first 32 records are compared.

    Examples
    --------
    >>> chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    >>> near = ChainAmbiguity.interval(chain, 0.5)
    >>> near
    ChainAmbiguity(2 states, rows within intervals)
    >>> near.contains(MarkovChain([[0.625, 0.375], [0.5, 0.5]])), near.contains(MarkovChain([[0.5, 0.5], [0.5, 0.5]]))
    (True, False)
    """

    forward: tuple[RowSet, ...]
    backward: tuple[RowSet, ...]
    initial: RowSet
    nominal: MarkovChain
    confidence: float | None

    def __init__(
        self,
        forward: Sequence[RowSet],
        backward: Sequence[RowSet],
        initial: RowSet | Row,
        *,
        nominal: MarkovChain,
    ) -> None:
        self._fill(forward, backward, initial, nominal, None)

    def _fill(
        self,
        forward: Sequence[RowSet],
        backward: Sequence[RowSet],
        initial: RowSet | Row,
        nominal: MarkovChain,
        confidence: float | None,
    ) -> None:
        if not isinstance(nominal, MarkovChain):
            raise InvalidModel(f"nominal is a {type(nominal).__name__}: give the MarkovChain in the middle")
        first = initial if isinstance(initial, RowSet) else RowSet.total_variation(list(initial), 0)
        for name, rows in (("forward", forward), ("backward", backward), ("initial", [first] * nominal.k)):
            _check_rows(name, rows, nominal.k)
        values: dict[str, object] = {
            "forward": tuple(forward), "backward": tuple(backward), "initial": first, "nominal": nominal,
            "confidence": confidence,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if (outside := self._outside(nominal)) is not None:
            raise InvalidModel(f"the nominal chain does not lie in the set, by {outside}: give one that does")

    @classmethod
    def _build(
        cls,
        forward: Sequence[RowSet],
        backward: Sequence[RowSet],
        initial: RowSet,
        nominal: MarkovChain,
        confidence: float | None,
    ) -> Self:
        made = cls.__new__(cls)
        made._fill(forward, backward, initial, nominal, confidence)
        return made

    @classmethod
    def interval(cls, chain: MarkovChain, relative: Number = 0.1) -> Self:
        """Each probability of a change of state within a share of its own; the probability of staying takes the rest.

        The set holds every stationary chain of one such matrix. Its rows backward are then those of the same intervals for
        two states, as such a chain is reversible; for more states they lie between bounds that hold for every such
        chain. Of a chain that starts from another distribution, that distribution is kept and nothing is said of rows
        backward.

        Parameters
        ----------
        chain : MarkovChain
            Of one matrix for all steps; the nominal one.
        relative : int, float or Fraction
            0.1 is 10 % more or less, at most 1.

        Raises
        ------
        InvalidModel
            If the chain has several matrices, or ``relative`` is negative.

        Examples
        --------
        >>> ChainAmbiguity.interval(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 0.5).forward[0].upper
        (Fraction(7, 8), Fraction(3, 8))
        """
        if not isinstance(chain, MarkovChain) or not chain.homogeneous:
            raise InvalidModel(
                "intervals around a chain need one matrix for all steps: give a MarkovChain of one, or make the sets of "
                "rows with RowSet and ChainAmbiguity"
            )
        (share,) = number_array([relative], "relative").tolist()
        rows = [_around(row, i, Fraction(share)) for i, row in enumerate(chain.exact_step(0))]
        return cls._of_rows(rows, chain, None)

    @classmethod
    def _of_rows(cls, rows: Sequence[RowSet], chain: MarkovChain, confidence: float | None) -> Self:
        """All that follows from sets of rows forward alone."""
        if chain.stationary:
            return cls._build(rows, backward_rows(rows), stationary_distributions(rows), chain, confidence)
        start = RowSet.total_variation(_fractions(chain.exact_initial), 0)
        return cls._build(rows, [RowSet.all(chain.k)] * chain.k, start, chain, confidence)

    @classmethod
    def from_counts(
        cls,
        counts: MarkovChain | Table,
        confidence: float = 0.95,
        states: Iterable[Label] | None = None,
    ) -> Self:
        """A set that holds the stationary chain of a population with a confidence, from the transitions that were counted.

        How often a state was left is random; the bounds hold at any time, so that this does not matter. Rows backward are
        counted too: P(before = i | now = j) is N_ij / N_.j (two states: the rows forward). What may be missed is
        shared out equally over all these probabilities. Sequences are taken for stretches of one stationary chain.

        Parameters
        ----------
        counts : MarkovChain, or array-like of int, shape (k, k)
            A chain of :meth:`MarkovChain.fit`, or how often state j followed state i.
        confidence : float
            Between 0 and 1.
        states : iterable of hashable, optional
            Labels, where a table is given.

        Raises
        ------
        InvalidModel
            If an entry is no count, nothing was counted from some state, or the confidence is not between 0 and 1.

        Examples
        --------
        >>> chain = MarkovChain.fit(list("aabbbabaabaaabbaab"))
        >>> near = ChainAmbiguity.from_counts(chain, 0.9)
        >>> near, near.contains(MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["a", "b"]))
        (ChainAmbiguity(2 states, rows within intervals, confidence 0.9), True)
        """
        chain, table = _counted_chain(counts, states)
        miss, k = check_confidence(confidence), chain.k
        if k == 2:
            forward = [_counted_row(row, miss / 2) for row in table]
            return cls._of_rows(forward, chain, confidence)
        share = miss / (2 * k * k)
        forward = [_counted_row(row, share) for row in table]
        backward = [_counted_row(list(column), share) for column in zip(*table, strict=True)]
        return cls._build(forward, backward, stationary_distributions(forward), chain, confidence)

    @property
    def states(self) -> Labels:
        """Labels of the states."""
        return self.nominal.states

    @property
    def k(self) -> int:
        """Number of states."""
        return self.nominal.k

    @property
    def columns(self) -> StreamColumns | None:
        """The column that the nominal chain was counted from, where it remembers it."""
        return self.nominal.columns

    @property
    def is_point(self) -> bool:
        """Whether each row is known, and the distribution of record 0."""
        return all(row.is_point for row in (*self.forward, *self.backward, self.initial))

    @property
    def described(self) -> str:
        """What the set is, as a certificate says it.

        Examples
        --------
        >>> ChainAmbiguity.interval(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 0.125).described
        'rows of transitions forward and backward in time, which may differ from step to step: each probability between two bounds'
        """
        if self.confidence is not None:
            counted = self.nominal.counts
            of = "counts" if counted is None else f"counts of {sum(map(sum, counted))} transitions"
            return (
                f"from {of} at {100 * self.confidence:g} % confidence at any time (each probability of a transition, forward "
                "and backward in time, between bounds), for stretches of a stationary chain"
            )
        rows = list(dict.fromkeys(row.described for row in (*self.forward, *self.backward)))
        shown = "; or ".join(rows[:3]) + ("; or others" if len(rows) > 3 else "")
        return (
            f"rows of transitions forward and backward in time, which may differ from step to step: {shown}"
        )

    def may_start(self, state: int) -> bool:
        """Whether record 0 may have a state, by its position."""
        return self.initial.largest([int(i == state) for i in range(self.k)])[1] > 0

    def contains(self, chain: MarkovChain) -> bool:
        """Whether a chain of the same states lies in the set; decided exactly.

        States that a record never has may have any row backward. Of a chain that is neither stationary nor ends, the rows
        backward of the first 32 records are compared.
        """
        return self._outside(chain) is None

    def contains_steps(self, chain: MarkovChain, *, backward: bool = True) -> bool:
        """Whether all rows of a chain lie in the set, from whatever distribution it starts; rows backward too, or not.

        Examples
        --------
        >>> near = ChainAmbiguity.interval(MarkovChain([[0.75, 0.25], [0.5, 0.5]], initial=[1, 0]), 0.5)
        >>> near.contains_steps(MarkovChain([[0.75, 0.25], [0.5, 0.5]]))
        True
        """
        return chain.states == self.nominal.states and self._steps_outside(chain, backward) is None

    def _outside(self, chain: MarkovChain) -> str | None:
        """Which of its distributions lies outside."""
        if chain.states != self.nominal.states:
            return "its states"
        if not self.initial.contains(_fractions(chain.exact_initial)):
            return "its distribution of record 0"
        return self._steps_outside(chain, True)

    def _steps_outside(self, chain: MarkovChain, backward: bool) -> str | None:
        for t in _steps(chain):
            rows = chain.exact_step(t)
            for i, (row, allowed) in enumerate(zip(rows, self.forward, strict=True)):
                if not allowed.contains(_fractions(row)):
                    return f"its row forward of state {chain.states[i]!r}"
            for j, before in enumerate(_reversed(chain.exact_marginal(t), rows) if backward else ()):
                if before is not None and not self.backward[j].contains(before):
                    return f"its row backward of state {chain.states[j]!r}"
        return None

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal set.

        Examples
        --------
        >>> near = ChainAmbiguity.interval(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 0.5)
        >>> ChainAmbiguity.from_dict(near.to_dict()) == near
        True
        """
        written: dict[str, object] = {
            "type": "chain_ambiguity",
            "version": VERSION,
            "forward": [row.to_dict() for row in self.forward],
            "backward": [row.to_dict() for row in self.backward],
            "initial": self.initial.to_dict(),
            "nominal": self.nominal.to_dict(),
        }
        return written if self.confidence is None else {**written, "confidence": self.confidence}

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.
        """
        fields = document(d, "chain_ambiguity", _FIELDS)
        confidence = read_confidence(fields["confidence"])
        nominal = MarkovChain.from_dict(_mapping(fields["nominal"], "nominal"))
        initial = RowSet.from_dict(_mapping(fields["initial"], "initial"))
        forward, backward = (_decoded(fields[name], name) for name in ("forward", "backward"))
        return cls._build(forward, backward, initial, nominal, confidence)

    def __repr__(self) -> str:
        kinds = {row.kind for row in (*self.forward, *self.backward)}
        names = {
            "interval": "within intervals",
            "total_variation": "within total variation",
            "chi2": "within chi-squared",
        }
        words = (
            names.get(kinds.pop(), "of any distribution") if len(kinds) == 1 else "in sets of several kinds"
        )
        sure = "" if self.confidence is None else f", confidence {self.confidence:g}"
        return f"ChainAmbiguity({self.k} states, rows {words}{sure})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.states, self.states, self.nominal.step(0))


def _check_rows(name: str, rows: Sequence[RowSet], k: int) -> None:
    if len(rows) != k or any(not isinstance(row, RowSet) for row in rows):
        raise InvalidModel(f"{name} is no list of {k} RowSet: give one for each state of the nominal chain")
    wrong = next((row.size for row in rows if row.size != k), None)
    if wrong is not None:
        raise InvalidModel(f"{name} has a set of {wrong} values, and the nominal chain {k} states")


def _fractions(row: IntegerRow) -> list[Fraction]:
    return [Fraction(w, row.total) for w in row.weights]


def _steps(chain: MarkovChain) -> Iterator[int]:
    """The steps of a chain that may differ in their rows forward or backward."""
    if chain.homogeneous and chain.stationary:
        return iter(range(1))
    if chain.max_length is not None:
        return iter(range(chain.max_length - 1))
    return iter(range(chain.period if chain.period is not None and chain.returns else CHECKED))


def _reversed(now: IntegerRow, rows: Sequence[IntegerRow]) -> Iterator[list[Fraction] | None]:
    """For each state of the next record, the exact distribution of this one; None where it never has that state."""
    for j in range(len(rows)):
        joint = [w * row.fraction(j) for w, row in zip(now.weights, rows, strict=True)]
        total = sum(joint, Fraction(0))
        yield [v / total for v in joint] if total else None


def _around(row: IntegerRow, i: int, share: Fraction) -> RowSet:
    """The rows of state i whose probabilities of leaving lie within a share of these."""
    exact = _fractions(row)
    low, high = ([v * max(Fraction(0), 1 + sign * share) for v in exact] for sign in (-1, 1))
    high = [min(Fraction(1), v) for v in high]
    low[i], high[i] = Fraction(0), Fraction(0)
    zero = Fraction(0)
    low[i], high[i] = max(zero, 1 - sum(high, zero)), max(zero, 1 - sum(low, zero))
    return RowSet.interval(low, high)


def _counted_chain(
    counts: MarkovChain | Table, states: Iterable[Label] | None
) -> tuple[MarkovChain, list[list[int]]]:
    """The chain that was counted, and its counts."""
    if isinstance(counts, MarkovChain):
        if counts.counts is None or not counts.homogeneous:
            raise InvalidModel(
                "the chain was not counted with one matrix: use MarkovChain.fit, or give counts"
            )
        return counts, [list(row) for row in counts.counts]
    array = number_array(counts, "counts")
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InvalidModel(f"counts has shape {array.shape}: give how often each state followed each, (k, k)")
    if any(v != int(v) for v in array.ravel()):
        raise InvalidModel("counts holds numbers that are no counts: give how often each state followed each")
    table = [[int(v) for v in row] for row in array.tolist()]
    return MarkovChain.normalised(table, states=states), table


def _counted_row(row: Sequence[int], miss: Fraction) -> RowSet:
    """The set of a row that was counted, each of its probabilities missed with probability at most ``miss``."""
    total = sum(row)
    if not total:
        return RowSet.all(len(row))
    if len(row) == 1:
        return RowSet.interval([1], [1])
    ends = [anytime_interval(count, total, miss) for count in row]
    return RowSet.interval([low for low, _ in ends], [high for _, high in ends])


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidModel(f"{what} is no document: expected a dict")
    return value


def _decoded(value: object, what: str) -> list[RowSet]:
    if not isinstance(value, list):
        raise InvalidModel(f"{what} is no list: give a set of distributions for each state")
    return [RowSet.from_dict(_mapping(row, f"a row of {what}")) for row in value]
