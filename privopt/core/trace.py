"""What a search says it has reached while it runs: objective and bound over time, told through ``progress``."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Self, TypeAlias

from privopt.files.text import number

Point: TypeAlias = tuple[float, float | None, float | None]
"""Seconds since the beginning, objective, bound; None where nothing was said of it."""

MOST = 2000
"""Points that are kept of one run."""


class Reached(str):
    """A message to ``progress`` that carries numbers: the best objective and the best bound so far, as the solver says.

    Nothing of it is believed: the answer at the end is judged, what was said on the way is shown as said.

    Parameters
    ----------
    objective, bound : float or None
        None where there is none yet.
    at : float
        When, on the clock of ``time.monotonic()``, which all processes of a machine share; default now.

    Examples
    --------
    >>> print(Reached(0.25, 0.75))
    objective 0.25, bound 0.75
    """

    objective: float | None
    bound: float | None
    at: float

    def __new__(
        cls, objective: float | None = None, bound: float | None = None, at: float | None = None
    ) -> Self:
        """Put the numbers into words, and keep them."""
        parts = (("objective", objective), ("bound", bound))
        text = ", ".join(f"{name} {number(value, 9)}" for name, value in parts if value is not None)
        made = super().__new__(cls, text)
        made.objective = None if objective is None else float(objective)
        made.bound = None if bound is None else float(bound)
        made.at = time.monotonic() if at is None else at
        return made

    def __reduce__(self) -> tuple[type[Reached], tuple[float | None, float | None, float]]:
        """Pickle with the numbers."""
        return Reached, (self.objective, self.bound, self.at)


@dataclass
class Course:
    """A listener to ``progress`` that keeps the improvements: each higher objective, each lower bound.

    Parameters
    ----------
    begun : float
        On the clock of ``time.monotonic()``; default now.

    Examples
    --------
    >>> course = Course(begun=10.0)
    >>> for message in (Reached(0.5, at=11.0), Reached(0.4, at=12.0), "half way", Reached(bound=0.9, at=13.0)):
    ...     course(0.0, message)
    >>> course.points
    [(1.0, 0.5, None), (3.0, 0.5, 0.9)]
    """

    begun: float = field(default_factory=time.monotonic)
    messages: list[Reached] = field(default_factory=list)

    def __call__(self, fraction: float, message: str) -> None:
        """Listen: what carries no numbers, or no better ones, is forgotten."""
        if not isinstance(message, Reached):
            return
        last = self.messages[-1] if self.messages else Reached(at=self.begun)
        objective = _better(last.objective, message.objective, 1)
        bound = _better(last.bound, message.bound, -1)
        if (objective, bound) != (last.objective, last.bound):
            self.messages.append(Reached(objective, bound, message.at))
            if len(self.messages) > MOST:
                self.messages[:-1] = self.messages[:-1:2]

    @property
    def points(self) -> list[Point]:
        """The improvements, in the order of time."""
        return [(max(0.0, m.at - self.begun), m.objective, m.bound) for m in self.messages]


def _better(old: float | None, new: float | None, sign: int) -> float | None:
    """The better of two numbers, either of which may be missing; what is no number never is."""
    if new is None or math.isnan(new):
        return old
    return new if old is None or sign * new > sign * old else old
