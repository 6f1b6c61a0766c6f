"""What a problem on one step of a sequence says: belief, budget, distortion and letters, with what follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats, Ints
from privopt.core.exact import IntegerRow, Number, integer_row
from privopt.errors import InvalidMechanism, InvalidModel, InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.mechanisms.policy.setting import Distortion, costs
from privopt.mechanisms.policy.setting import distortion as read_named
from privopt.models import JointDistribution
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.validation import Row, exact_distribution, label_tuple, number_array
from privopt.problems.validation import distortion as read_matrix
from privopt.problems.validation import level

COLUMNS = 256
"""Columns of a named distortion that are made at a time."""


@dataclass(frozen=True, init=False)
class BeliefData:
    """The fields of :class:`privopt.BeliefRelease`, which says what they mean."""

    belief: tuple[Number, ...] | RowSet
    epsilon: float
    distortion: Distortion
    letters: Labels

    def __init__(
        self,
        belief: Row | RowSet,
        epsilon: float,
        distortion: str | ArrayLike = "hamming",
        letters: Iterable[Label] | None = None,
    ) -> None:
        probabilities = belief if isinstance(belief, RowSet) else read_belief(belief)
        size = probabilities.size if isinstance(probabilities, RowSet) else len(probabilities)
        symbols = read_letters(letters, size)
        values: dict[str, object] = {
            "belief": probabilities,
            "epsilon": level(epsilon, "epsilon"),
            "distortion": read_distortion(distortion, symbols),
            "letters": symbols,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def beliefs(self) -> RowSet | None:
        """The set of beliefs for which the bound must hold, if there is one."""
        return self.belief if isinstance(self.belief, RowSet) else None

    @property
    def robust(self) -> bool:
        """Whether the bound must hold for every belief of a set."""
        return self.beliefs is not None

    @property
    def nominal(self) -> tuple[Number, ...]:
        """The belief by which utilities are read."""
        return self.belief.nominal if isinstance(self.belief, RowSet) else self.belief

    @property
    def sizes(self) -> tuple[int, ...]:
        """Letters, and releases where a matrix names them."""
        columns = () if isinstance(self.distortion, str) else (len(self.distortion[0]),)
        return len(self.letters), *columns

    @cached_property
    def p(self) -> Floats:
        """The belief divided by its exact sum, each probability rounded once; shape (n,)."""
        return JointDistribution.normalised([self.nominal]).p_x

    @cached_property
    def exact_belief(self) -> IntegerRow:
        """The belief divided by its exact sum."""
        return integer_row(self.nominal)

    @property
    def support(self) -> Ints:
        """Positions of the letters of positive probability."""
        return np.flatnonzero(self.p > 0)

    @cached_property
    def matrix(self) -> Floats:
        """The distortion D[x, y], shape (n, m)."""
        return np.array(costs(self.distortion, self.letters))

    @property
    def releases(self) -> int:
        """How many columns the distortion has."""
        return len(self.letters) if isinstance(self.distortion, str) else len(self.distortion[0])

    def costs_of(self, which: Ints) -> Floats:
        """Some columns of the distortion, shape (n, len(which)); no other is made of a named one."""
        if not isinstance(self.distortion, str):
            return self.matrix[:, which]
        if self.distortion == "hamming":
            return np.asarray(np.arange(len(self.letters))[:, None] != which[None, :], dtype=np.float64)
        places = self._places
        apart = np.abs(places[:, None] - places[None, which])
        return np.asarray(apart if self.distortion == "l1" else apart**2)

    @cached_property
    def _places(self) -> Floats:
        """The letters as numbers."""
        return np.array([float(letter) for letter in self.letters])  # type: ignore[arg-type]  # numbers, as checked

    @cached_property
    def cheapest(self) -> int:
        """The release of least expected distortion, the first of equals."""
        if not isinstance(self.distortion, str):
            return int(np.argmin(self.p @ self.matrix))
        if self.distortion == "hamming":
            return int(np.argmax(self.p))
        starts = range(0, self.releases, COLUMNS)
        parts = [self.p @ self.costs_of(np.arange(a, min(a + COLUMNS, self.releases))) for a in starts]
        return int(np.argmin(np.concatenate(parts)))

    @property
    def outputs(self) -> Labels:
        """Labels of the releases: the letters, or 0 .. m-1 for a matrix that is not square."""
        return self.letters if len(self.letters) == self.releases else tuple(range(self.releases))


def read_belief(belief: object) -> tuple[Number, ...]:
    """Probabilities as they are given, with a sum of 1 within 1e-9."""
    try:
        values = number_array(belief, "belief")
        if values.ndim != 1:
            raise InvalidProblem(f"belief must be one row of probabilities, got shape {values.shape}")
        probabilities = tuple(values.tolist())
        exact_distribution(probabilities, "belief", "belief / sum(belief)")
    except InvalidModel as cause:
        raise InvalidProblem(str(cause)) from cause
    return probabilities


def read_letters(letters: Iterable[Label] | None, count: int) -> Labels:
    """Distinct labels, a letter each; 0 .. count-1 where there are none."""
    try:
        return label_tuple(letters, count, "letters")
    except InvalidModel as cause:
        raise InvalidProblem(str(cause)) from cause


def read_distortion(distortion: object, letters: Labels) -> Distortion:
    """The name of a distortion, or a finite matrix D[x, y] with a row a letter.

    Examples
    --------
    >>> read_distortion("l1", (0, 1, 3)), read_distortion([[0, 2], [1, 0]], ("a", "b"))
    ('l1', ((0.0, 2.0), (1.0, 0.0)))
    """
    if not isinstance(distortion, str):
        return read_matrix(distortion, len(letters))
    try:
        named = read_named(distortion, letters)
        _check_range(named, letters)
    except InvalidMechanism as cause:
        raise InvalidProblem(str(cause)) from cause
    return named


def _check_range(named: Distortion, letters: Labels) -> None:
    """Refuse letters whose largest distance is beyond floats."""
    if named in ("l1", "squared"):
        places = [float(letter) for letter in letters]  # type: ignore[arg-type]  # numbers, as checked
        costs(named, (min(places), max(places)))
