"""Units of what is shown: nats or bits for information, per cent for shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privopt.benchmarks.report.judged import Judged
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.core.words import SHARE, Quantity
from privopt.errors import InvalidProblem

NATS, BITS = "nats", "bits"
UNITS = (NATS, BITS)
"""In which information and log-ratios can be shown."""


@dataclass(frozen=True)
class Scale:
    """How a number becomes what is shown: times a factor, in a unit (empty for a plain number)."""

    factor: float
    unit: str

    def title(self, name: str) -> str:
        """A name with the unit behind it.

        Examples
        --------
        >>> Scale(1.0, "nats").title("leakage"), Scale(1.0, "").title("error")
        ('leakage (nats)', 'error')
        """
        return f"{name} ({self.unit})" if self.unit else name


def scale_of(unit: str, units: str) -> Scale:
    """The scale of a quantity, by its own unit and by what information is to be shown in.

    Examples
    --------
    >>> scale_of("share", "nats"), scale_of("nats", "bits").unit, scale_of("metres", "bits")
    (Scale(factor=100.0, unit='%'), 'bits', Scale(factor=1.0, unit='metres'))
    """
    if unit == SHARE:
        return Scale(100.0, "%")
    if unit == NATS and units == BITS:
        return Scale(1 / math.log(2), BITS)
    return Scale(1.0, unit)


def checked_units(units: str) -> str:
    """The unit, if it is one.

    Raises
    ------
    InvalidProblem
        If it is neither nats nor bits.
    """
    if units not in UNITS:
        raise InvalidProblem(f"information cannot be shown in {units!r}; give --units {' or '.join(UNITS)}")
    return units


@dataclass(frozen=True)
class Measure:
    """What the objective of an instance measures, as a person says it, in the unit that is shown."""

    quantity: Quantity
    scale: Scale

    @property
    def title(self) -> str:
        """Name and unit."""
        return self.scale.title(self.quantity.name)

    def of(self, objective: float) -> float:
        """The number to show for an objective or for a bound on it."""
        return self.quantity.of(objective) * self.scale.factor + 0.0

    def difference(self, gap: float) -> float:
        """The same for a difference of objectives."""
        return gap * self.scale.factor


def measure_of(words: Vocabulary, kind: str, instance: str, rows: Sequence[Judged], units: str) -> Measure:
    """The measure of an instance; where nothing says what an objective that is never positive means, its opposite is a loss."""
    quantity = words.instance(kind, instance).quantity
    if quantity == Quantity():
        known = [j.row.objective for j in rows if j.row.objective is not None]
        if known and max(known) <= 0 and min(known) < 0:
            quantity = Quantity("loss", sign=-1)
    return Measure(quantity, scale_of(quantity.unit, units))
