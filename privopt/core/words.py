"""What people are told of a problem: what it is called and asks, and what its objective measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """The words that stand for a problem in reports; an empty title leaves it at the name of the class.

    Parameters
    ----------
    title : str
        What is done, in a few words: "Hide records of a stream".
    short : str
        The same for a tab or a column: "Hide records".
    asks : str
        One sentence on what is looked for.
    """

    title: str = ""
    short: str = ""
    asks: str = ""


NATS = "nats"
"""The unit of a leakage that is a logarithm of a ratio."""


def measured(value: str, unit: str) -> str:
    """A number with its unit, alone where it is a plain one.

    Examples
    --------
    >>> measured("0.5", NATS), measured("0.5", "")
    ('0.5 nats', '0.5')
    """
    return f"{value} {unit}".rstrip()


def per(unit: str) -> str:
    """Nats for each unit of distance.

    Examples
    --------
    >>> per("km"), per("")
    ('nats per km', 'nats per unit of distance')
    """
    return f"{NATS} per {unit or 'unit of distance'}"


SHARE = "share"
"""The unit of a quantity between 0 and 1, shown in per cent, whose differences are percentage points."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What an objective measures, as a person says it.

    Parameters
    ----------
    name : str
        Such as "error", whose smaller values are better, or "records released".
    unit : str
        Such as "nats"; "share" for parts of one; empty for a plain number.
    sign : int
        1 where the quantity is the objective, -1 where it is minus that and less is better.
    budget : str
        What the budget is called on an axis, such as "ε".

    Examples
    --------
    >>> Quantity("error", sign=-1).of(-4.5), Quantity("error", sign=-1).of(0.0)
    (4.5, 0.0)
    """

    name: str = "objective"
    unit: str = ""
    sign: int = 1
    budget: str = "budget"

    def of(self, objective: float) -> float:
        """The quantity that an objective stands for."""
        return self.sign * objective + 0.0

    @property
    def better(self) -> str:
        """Which way is better, as in "lower is better"."""
        return "higher" if self.sign > 0 else "lower"
