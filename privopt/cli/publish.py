"""The command that goes all the way: from a table of people to a release that one can use, defend and check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privopt.cli import show
from privopt.cli._fit_joint import JointOptions
from privopt.cli.fit import Data, HierarchyFiles
from privopt.errors import FileRefused
from privopt.files.csv import read_table
from privopt.models.columns import as_number
from privopt.publication.earlier import earlier
from privopt.publication.least import Wish, check
from privopt.publication.people import FEW, MOST_VALUES, People, Rules, count_people, roles
from privopt.publication.publication import BUNDLE, TABLE, check_new
from privopt.publication.publish import release

if TYPE_CHECKING:
    import pandas as pd

Secret = Annotated[str, typer.Option(metavar="NAME[,NAME...]", help="What is to be kept secret.")]
Released = Annotated[
    str, typer.Option("--columns", metavar="NAME[,NAME...]", help="What is to be released, protected.")
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        help="The most that a release may leak, in nats: 0.3 is 1.35 times as likely; or give --min-utility."
    ),
]
Utility = Annotated[
    float | None,
    typer.Option(
        metavar="PART",
        help="The part of what the columns say that must be kept, such as 0.8; the least epsilon is looked for.",
    ),
]
BinRules = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        metavar="NAME=RULE",
        help="Intervals of a column of numbers: quantiles:8, equal:8, width:10, minimum:100 or edges a,b,c. "
        "Left out, more than a dozen numbers are put into some.",
    ),
]
Order = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[=A,B,...]",
        help="The values of a column are in this order, or in that of letters: messages then hold neighbours only.",
    ),
]
MinimumCount = Annotated[
    int | None,
    typer.Option(
        min=0, help="Combinations of the columns that fewer rows have are one; left out, it is chosen."
    ),
]
Seconds = Annotated[float, typer.Option(help="Seconds for all solving, more than 0.")]
Output = Annotated[Path, typer.Option(metavar="FOLDER", help="A new folder, written whole or not at all.")]


def publish(
    data: Data,
    secret: Secret,
    columns: Released,
    output: Output,
    epsilon: Epsilon = None,
    min_utility: Utility = None,
    bins: BinRules = None,
    order: Order = None,
    hierarchy: HierarchyFiles = None,
    minimum_count: MinimumCount = None,
    time_limit: Seconds = 30.0,
) -> None:
    """Release columns of a table so that no release says much about a secret: count, choose, solve, prove, draw, explain.

    The folder holds the released table, its codebook, an explanation in plain sentences, a picture of what other budgets allow,
    the receipt, and a bundle for 'privopt verify'. A second run into it draws nothing: it says what was released of the same rows.
    """
    wish = Wish(epsilon, min_utility, time_limit, bool(order or hierarchy))
    check(wish)
    hidden, shown = roles(_names(secret), _names(columns))
    again = earlier(output)
    if again is None:
        check_new(output)
    options = JointOptions(bins or (), order or (), hierarchies=hierarchy or ())
    people, rules = _read(data, hidden, shown, options, minimum_count)
    joint, notes = count_people(people, hidden, shown, rules)
    if again is not None:
        show.sentences([again.answer(people.cells, joint, wish)])
        return
    with show.progress("publishing") as told:
        publication = release(people, joint, notes, wish, told)
    publication.save(output)
    show.facts(publication.facts())
    show.sentences(publication.explain().sentences)
    show.facts(
        [
            ("written", f"{output} (README.txt says what is what)"),
            ("check it", f"privopt verify {output / BUNDLE} {output / TABLE}"),
        ]
    )


def _names(text: str) -> list[str]:
    """Names between commas."""
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise FileRefused(f"{text!r} holds an empty name; give NAME or NAME,NAME")
    return names


def _read(
    data: Path, hidden: Sequence[str], shown: Sequence[str], options: JointOptions, minimum_count: int | None
) -> tuple[People, Rules]:
    """The rows of a CSV file, with columns of many numbers as numbers and all others as they are written."""
    import pandas as pd

    cells = read_table(data, [*hidden, *shown]).columns
    rules, orders, trees = options.rules(), options.orders(), options.files()
    columns: dict[str, pd.Series[float] | pd.Series[str]] = {}
    for name, texts in cells.items():
        distinct = sorted({text for text in texts if text})
        many = len(distinct) > max(MOST_VALUES, len(texts) // 100)
        numbers = _numbers(data, name, texts, name in rules, many)
        plain = name not in orders and name not in trees
        if numbers is not None and (name in rules or (plain and len(distinct) > FEW)):
            columns[name] = pd.Series(numbers, dtype="float64")
            continue
        columns[name] = pd.Series([text or None for text in texts], dtype=object)
        if numbers is not None and not orders.get(name) and name not in trees:
            orders[name] = sorted(distinct, key=float)
        elif name in orders and not orders[name]:
            orders[name] = distinct
    return People(pd.DataFrame(columns), cells), Rules(rules, orders, trees, minimum_count)


def _numbers(
    data: Path, name: str, texts: Sequence[str], wanted: bool, many: bool
) -> list[float | None] | None:
    """The numbers of a column, None where it holds others; where they must be numbers, a cell that is none is refused and not quoted."""
    numbers = [as_number(text) if text else None for text in texts]
    odd = [row for row, text in enumerate(texts, 1) if text and numbers[row - 1] is None]
    if not odd:
        return numbers
    if wanted:
        raise FileRefused(
            f"{data}: row {odd[0]}: {name!r} is not a number; empty the cell if it is missing, or leave the column out of --bins"
        )
    if many and 2 * len(odd) < len(texts):
        raise FileRefused(
            f"{data}: row {odd[0]}: {name!r} is not a number, as are {len(odd)} cells in all: empty those that stand for a missing value"
        )
    return None
