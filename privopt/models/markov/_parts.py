"""What a Markov chain is made of, checked and turned into exact laws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from privopt.core.exact import IntegerRow
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels
from privopt.models.markov.distributions import Rows, stationary_law
from privopt.models.validation import Objects, exact_law, label_tuple, number_array

REMEDY = "MarkovChain.normalised"


@dataclass(frozen=True, eq=False)
class ChainParts:
    """The numbers and labels as given; everything else about a chain follows from them."""

    transition: Objects
    initial: Objects | None
    states: Labels
    letters: Labels
    order: int
    counts: tuple[tuple[int, ...], ...] | None
    normalised: bool

    @property
    def homogeneous(self) -> bool:
        """Whether one matrix serves every step."""
        return self.transition.ndim == 2

    def exact_rows(self) -> tuple[Rows, ...]:
        """Exact laws of the rows of each matrix."""
        remedy = None if self.normalised else REMEDY
        if self.homogeneous:
            return (self._rows_of(self.transition, "of transition", remedy),)
        return tuple(self._rows_of(m, f"of transition[{t}]", remedy) for t, m in enumerate(self.transition))

    def _rows_of(self, matrix: Objects, what: str, remedy: str | None) -> Rows:
        return tuple(
            exact_law(row, f"row {i} (state {state!r}) {what}", remedy)
            for i, (state, row) in enumerate(zip(self.states, matrix.tolist(), strict=True))
        )

    def exact_initial(self, rows: tuple[Rows, ...]) -> IntegerRow:
        """Exact law of the first record: as given, or stationary."""
        if self.initial is not None:
            return exact_law(self.initial.tolist(), "initial", None if self.normalised else REMEDY)
        if not self.homogeneous:
            raise InvalidModel("a chain with one matrix per step has no stationary law: give initial=")
        return stationary_law(rows[0], self.states)


def chain_parts(
    transition: object, initial: object, states: Iterable[Label] | None, normalised: bool
) -> ChainParts:
    """Check shapes, numbers and labels of a chain of order 1."""
    numbers = number_array(transition, "transition")
    if numbers.ndim not in (2, 3) or numbers.shape[-1] != numbers.shape[-2]:
        raise InvalidModel(
            f"transition has shape {numbers.shape}: give a square matrix (k, k), or a list of them"
        )
    k = numbers.shape[-1]
    law = None if initial is None else number_array(initial, "initial")
    if law is not None and law.shape != (k,):
        raise InvalidModel(f"initial has shape {law.shape}: give one probability for each of the {k} states")
    labels = label_tuple(states, k, "states")
    return ChainParts(numbers, law, labels, labels, 1, None, normalised)
