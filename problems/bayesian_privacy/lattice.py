"""The values of a count, a sum or a mean of a chain of numbers as multiples of one unit, so that they can be enumerated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privopt.mechanisms.noise.statistics import MOST_RECORDS, counted, spacing
from privopt.models import MarkovChain
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData

MOST_UNITS = 64
"""Units that the values of two states may differ by."""

_NEAR = Fraction(1, 2**40)


@dataclass(frozen=True)
class Lattice:
    """What each state adds to a query, in units, and how far the released value is from that before noise.

    Parameters
    ----------
    steps : tuple of int, length k
        The least is 0.
    share : Fraction
        One unit divided by the sensitivity.
    stray : Fraction
        How far the rounded value of all records lies from the lattice at most, divided by the sensitivity.
    """

    steps: tuple[int, ...]
    share: Fraction
    stray: Fraction


def lattice_of(data: BayesianPrivacyData) -> Lattice | None:
    """The lattice of a query on a chain, or None where there is none as coarse.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> lattice_of(BayesianPrivacyData(chain, "count", 1.0, length=4))
    Lattice(steps=(0, 1), share=Fraction(1, 1), stray=Fraction(0, 1))
    >>> lattice_of(BayesianPrivacyData(chain, "sum", 1.0, length=4, clip=(-1, 1))).share
    Fraction(1, 2)
    """
    chain = data.model
    if not isinstance(chain, MarkovChain) or data.ambiguity is not None:
        return None
    if data.query == "count" or isinstance(data.query, tuple):
        place = chain.states.index(counted(data.query, chain.states))
        return Lattice(tuple(int(i == place) for i in range(chain.k)), Fraction(1), Fraction(0))
    if data.query not in ("sum", "mean") or data.clip is None:
        return None
    low, high = map(Fraction, data.clip)
    records = data.length or MOST_RECORDS
    divisor = records if data.query == "mean" else 1
    numbers = [Fraction(x) for x in chain.states if isinstance(x, (int, float))]
    values = [min(max(x, low), high) / divisor for x in numbers]
    steps, unit = _steps(values)
    if not steps:
        return None
    grid = spacing(data.query, data.clip, data.length)[1]
    apart = records * max(abs(x - min(values) - unit * step) for x, step in zip(values, steps, strict=True))
    rounded = Fraction(0) if all((x / grid).denominator == 1 for x in values) else grid
    sensitivity = Fraction(data.sensitivity)
    return Lattice(steps, unit / sensitivity, (apart + rounded) / sensitivity)


def _steps(values: list[Fraction]) -> tuple[tuple[int, ...], Fraction]:
    """Multiples of one unit that are nearly the distances from the least value; none where no unit is coarse enough."""
    least, width = min(values), max(values) - min(values)
    for count in range(1, MOST_UNITS + 1) if width else ():
        steps = tuple(round((x - least) * count / width) for x in values)
        unit = width / count
        if all(abs(x - least - unit * step) <= _NEAR * unit for x, step in zip(values, steps, strict=True)):
            return steps, unit
    return (), Fraction(0)
