"""Where a policy stands in one sequence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PolicyState:
    """What the releases so far tell everybody; nothing else.

    Parameters
    ----------
    step : int
        Number of releases so far.
    belief : tuple of float
        Probabilities of the states of the chain at the next record, given the releases.
    ended : bool
        Whether a word of fewer letters than a batch has ended the sequence.
    """

    step: int
    belief: tuple[float, ...]
    ended: bool = False
