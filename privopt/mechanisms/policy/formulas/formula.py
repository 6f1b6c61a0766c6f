"""What every rule does, and what a declared formula says of itself besides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar, Protocol

from privopt.arrays import Floats
from privopt.mechanisms.policy.setting import Setting


class Cost(Enum):
    """What a kernel of a rule costs, and whether it has the same digits on every machine.

    Examples
    --------
    >>> Cost.PLAIN.same_everywhere, Cost.QUICK.same_everywhere, Cost.QUICK.quick, Cost.PROGRAM.quick
    (True, False, True, False)
    """

    INSTANT = "plain arithmetic that is faster than looking a kernel up"
    PLAIN = "plain arithmetic in a fixed order"
    QUICK = "arithmetic whose last digits may differ between machines"
    PROGRAM = "an optimisation for each belief, which may have other optima on another machine"

    @property
    def same_everywhere(self) -> bool:
        """Whether the kernels are the same on every machine."""
        return self in (Cost.INSTANT, Cost.PLAIN)

    @property
    def quick(self) -> bool:
        """Whether many thousands of beliefs may be asked about."""
        return self is not Cost.PROGRAM


class Rule(Protocol):
    """A way to propose kernels. It is never believed: the policy mixes, rounds and checks what it gets."""

    @property
    def name(self) -> str:
        """What policies call it."""
        ...

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Row-stochastic kernels for beliefs over inputs: (M, n) in, (M, n, m) out; deterministic."""
        ...


def program_seconds(cells: int, level: float) -> float:
    """About how long a program of so many cells takes, whatever the level.

    Examples
    --------
    >>> program_seconds(100, 1.0) < program_seconds(10_000, 1.0)
    True
    """
    return 0.005 + 4e-5 * cells + 8e-9 * cells**2


class Formula(ABC):
    """A rule with its class of cost. A rule of another kind counts as an optimisation."""

    name: str
    cost: ClassVar[Cost] = Cost.PROGRAM

    def seconds(self, cells: int, level: float) -> float:
        """About how long it looks for a kernel of so many cells at a level in nats, if it is an optimisation."""
        return program_seconds(cells, level)

    @abstractmethod
    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Row-stochastic kernels for beliefs over inputs: (M, n) in, (M, n, m) out; deterministic."""
