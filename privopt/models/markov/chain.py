"""Markov chains: how successive records depend on each other."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, SupportsIndex, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.exact import IntegerRow
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels
from privopt.models.columns import Column
from privopt.models.html import html_table
from privopt.models.intervals import Bins
from privopt.models.markov import parts as derived
from privopt.models.markov.fit import count_transitions
from privopt.models.markov.parts import ChainParts, chain_parts, decode_chain, encode_chain
from privopt.models.markov.stream import StreamColumns, binned
from privopt.models.validation import Row, Table, hashable, number_array

Steps: TypeAlias = Sequence[Row | Table] | NDArray[Any]

_MOST_CACHED = 2**22  # floats kept of the distributions of records (32 MB)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MarkovChain:
    """A Markov chain on finitely many labelled states; record 0 is the first.

    Its distribution is exact: each number divided by the exact sum of its row. Float arrays are
    read-only and hold that distribution, each entry rounded correctly. Two chains are equal when their exact
    distributions and their labels are.

    Parameters
    ----------
    transition : array-like of int, float or Fraction, shape (k, k), or a list of m of them
        Row i holds Pr(next = j | now = i) and sums to 1 within 1e-9. A list gives one matrix for
        each of m steps, so a chain of m + 1 records.
    initial : array-like of int, float or Fraction, shape (k,), optional
        Distribution of record 0, summing to 1 within 1e-9. By default the stationary one, solved exactly, which
        takes seconds at a few hundred states.
    states : iterable of hashable, length k, optional
        Distinct labels; 0..k-1 by default.

    Attributes
    ----------
    transition : float array, shape (k, k) or (m, k, k)
        Transition probabilities.
    initial : float array, shape (k,)
        Distribution of record 0.
    states : tuple
        Labels of the states.
    letters : tuple
        Labels of the letters: the states, unless these are words of several letters.
    order : int
        Number of letters in a state.
    counts : tuple of tuple of int, or None
        Transitions counted by :meth:`fit`, without smoothing.
    homogeneous : bool
        Whether one matrix serves every step.
    period : int or None
        After how many steps the matrices of a periodic chain repeat; None for other chains.
    columns : StreamColumns or None
        The column that the chain was counted from, where the fit was told: its name, its intervals of numbers.
    exact_initial : IntegerRow
        Exact distribution of record 0.

    Raises
    ------
    InvalidModel
        If numbers, shapes or labels are wrong, or no initial distribution is given and there is no unique
        stationary distribution that is positive everywhere.

    Examples
    --------
    >>> chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]], states=["dry", "wet"])
    >>> chain
    MarkovChain(2 states, homogeneous, stationary)
    >>> chain.exact_initial
    IntegerRow(weights=(2, 1), total=3)
    """

    transition: Floats
    initial: Floats
    states: Labels
    letters: Labels
    order: int
    counts: tuple[tuple[int, ...], ...] | None
    homogeneous: bool
    period: int | None
    columns: StreamColumns | None
    exact_initial: IntegerRow
    _rows: tuple[derived.Rows, ...]
    _parts: ChainParts

    def __init__(
        self, transition: Steps, initial: Row | None = None, states: Iterable[Label] | None = None
    ) -> None:
        self._fill(chain_parts(transition, initial, states, False))

    @classmethod
    def normalised(
        cls, transition: Steps, initial: Row | None = None, states: Iterable[Label] | None = None
    ) -> Self:
        """Divide counts, or rounded probabilities, by the exact sum of their row.

        Parameters
        ----------
        transition : array-like of int, float or Fraction, shape (k, k), or a list of them
            Non-negative numbers; each row needs a positive sum.
        initial : array-like of int, float or Fraction, shape (k,), optional
            Divided by its sum too; stationary by default.
        states : iterable of hashable, optional
            Labels, as in the constructor.

        Raises
        ------
        InvalidModel
            As the constructor, except that any positive sum will do.

        Examples
        --------
        >>> MarkovChain.normalised([[3, 1], [2, 2]]).transition
        array([[0.75, 0.25],
               [0.5 , 0.5 ]])
        """
        return cls._build(chain_parts(transition, initial, states, True))

    @classmethod
    def periodic(
        cls, transition: Steps, initial: Row | None = None, states: Iterable[Label] | None = None
    ) -> Self:
        """A chain without end whose steps repeat, such as one matrix for each hour of a day.

        Parameters
        ----------
        transition : list of array-like, shape (period, k, k)
            The step from record t to record t + 1 is ``transition[t % period]``.
        initial : array-like, shape (k,), optional
            Distribution of record 0; by default the one that comes back after every period, solved exactly.
        states : iterable of hashable, optional
            Labels, as in the constructor.

        Raises
        ------
        InvalidModel
            As the constructor.

        Examples
        --------
        >>> day = MarkovChain.periodic([[[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 1]]])
        >>> day.period, day.step(101).tolist(), day.max_length
        (2, [[1.0, 0.0], [0.0, 1.0]], None)
        """
        return cls._build(chain_parts(transition, initial, states, False, True))

    def window(self, begin: int, length: int) -> MarkovChain:
        """Records ``begin`` to ``begin + length - 1`` as a chain of their own, of the same exact distribution.

        Examples
        --------
        >>> MarkovChain([[[0.5, 0.5], [1, 0]], [[0.25, 0.75], [0, 1]]], initial=[1, 0]).window(1, 2).initial
        array([0.5, 0.5])
        """
        if self.homogeneous and self.stationary:
            return self
        self._record(begin + length - 1, 0)
        if length < 2:
            raise InvalidModel("a window of a chain has at least 2 records")
        first = self.exact_marginal(begin)
        initial = np.array([first.fraction(i) for i in range(self.k)], dtype=object)
        steps = self._parts.transition
        if not self.homogeneous:
            steps = steps[[self.phase(t) for t in range(begin, begin + length - 1)]]
        return MarkovChain._build(replace(self._parts, transition=steps, initial=initial, periodic=False))

    def unrolled(self, length: int) -> MarkovChain:
        """The first records of a periodic chain as a chain with one matrix per step, of the same exact distribution.

        Examples
        --------
        >>> day = MarkovChain.periodic([[[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 1]]])
        >>> day.unrolled(4).transition.shape
        (3, 2, 2)
        """
        if self.period is None or length < 2:
            raise InvalidModel("only a periodic chain is unrolled, to a length of at least 2 records")
        return self.window(0, length)

    @classmethod
    def fit(
        cls,
        sequences: object,
        states: Iterable[Label] | None = None,
        order: int = 1,
        smoothing: float = 0.0,
        *,
        period: int | None = None,
        bins: Bins | None = None,
        column: str = "",
        users: str = "",
    ) -> Self:
        """Count the transitions in data; the chain starts from the stationary distribution of these counts.

        Parameters
        ----------
        sequences : list, array of one or two dimensions, Series, or iterable of sequences
            One sequence of letters or several (rows of an array). A missing value (None, NaN, NA)
            ends one stretch and starts another. Strings in a list of sequences are read by character.
        states : iterable of hashable, optional
            The letters that may occur; by default those that do, sorted where they can be.
        order : int
            Number of letters that the next one depends on. Above 1 the states are words, tuples of
            that many letters: those that occur, or all of them with smoothing.
        smoothing : float
            Non-negative number added to the count of each possible transition.
        period : int, optional
            Count a matrix for each step of a period, such as 24 for hourly records; every sequence begins with the first
            record of a period, and a missing value keeps its place. The chain repeats without end; sequences that are no
            longer than one period give a chain of that length, which starts as they do.
        bins : int, str or sequence of float, optional
            The records are numbers, and the states intervals of them: a number of intervals, their edges, or a rule such as
            "quantiles:4". The chain remembers them, and 'privopt release' reads raw numbers by them.
        column, users : str
            Remembered: the column that the records come from, and the one that says whose they are ("" for one stream).

        Raises
        ------
        InvalidModel
            If a letter is not among `states`, there is nothing to count, a state is never left and
            `smoothing` is 0, or the counts have no unique positive stationary distribution.

        Examples
        --------
        >>> chain = MarkovChain.fit([["a", "a", "b", "a"], ["b", "b", "a"]])
        >>> chain.states, chain.counts
        (('a', 'b'), ((1, 1), (2, 1)))
        >>> MarkovChain.fit(list("abbabbaabbab"), smoothing=0.5, period=3)
        MarkovChain(2 states, period 3)
        >>> MarkovChain.fit([[1.5, 2, 8, 9, 1, 7]], bins=[0, 5, 10]).states
        ('0 to 5', '5 to 10')
        """
        described = None
        if bins is not None:
            if states is not None:
                raise InvalidModel("bins make the states of numbers: leave states out")
            sequences, described = binned(sequences, bins, column)
            states = described.labels
        fitted = count_transitions(sequences, states, order, smoothing, period)
        if described is None and column:
            described = Column(column, "categorical", fitted.letters)
        columns = None if described is None else StreamColumns(described, users)
        initial = None if fitted.first is None else number_array(fitted.first, "initial")
        return cls._build(
            ChainParts(
                number_array(fitted.smoothed, "transition"),
                initial,
                fitted.states,
                fitted.letters,
                order,
                fitted.counts,
                True,
                period is not None and initial is None,
                columns,
            )
        )

    @classmethod
    def _build(cls, parts: ChainParts) -> Self:
        chain = cls.__new__(cls)
        chain._fill(parts)
        return chain

    def _fill(self, parts: ChainParts) -> None:
        exact = parts.exact()
        values: dict[str, object] = {
            "transition": exact.transition_floats,
            "initial": exact.initial_floats,
            "states": parts.states,
            "letters": parts.letters,
            "order": parts.order,
            "counts": parts.counts,
            "homogeneous": exact.homogeneous,
            "period": len(exact.rows) if parts.periodic else None,
            "columns": parts.columns,
            "exact_initial": exact.initial,
            "_rows": exact.rows,
            "_parts": parts,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def k(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def max_length(self) -> int | None:
        """Number of records that the chain describes; None where there is no limit."""
        return None if self.homogeneous or self.period else len(self._rows) + 1

    @cached_property
    def stationary(self) -> bool:
        """Whether every record has the distribution of the first, exactly."""
        if self._parts.initial is None and self.homogeneous:
            return True
        return all(derived.is_invariant(self.exact_initial, rows) for rows in self._rows)

    @cached_property
    def second_eigenvalue(self) -> float:
        """The second largest size of an eigenvalue of the first step, in [0, 1]: where steps are equal, how slowly the chain forgets.

        0 for a single state; 1 where it never forgets. In floats, without a bound on rounding.

        Examples
        --------
        >>> round(MarkovChain([[0.8, 0.2], [0.3, 0.7]]).second_eigenvalue, 12)
        0.5
        """
        sizes = np.sort(np.abs(np.linalg.eigvals(self.step(0)))) if self.k > 1 else np.zeros(2)
        return min(1.0, float(sizes[-2]))

    def index(self, label: Label) -> int:
        """Position of a state.

        Raises
        ------
        InvalidModel
            If there is no such state.

        Examples
        --------
        >>> MarkovChain([[0.5, 0.5], [0.5, 0.5]], states="no yes".split()).index("yes")
        1
        """
        if not hashable(label) or label not in self._positions:
            listed = ", ".join(map(repr, self.states[:10])) + (", ..." if self.k > 10 else "")
            raise InvalidModel(f"no state is called {label!r}: the states are {listed}")
        return self._positions[label]

    @cached_property
    def _positions(self) -> dict[Label, int]:
        return {state: i for i, state in enumerate(self.states)}

    def step(self, t: SupportsIndex) -> Floats:
        """Transition probabilities from record t to record t + 1, shape (k, k).

        Raises
        ------
        InvalidModel
            If t is negative, or record t + 1 is beyond the chain.

        Examples
        --------
        >>> MarkovChain([[0.75, 0.25], [0.5, 0.5]]).step(10)[0]
        array([0.75, 0.25])
        """
        record = self._record(t, 1)
        return self.transition if self.homogeneous else cast(Floats, self.transition[self.phase(record)])

    def exact_step(self, t: SupportsIndex) -> tuple[IntegerRow, ...]:
        """Exact transition distributions from record t to record t + 1, one a state.

        Raises
        ------
        InvalidModel
            If t is negative, or record t + 1 is beyond the chain.

        Examples
        --------
        >>> MarkovChain([[0.75, 0.25], [0.5, 0.5]]).exact_step(0)[0]
        IntegerRow(weights=(3, 1), total=4)
        """
        record = self._record(t, 1)
        return self._rows[0 if self.homogeneous else self.phase(record)]

    def phase(self, t: int) -> int:
        """Which matrix serves the step from record t: equal phases, equal steps.

        Examples
        --------
        >>> MarkovChain.periodic([[[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 1]]]).phase(7)
        1
        """
        return 0 if self.homogeneous else t if self.period is None else t % self.period

    @cached_property
    def returns(self) -> bool:
        """Whether the distribution of a periodic chain comes back after every period, exactly."""
        if self.period is None:
            return False
        return self._parts.initial is None or self._cycle[-1] == self.exact_initial

    @cached_property
    def _cycle(self) -> list[IntegerRow]:
        """The exact distributions of the first period, and of the record after it."""
        distributions = [self.exact_initial]
        for rows in self._rows:
            distributions.append(derived.advance(distributions[-1], rows, 1))
        return distributions

    def marginal(self, t: SupportsIndex) -> Floats:
        """Distribution of record t, shape (k,); computed in floats unless stationary.

        Raises
        ------
        InvalidModel
            If t is negative or beyond the chain.

        Examples
        --------
        >>> MarkovChain([[0.5, 0.5], [1.0, 0.0]], initial=[1, 0]).marginal(2)
        array([0.75, 0.25])
        """
        record = self._record(t, 0)
        if self.stationary or record == 0:
            return self.initial
        if self.homogeneous and record * self.k >= _MOST_CACHED:
            return derived.far_marginal(self.initial, self.transition, record)
        if self.period is not None and self.returns:
            record %= self.period
        known: Floats = self._known[0]
        if record >= len(known):
            count = self.max_length or self.period or max(64, 2 * record)
            count = max(count, record + 1)
            known = self._known[0] = derived.marginals(self.initial, self.transition, count)
        return cast(Floats, known[record])

    @cached_property
    def _known(self) -> list[Floats]:
        return [self.initial[None, :]]

    def marginals(self, n: SupportsIndex) -> Floats:
        """Distributions of records 0 to n - 1, shape (n, k).

        Raises
        ------
        InvalidModel
            If n is negative or beyond the chain.

        Examples
        --------
        >>> MarkovChain([[0.5, 0.5], [1.0, 0.0]], initial=[1, 0]).marginals(2)
        array([[1. , 0. ],
               [0.5, 0.5]])
        """
        count = operator.index(n)
        if count:
            self._record(count - 1, 0)
        if self.stationary:
            return np.broadcast_to(self.initial, (count, self.k))
        if self.period is not None and self.returns:
            self.marginal(self.period - 1)
            return self._known[0][np.arange(count) % self.period]
        if not self.homogeneous:
            self.marginal(max(count - 1, 0))  # keeps those of all records
            return self._known[0][:count]
        return derived.marginals(self.initial, self.transition, count)

    def exact_marginal(self, t: SupportsIndex) -> IntegerRow:
        """Exact distribution of record t; unless stationary, its integers grow with t.

        Raises
        ------
        InvalidModel
            If t is negative or beyond the chain.

        Examples
        --------
        >>> MarkovChain([[0.5, 0.5], [1.0, 0.0]], initial=[1, 0]).exact_marginal(2)
        IntegerRow(weights=(3, 1), total=4)
        """
        record = self._record(t, 0)
        if self.stationary:
            return self.exact_initial
        if self.homogeneous:
            return derived.advance(self.exact_initial, self._rows[0], record)
        if self.period is not None and (record <= self.period or self.returns):
            return self._cycle[record if record <= self.period else record % self.period]
        result = self.exact_initial
        for before in range(record):
            result = derived.advance(result, self._rows[self.phase(before)], 1)
        return result

    def reversed(self, t: SupportsIndex) -> Floats:
        """Steps backward from record t >= 1: Pr(X_{t-1} = i | X_t = j) as [j, i], shape (k, k).

        Rows of states j that record t never takes are zero.

        Raises
        ------
        InvalidModel
            If t is below 1 or beyond the chain.

        Examples
        --------
        >>> MarkovChain([[0.5, 0.5], [1.0, 0.0]], initial=[1, 0]).reversed(1)
        array([[1., 0.],
               [1., 0.]])
        """
        record = self._record(t, 0)
        if record == 0:
            raise InvalidModel("record 0 has no record before it: reverse from t of at least 1")
        if self.homogeneous and self.stationary:
            return self._stationary_reversed
        return derived.backward(self.marginal(record - 1), self.step(record - 1))

    @cached_property
    def _stationary_reversed(self) -> Floats:
        return derived.exact_backward(self.exact_initial, self._rows[0])

    def _record(self, t: SupportsIndex, ahead: int) -> int:
        """A record's number, checked to have this many records after it."""
        record = operator.index(t)
        if record < 0:
            raise InvalidModel(f"record {record} does not exist: records are counted from 0")
        if self.max_length is not None and record + ahead >= self.max_length:
            last = self.max_length - 1
            raise InvalidModel(f"record {record + ahead} is beyond the last one, {last}: give more matrices")
        return record

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal chain.

        Returns
        -------
        dict
            The given numbers, unrounded, and the labels; ``initial`` is None for the stationary distribution.

        Raises
        ------
        InvalidModel
            If a label is neither str, int, float, bool nor a tuple of those.

        Examples
        --------
        >>> MarkovChain.normalised([[3, 1], [2, 2]]).to_dict()["transition"]
        [[3, 1], [2, 2]]
        """
        return encode_chain(self._parts)

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.

        Examples
        --------
        >>> chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
        >>> MarkovChain.from_dict(chain.to_dict()) == chain
        True
        """
        return cls._build(decode_chain(d))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovChain):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        what = self.homogeneous, self._rows, self.exact_initial, self.states, self.letters, self.order
        return what if self.period is None else (*what, self.period)

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the chain is made anew.
        return type(self)._build, (self._parts,)

    def __repr__(self) -> str:
        steps = "homogeneous" if self.homogeneous else f"{len(self._rows)} steps"
        steps = steps if self.period is None else f"period {self.period}"
        order = f", order {self.order}" if self.order > 1 else ""
        return f"MarkovChain({self.k} states{order}, {steps}{', stationary' if self.stationary else ''})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.states, self.states, self.step(0))
