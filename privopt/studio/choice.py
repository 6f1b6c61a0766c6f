"""What was chosen on the page: which columns are secret, which are released, and how their values are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from privopt.errors import InvalidModel, InvalidProblem
from privopt.files.labels import Label
from privopt.models.columns import MISSING_RULES, as_number
from privopt.models.hierarchies import parse_hierarchy
from privopt.publication.people import MOST_VALUES, Rules
from privopt.studio.table import ColumnFacts, Table

MOST_COLUMNS = 200
MOST_SYMBOLS = 6000
"""Combinations of values beyond which no curve is computed."""
MOST_SECRETS = 200
MOST_RANGES = 10_000
MOST_SECONDS = 60.0

Levels: TypeAlias = Mapping[Label, tuple[str, ...]]


@dataclass(frozen=True)
class Choice:
    """Columns by their roles, and how they are read: what :func:`privopt.publish` takes.

    Parameters
    ----------
    secret, columns : tuple of str
        What is kept private, and what is released in a changed form.
    bins : mapping of column to rule
        How numbers are grouped into ranges; more than a dozen numbers without a rule are put into some.
    order : mapping of column to values
        From first to last; none where they stand in the order of numbers or letters.
    hierarchies : mapping of column to levels
        What each value is generalised to.
    minimum_count : int or None
        Combinations that fewer rows have are released as one; chosen if None.
    missing : "symbol", "drop" or "refuse"
        What becomes of empty cells.
    contiguous : bool
        Whether only neighbouring values and nodes of hierarchies are put together.
    seconds : float
        For each point of the curve.
    """

    secret: tuple[str, ...]
    columns: tuple[str, ...]
    bins: Mapping[str, str] = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hierarchies: Mapping[str, Levels] = field(default_factory=dict)
    minimum_count: int | None = None
    missing: str = "symbol"
    contiguous: bool = False
    seconds: float = 3.0

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """What the page sent.

        Raises
        ------
        InvalidProblem, InvalidModel, FileRefused
            If a field is missing or is not of its kind, or a hierarchy is none.
        """
        secret, columns = (_names(fields.get(name), name) for name in ("secret", "columns"))
        count, missing = fields.get("minimum_count"), fields.get("missing", "symbol")
        if count is not None and (type(count) is not int or not 0 <= count <= 10**6):
            raise InvalidProblem("the smallest number of rows is a whole number from 0 to a million")
        if missing not in MISSING_RULES:
            raise InvalidProblem("empty cells are a value of their own, left out with their rows, or refused")
        bins = {name: rule.strip() for name, rule in _texts(fields, "bins").items() if rule.strip()}
        trees = {
            name: dict[Label, tuple[str, ...]](parse_hierarchy(text, name).items())
            for name, text in _texts(fields, "hierarchies").items()
        }
        order, near = _orders(fields), fields.get("contiguous")
        if near is not None and type(near) is not bool:
            raise InvalidProblem("whether only neighbours are put together is true or false")
        seconds = seconds_of(fields.get("seconds", 3.0))
        near = bool(order or trees) if near is None else near
        return cls(secret, columns, bins, order, trees, count, missing, near, seconds)

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(dict.fromkeys((*self.secret, *self.columns)))

    @property
    def rules(self) -> Rules:
        """How they are read, as a publication takes it."""
        return Rules(self.bins, self.order, self.hierarchies, self.minimum_count, self.missing)

    def check(self, table: Table) -> None:
        """Refuse columns that cannot be used as they are, by what is known of each.

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
        for named, what in (
            (self.bins, "ranges"),
            (self.order, "an order"),
            (self.hierarchies, "a hierarchy"),
        ):
            for name in named:
                if name not in self.used:
                    raise InvalidProblem(
                        f"there are {what} for {name!r}, which is neither secret nor released"
                    )
        for name in self.used:
            self._check_column(table.column(name))

    def _check_column(self, facts: ColumnFacts) -> None:
        name = facts.name
        if facts.distinct == 0:
            raise InvalidModel(f"{name!r} is empty in every row; leave it out")
        if name in self.bins:
            if not facts.numeric:
                raise InvalidModel(
                    f"{name!r} holds cells that are no numbers, so it has no ranges; use each value"
                )
            if _many_ranges(self.bins[name], facts.high - facts.low):
                raise InvalidModel(f"the ranges of {name!r} are more than {MOST_RANGES}; make them wider")
            return
        plain = name not in self.order and name not in self.hierarchies
        if name not in self.hierarchies and facts.too_many and not (facts.many and plain):
            raise InvalidModel(
                f"{name!r} has {facts.distinct} different values in {facts.rows} rows: "
                + (
                    "group them into ranges"
                    if facts.numeric
                    else "leave it out, give a hierarchy, or merge values first"
                )
            )

    def check_combinations(self, released: list[int], secrets: int, rows: int) -> None:
        """Refuse more combinations than can be counted in a table, before any is made.

        Parameters
        ----------
        released : list of int
            Rows of each combination of released values.
        secrets : int
            Values of the secret.
        rows : int

        Raises
        ------
        InvalidModel
            With what to choose instead.
        """
        if secrets > MOST_SECRETS:
            raise InvalidModel(
                f"the secret has {secrets} different values in {rows} rows; the studio takes at most {MOST_SECRETS}: "
                "group its numbers into ranges, or choose another column"
            )
        least = self.minimum_count
        count = len(released) if least is None else sum(many >= least for many in released)
        most = (
            20 * MOST_SYMBOLS if least is None else MOST_SYMBOLS
        )  # where it is chosen, rare ones are put together
        if count > most:
            raise InvalidModel(
                f"the chosen columns have {count} different combinations in {rows} rows; the studio takes at most "
                f"{most}: choose fewer columns, wider ranges, or merge rare combinations"
            )


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


def _names(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MOST_COLUMNS or not all(isinstance(v, str) for v in value):
        raise InvalidProblem(f"{what} is not a list of at most {MOST_COLUMNS} column names")
    return tuple(dict.fromkeys(value))


def _texts(fields: Mapping[str, Any], what: str) -> dict[str, str]:
    """A text for each of some columns."""
    texts = fields.get(what, {})
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise InvalidProblem(f"{what} are not a text for each column")
    return texts


def _orders(fields: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    orders = fields.get("order", {})
    if not isinstance(orders, dict) or not all(isinstance(values, list) for values in orders.values()):
        raise InvalidProblem("order is not a list of values for each column")
    for values in orders.values():
        if len(values) > MOST_VALUES or not all(isinstance(value, str) for value in values):
            raise InvalidProblem(f"an order is a list of at most {MOST_VALUES} values")
    return {name: tuple(values) for name, values in orders.items()}


def seconds_of(value: object) -> float:
    """How long a point may take.

    Raises
    ------
    InvalidProblem
        If it is no number, or too small or large.

    Examples
    --------
    >>> seconds_of(3)
    3.0
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.1 <= value <= MOST_SECONDS:
        raise InvalidProblem(f"the seconds for each point are a number from 0.1 to {MOST_SECONDS:g}")
    return float(value)


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
