"""What was chosen on the page: which columns are secret, which are released, and how numbers are grouped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import privopt as po
from privopt.errors import InvalidModel, InvalidProblem
from privopt.models.columns import as_number
from privopt.models.intervals import edges_of
from privopt.studio.table import Table

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 200
MOST_SYMBOLS = 6000
"""Combinations of values beyond which no curve is computed."""
MOST_SECRETS = 200
MOST_RANGES = 10_000
MOST_SECONDS = 60.0


@dataclass(frozen=True)
class Choice:
    """Columns by their roles.

    Parameters
    ----------
    secret, columns : tuple of str
        What is kept private, and what is released in a changed form.
    bins : mapping of column to rule
        How numbers are grouped into ranges, as in ``JointDistribution.from_frame``.
    minimum_count : int
        Combinations that fewer rows have are released as one.
    seconds : float
        For each point of the curve.
    """

    secret: tuple[str, ...]
    columns: tuple[str, ...]
    bins: Mapping[str, str]
    minimum_count: int = 0
    seconds: float = 3.0

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """What the page sent.

        Raises
        ------
        InvalidProblem
            If a field is missing or is not of its kind.
        """
        secret, columns = (_names(fields.get(name), name) for name in ("secret", "columns"))
        bins = fields.get("bins", {})
        if not isinstance(bins, dict) or not all(isinstance(rule, str) for rule in bins.values()):
            raise InvalidProblem("the ranges are not a rule for each column")
        count, seconds = fields.get("minimum_count", 0), fields.get("seconds", 3.0)
        if type(count) is not int or not 0 <= count <= 10**6:
            raise InvalidProblem("the smallest number of rows is a whole number from 0 to a million")
        if type(seconds) not in (int, float) or not 0.1 <= seconds <= MOST_SECONDS:
            raise InvalidProblem(f"the seconds for each point are a number from 0.1 to {MOST_SECONDS:g}")
        rules = {name: rule.strip() for name, rule in bins.items() if rule.strip()}
        return cls(secret, columns, rules, count, float(seconds))

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(dict.fromkeys((*self.secret, *self.columns)))

    def check(self, table: Table) -> None:
        """Refuse columns that cannot be used as they are.

        Raises
        ------
        InvalidProblem, InvalidModel
            With what to do instead.
        """
        if not self.secret:
            raise InvalidProblem("choose a column to be the secret")
        if not self.columns:
            raise InvalidProblem("choose at least one column to release")
        both = [name for name in self.columns if name in self.secret]
        if both:
            raise InvalidProblem(f"{both[0]!r} cannot be the secret and be released; choose one of the two")
        for name, rule in self.bins.items():
            if name not in self.used:
                raise InvalidProblem(f"there are ranges for {name!r}, which is neither secret nor released")
            facts = table.column(name)
            if _many_ranges(rule, facts.high - facts.low):
                raise InvalidModel(f"the ranges of {name!r} are more than {MOST_RANGES}; make them wider")
        for name in self.used:
            facts = table.column(name)
            if name in self.bins:
                if not facts.numeric:
                    raise InvalidModel(
                        f"{name!r} holds cells that are no numbers, so it has no ranges; use each value"
                    )
            elif facts.too_many:
                raise InvalidModel(
                    f"{name!r} has {facts.distinct} different values in {facts.rows} rows: "
                    + ("group them into ranges" if facts.numeric else "leave it out, or merge values first")
                )
            if facts.distinct == 0:
                raise InvalidModel(f"{name!r} is empty in every row; leave it out")

    def joint(self, table: Table) -> po.JointDistribution:
        """How the secret and the released columns go together in the table; rows without one of them are left out.

        Raises
        ------
        InvalidProblem, InvalidModel
            If the columns do not fit, or there is nothing to hide, to release or to count.
        """
        self.check(table)
        frame = table.frame(self.used, list(self.bins))
        if not len(frame):
            raise InvalidModel("every row lacks a value in one of the chosen columns; choose fewer columns")
        self._check_ranges(frame)
        for names, least, most, refusal in (
            (self.columns, self.minimum_count, MOST_SYMBOLS, _too_many),
            (self.secret, 0, MOST_SECRETS, _too_many_secrets),
        ):
            count = self._combinations(frame[list(names)], least)
            if count > most:
                raise InvalidModel(refusal(count, len(frame)))
        joint = po.JointDistribution.from_frame(
            frame, list(self.secret), list(self.columns), bins=self.bins, minimum_count=self.minimum_count
        )
        for size, what in (
            (joint.sensitive, "the secret has one value only: there is nothing to hide"),
            (joint.useful, "what is released has one value only: there is nothing to release"),
        ):
            if len(size) < 2:
                raise InvalidModel(f"{what}; choose another column, or finer ranges")
        return joint

    def _check_ranges(self, frame: pd.DataFrame) -> None:
        """Refuse ranges that leave numbers out."""
        for name, rule in self.bins.items():
            numbers = np.asarray(frame[name], dtype=np.float64)
            edges = edges_of(numbers, name, rule)
            if numbers.min() < edges[0] or numbers.max() > edges[-1]:
                raise InvalidModel(
                    f"the ranges of {name!r} go from {edges[0]:g} to {edges[-1]:g}, its numbers from {numbers.min():g} to "
                    f"{numbers.max():g}: widen the ranges"
                )

    def _combinations(self, frame: pd.DataFrame, least: int) -> int:
        """How many different combinations of values or ranges at least some rows have: counted before any table of them is made."""
        coded = frame.copy()
        for name in set(self.bins) & set(coded.columns):
            numbers = np.asarray(coded[name], dtype=np.float64)
            coded[name] = np.searchsorted(edges_of(numbers, name, self.bins[name])[1:-1], numbers, "right")
        return int((coded.value_counts(sort=False) >= least).sum())


def _many_ranges(rule: str, width: float) -> bool:
    """Whether a rule makes too many ranges of numbers that are so far apart.

    Examples
    --------
    >>> _many_ranges("width:0.001", 100.0), _many_ranges("equal:8", 100.0), _many_ranges("17,25,35", 100.0)
    (True, False, False)
    """
    kind, _, text = rule.rpartition(":")
    number = as_number(text)
    if number is None or kind == "minimum":
        return False
    return width > MOST_RANGES * number if kind == "width" else number > MOST_RANGES


def _too_many(count: int, rows: int) -> str:
    return (
        f"the chosen columns have {count} different combinations in {rows} rows; the studio takes at most "
        f"{MOST_SYMBOLS}: choose fewer columns, wider ranges, or merge rare combinations"
    )


def _too_many_secrets(count: int, rows: int) -> str:
    return (
        f"the secret has {count} different values in {rows} rows; the studio takes at most {MOST_SECRETS}: "
        "group its numbers into ranges, or choose another column"
    )


def _names(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MOST_COLUMNS or not all(isinstance(v, str) for v in value):
        raise InvalidProblem(f"{what} is not a list of at most {MOST_COLUMNS} column names")
    return tuple(dict.fromkeys(value))


def budget_of(value: object) -> float:
    """A privacy budget that was typed.

    Raises
    ------
    InvalidProblem
        If it is not a number from 0 to 20.

    Examples
    --------
    >>> budget_of(0.25)
    0.25
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidProblem("ε is a number such as 0.25")
    if not math.isfinite(value) or not 0 <= value <= 20:
        raise InvalidProblem("ε is a number from 0 to 20; at 0 nothing is learnt of the secret")
    return float(value)
