"""Counting a joint distribution from columns of text: bins, orders, missing values, small cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import privopt as po
from privopt.errors import FileRefused, InvalidModel
from privopt.files.csv import read_table
from privopt.models.columns import Column, TableColumns, as_number
from privopt.publication.alike import alike_notes
from privopt.publication.identifiers import many_different

MANY = 50
"""Values of a column from which on it is likely that bins were forgotten."""

SMALL = 5
"""Rows below which a cell is called small."""

ENOUGH = 100
"""Rows of a cell from which on its probability is known to 20 %, which is 0.2 nats: 1.96 / sqrt(100), at 95 %."""


@dataclass(frozen=True)
class JointOptions:
    """How the columns are read, as the command line says it."""

    bins: Sequence[str] = ()
    ordered: Sequence[str] = ()
    missing: str = "refuse"
    minimum_count: int = 0
    hierarchies: Sequence[str] = ()

    def files(self) -> dict[str, str]:
        """The file of the hierarchy of each column."""
        files: dict[str, str] = {}
        for text in self.hierarchies:
            name, equals, path = text.partition("=")
            if not equals or not name or not path:
                raise FileRefused(
                    f"--hierarchy {text!r}: give NAME=FILE.csv, such as education=education.csv"
                )
            files[name] = path
        return files

    def rules(self) -> dict[str, str]:
        """The bins of each column."""
        rules: dict[str, str] = {}
        for text in self.bins:
            name, equals, rule = text.rpartition("=")
            if not equals or not name or not rule:
                raise FileRefused(
                    f"--bins {text!r}: give NAME=RULE, such as age=quantiles:8, age=width:10, age=minimum:100 or age=17,25,35,90"
                )
            rules[name] = rule
        return rules

    def orders(self) -> dict[str, list[str]]:
        """The values of each ordered column; none where they are numbers or letters in their own order."""
        orders: dict[str, list[str]] = {}
        for text in self.ordered:
            name, equals, values = text.partition("=")
            orders[name] = values.split(",") if equals else []
        return orders


def count_joint(
    data: Path, sensitive: Sequence[str], useful: Sequence[str], options: JointOptions
) -> po.JointDistribution:
    """The joint distribution of columns of a CSV file.

    Raises
    ------
    FileRefused, InvalidModel
        If the file or an option does not fit.
    """
    import pandas as pd

    names = list(dict.fromkeys([*sensitive, *useful]))
    table = read_table(data, names).columns
    rules, orders = options.rules(), options.orders()
    for name in orders:
        if name in table and not orders[name]:
            orders[name] = _own_order(table[name])
    columns: dict[str, list[object]] = {
        name: _numbers(data, name, cells) if name in rules else [cell or None for cell in cells]
        for name, cells in table.items()
    }
    frame = pd.DataFrame(
        {
            name: pd.Series(cells, dtype="float64" if name in rules else object)
            for name, cells in columns.items()
        }
    )
    return po.JointDistribution.from_frame(
        frame,
        list(sensitive),
        list(useful),
        bins=rules,
        order=orders,
        missing=options.missing,
        minimum_count=options.minimum_count,
        hierarchies=options.files(),
    )


def _numbers(data: Path, name: str, cells: Sequence[str]) -> list[object]:
    """The numbers of a column; a cell that holds none is refused by its row, and not quoted."""
    numbers: list[object] = []
    for row, cell in enumerate(cells, 1):
        number = as_number(cell) if cell else None
        if cell and number is None:
            raise FileRefused(f"{data}: row {row}: {name!r} is not a number; leave it out of --bins")
        numbers.append(number)
    return numbers


def _own_order(cells: Sequence[str]) -> list[str]:
    """The values of a column in the order of numbers where all are, else of letters."""
    values = sorted({cell for cell in cells if cell})
    numbers = {value: as_number(value) for value in values}
    known = {value: number for value, number in numbers.items() if number is not None}
    return sorted(values, key=known.__getitem__) if len(known) == len(values) else values


def column_lines(columns: TableColumns) -> list[str]:
    """What was read of each column, a line each."""
    roles = [("secret", column) for column in columns.sensitive]
    roles += [("released", column) for column in columns.useful]
    return [f"{column.name}: {role}, {_kind(column)}" for role, column in roles]


def _kind(column: Column) -> str:
    count, first, last = len(column.labels), column.labels[0], column.labels[-1]
    rule = "" if column.missing == "refuse" else f"; missing values: {column.missing}"
    if column.tree is not None:
        rule = f", {len(column.levels[0])} levels of a hierarchy{rule}"
    if column.kind == "binned":
        return f"{count} bins from {first} to {last}{rule}"
    return f"{count} {'ordered ' if column.is_ordered else ''}values{rule}"


def warnings(joint: po.JointDistribution, options: JointOptions, confident: bool = False) -> list[str]:
    """What should be done better: columns of very many values, values spelled in several ways, cells of very few rows, and a table that is taken for the population.

    Parameters
    ----------
    joint : JointDistribution
    options : JointOptions
    confident : bool
        The model is a set of distributions that the rows allow, so that few rows make it wide and no claim wrong.
    """
    columns = joint.columns
    if columns is None:
        raise InvalidModel("the joint was not counted from a table")
    said = [
        _many_values(column, columns.rows)
        for column in dict.fromkeys((*columns.sensitive, *columns.useful))
        if column.kind != "binned" and len(column.labels) > MANY
    ]
    said += alike_notes((*columns.sensitive, *columns.useful))
    least = max(SMALL, options.minimum_count)
    small, filled = joint.small_cells(least), joint.small_cells(columns.rows + 1)
    if small:
        few = "they make the set wide" if confident else "what is proved of them rests on these few"
        said.append(
            f"{small} of {filled} cells that occur hold fewer than {least} rows: {few}; "
            f"coarser --bins or a larger --minimum-count makes fewer"
        )
    thin = len(joint.sensitive) * len(joint.useful) - filled + joint.small_cells(ENOUGH)
    if thin and not confident:
        said.append(_thin(joint, columns.rows, thin))
    return said


def _many_values(column: Column, rows: int) -> str:
    """What to do with a column of so many values that few rows share one."""
    count, name = len(column.labels), column.name
    if many_different(count, rows):
        return (
            f"column {name!r} has {count} different values in {rows} rows, like an identifier (a number of a customer, an account): leave it "
            f"out; if it is a measurement, give --bins {name}=quantiles:8"
        )
    return (
        f"column {name!r} has {count} values in {rows} rows: give --bins {name}=quantiles:8 if they are numbers, or merge some, or leave "
        "it out"
    )


def _thin(joint: po.JointDistribution, rows: int, thin: int) -> str:
    """That a certificate for this very table may be far from what holds in the population."""
    values, symbols = len(joint.sensitive), len(joint.useful)
    return (
        f"{symbols} symbols for {values} values of the secret are many for {rows} rows: {thin} of {values * symbols} cells hold fewer "
        f"than {ENOUGH}, where a probability is known to 20 % or worse, so that a release may leak 0.2 nats and more beyond its "
        "certificate in the population that these rows were drawn from; --confidence 0.95 makes the set of distributions that the "
        "rows allow, for which a release can be certified ('privopt audit' measures one by other rows)"
    )


def confident(joint: po.JointDistribution, confidence: float, method: str) -> po.JointAmbiguity:
    """The set of distributions that the counted rows allow.

    Raises
    ------
    FileRefused
        If the confidence or the method is none.
    """
    try:
        return po.JointAmbiguity.from_joint(joint, confidence, method)
    except InvalidModel as cause:
        raise FileRefused(f"--confidence, --method: {cause}") from cause


def chosen_by_rows(options: JointOptions) -> str:
    """That what the rows themselves decided makes a confidence a little too high; nothing where they decided nothing."""
    ruled = [
        name for name, rule in options.rules().items() if rule.startswith(("quantiles", "equal", "minimum"))
    ]
    made = [f"the intervals of {name!r}" for name in ruled] + ["rare combinations"] * bool(
        options.minimum_count
    )
    if not made:
        return ""
    return f"these rows chose {', '.join(made)}: the confidence is a little too high; edges and values fixed beforehand keep it"
