"""A proof file before it is written: its lines, and what it leaves out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import gcd, lcm
from typing import Any, Protocol, TypeAlias

from privopt.core.exact import IntegerRow
from privopt.mechanisms import Channel, Merging
from privopt.models.channel_data import Observation, Release, release_rows
from privopt.proof.rationals import GUARD, Levels

Line: TypeAlias = dict[str, Any]

FORMAT = "privopt/proof"
VERSION = 1


class Enclosed(Protocol):
    """What a certificate says in numbers."""

    leakage: tuple[float, float]
    utility: tuple[float, float]
    worst: tuple[Hashable, ...]


class Solved(Protocol):
    """What a proof needs of a solution."""

    @property
    def mechanism(self) -> Any:
        """The mechanism."""

    @property
    def dual(self) -> Any:
        """What proves the bound."""

    @property
    def bound(self) -> float | None:
        """The bound on the objective."""

    @property
    def objective(self) -> float | None:
        """What the mechanism reaches."""

    @property
    def certificate(self) -> Any:
        """Its certificate, with enclosures."""


@dataclass
class Draft:
    """What is to be proved: a kind of file, the problem, the mechanism, the claim and proofs of bounds.

    Attributes
    ----------
    beside : Draft, optional
        Another file for what has a checker of its own.
    left_out : list of str
        What the file says nothing about, in sentences.
    """

    kind: str
    problem: Line
    mechanism: Line
    claim: Line
    bits: int
    proofs: list[Line] = field(default_factory=list)
    beside: Draft | None = None
    left_out: list[str] = field(default_factory=list)

    def lines(self) -> list[Line]:
        """Everything that is written."""
        header = {"format": FORMAT, "version": VERSION, "kind": self.kind, "bits": self.bits}
        return [header, self.problem, self.mechanism, self.claim, *self.proofs]

    def at(self, levels: Levels) -> None:
        """Write e^level to another precision."""
        self.problem["levels"] = levels.entries
        self.bits = max(levels.bits, GUARD)


def weights_of(observed: Observation) -> tuple[list[list[int]], list[list[int]] | None]:
    """Integer weights of (S, W), and of (X, W) with the same sum where X is not W."""
    n = len(observed.observed)
    flat = observed.leaking.exact.weights
    secret = [list(flat[i : i + n]) for i in range(0, len(flat), n)]
    if observed.useful is None:
        return secret, None
    other = observed.useful.exact.weights
    useful = [list(other[i : i + n]) for i in range(0, len(other), n)]
    first, second = sum(map(sum, secret)), sum(map(sum, useful))
    return [[v * second for v in row] for row in secret], [[v * first for v in row] for row in useful]


def rows_of(rows: list[IntegerRow]) -> Line:
    """A mechanism: its distinct rows in lowest terms, and the row of each input where some are equal."""
    plain = [tuple(w // (gcd(*row.weights) or 1) for w in row.weights) for row in rows]
    distinct = list(dict.fromkeys(plain))
    if len(distinct) == len(plain):
        return {"rows": [list(row) for row in plain]}
    place = {row: i for i, row in enumerate(distinct)}
    return {"rows": [list(row) for row in distinct], "of": [place[row] for row in plain]}


def release_line(observed: Observation, release: Release) -> Line:
    """A channel or a merging, releases without any weight left in place."""
    if not isinstance(release, (Channel, Merging)):
        raise TypeError(f"a release is a Channel or a Merging, got {type(release).__name__}")
    return rows_of(release_rows(release, range(len(observed.observed))))


def whole_rows(rows: tuple[IntegerRow, ...]) -> list[list[int]]:
    """Rows of integers over one total."""
    total = lcm(*(row.total for row in rows))
    return [[w * (total // row.total) for w in row.weights] for row in rows]
