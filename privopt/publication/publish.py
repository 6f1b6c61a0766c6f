"""One call from a frame to a release that one can use, defend and check."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from privopt.errors import InvalidModel
from privopt.files.csv import write_table
from privopt.files.labels import Label
from privopt.mechanisms import Channel, Merging
from privopt.mechanisms.codebook import Codebook
from privopt.mechanisms.tables import RELEASED, table_of
from privopt.models import JointDistribution
from privopt.models.hierarchies import Hierarchies
from privopt.models.intervals import Bins
from privopt.publication.least import GRID, Choice, Progress, Wish, at_budget, check, for_utility
from privopt.publication.people import (
    People,
    Rules,
    chosen_by_rows,
    complete,
    count_people,
    eager,
    people_of,
    roles,
)
from privopt.publication.plan import Plan, joint_columns, plan
from privopt.publication.publication import TABLE, Drawn, Publication
from privopt.publication.receipt import Receipt, make_receipt
from privopt.publication.spelled import spell
from privopt.publication.words import plain, share

DRAWN = "drawn from the operating system generator"


@overload
def publish(
    frame: object,
    *,
    secret: str | Sequence[str],
    columns: str | Sequence[str],
    epsilon: float | None = None,
    min_utility: float | None = None,
    bins: Mapping[str, Bins] | None = None,
    order: Mapping[str, Sequence[Label]] | None = None,
    hierarchies: Hierarchies | None = None,
    minimum_count: int | None = None,
    missing: str = "symbol",
    contiguous: bool | None = None,
    confidence: float | None = None,
    time_limit: float = 30.0,
    allow_constant: bool = False,
    progress: Progress | None = None,
    dry_run: Literal[False] = False,
) -> Publication: ...


@overload
def publish(
    frame: object,
    *,
    secret: str | Sequence[str],
    columns: str | Sequence[str],
    epsilon: float | None = None,
    min_utility: float | None = None,
    bins: Mapping[str, Bins] | None = None,
    order: Mapping[str, Sequence[Label]] | None = None,
    hierarchies: Hierarchies | None = None,
    minimum_count: int | None = None,
    missing: str = "symbol",
    contiguous: bool | None = None,
    confidence: float | None = None,
    time_limit: float = 30.0,
    allow_constant: bool = False,
    progress: Progress | None = None,
    dry_run: Literal[True],
) -> Plan: ...


def publish(
    frame: object,
    *,
    secret: str | Sequence[str],
    columns: str | Sequence[str],
    epsilon: float | None = None,
    min_utility: float | None = None,
    bins: Mapping[str, Bins] | None = None,
    order: Mapping[str, Sequence[Label]] | None = None,
    hierarchies: Hierarchies | None = None,
    minimum_count: int | None = None,
    missing: str = "symbol",
    contiguous: bool | None = None,
    confidence: float | None = None,
    time_limit: float = 30.0,
    allow_constant: bool = False,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> Publication | Plan:
    """Release columns of a frame so that no release says much about a secret: count, choose, solve, prove, draw, explain.

    The columns are released as messages, each of which stands for a few combinations of their values; the release says as much
    as it can about the columns (mutual information), and no message makes a value of the secret more than e^epsilon times as likely,
    or as unlikely, as before. It is drawn here, once: :meth:`Publication.save` writes it with a record by which the
    same rows are never drawn again.

    Parameters
    ----------
    frame : pandas or Polars frame
        A row for each person.
    secret : str or sequence of str
        Columns to be kept secret; they are not released.
    columns : str or sequence of str
        Columns to be released.
    epsilon : float, optional
        The most that a release may leak, in nats.
    min_utility : float, optional
        Instead of epsilon: the part of what the columns say that must be kept, such as 0.8; the least epsilon for it is looked for.
        It is a part of what they say as they are read: in intervals, and with rare combinations as one.
    bins : mapping of names to rules, optional
        Intervals of numbers, as for :meth:`JointDistribution.from_frame`; of more than a dozen numbers they are chosen if not given.
    order : mapping of names to values, optional
        From first to last. Messages then hold neighbouring values of ordered columns only, numbers among them.
    hierarchies : mapping of names to files or mappings, optional
        What the values of a column are generalised to, level by level, as for :meth:`JointDistribution.from_frame`. Messages
        then hold the values of a node of the tree, and neighbouring values of ordered columns, only.
    minimum_count : int, optional
        Combinations of the columns that fewer rows have are one; chosen if not given, 0 for none.
    missing : "symbol", "drop" or "refuse"
        What becomes of a missing value: a value of its own, the row is left out, or an error.
    contiguous : bool, optional
        Whether messages hold neighbouring values of ordered columns and intervals, and values of a node of a tree, only. By default
        where an order or a hierarchy was given.
    confidence : float, optional
        Prove the release for every distribution that the rows allow, a set that holds the population's with this confidence, such
        as 0.95; by default for people who are spread exactly as in this frame.
    time_limit : float
        Seconds for all solving.
    allow_constant : bool
        Release also where the best release does not depend on the data and says nothing; else that is refused.
    progress : callable, optional
        Told a fraction and a message.
    dry_run : bool
        Draw nothing and return what would be released: print it, or look at its ``explain()``, ``codebook``, ``frontier`` and
        ``solution``. A later call chooses again.

    Raises
    ------
    InvalidModel, InvalidProblem
        If columns, rules or wishes do not fit.
    NotSolved
        If nothing was proved within the time, the wished utility was not reached, or the best release says nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 50, "age": ["young", "old", "old", "old"] * 50})
    >>> publish(people, secret="vote", columns="age", min_utility=0.5).told >= 0.5
    True
    """
    hidden, shown = roles(secret, columns)
    rules = Rules(bins or {}, order or {}, hierarchies or {}, minimum_count, missing)
    near = bool(order or hierarchies) if contiguous is None else contiguous
    wish = Wish(epsilon, min_utility, time_limit, near, confidence)
    check(wish)
    people = people_of(frame, [*hidden, *shown])
    joint, notes = count_people(people, hidden, shown, rules)
    if confidence is not None:
        notes = (*notes, *chosen_by_rows(joint, rules))
    chosen = choose(complete(people, rules), joint, notes, wish, progress)
    if dry_run:
        return chosen
    if not allow_constant:
        chosen.check_says_something()
    return release(chosen, progress)


def choose(
    people: People,
    joint: JointDistribution,
    notes: tuple[str, ...],
    wish: Wish,
    progress: Progress | None = None,
) -> Plan:
    """Choose, solve and prove for people who were counted; nothing is drawn.

    Raises
    ------
    InvalidModel, NotSolved
        If there is nothing to release or to protect, or no release was proved.
    """
    check_counted(joint)
    told = progress or (lambda fraction, message: None)
    told(0.0, "counted")
    if wish.epsilon is not None:
        choice = at_budget(joint, wish, float(wish.epsilon), told)
    else:
        wished = float(wish.min_utility or 0.0)
        choice = for_utility(joint, wish, wished, told)
        notes = (*notes, _least(choice.problem.budget, wished))
    told(0.95, "chosen")
    return plan(people, choice, notes)


def release(chosen: Plan, progress: Progress | None = None) -> Publication:
    """Draw what was chosen, once."""
    told = progress or (lambda fraction, message: None)
    told(0.95, "drawing")
    publication = _drawn(chosen)
    told(1.0, "released")
    return publication


def check_counted(joint: JointDistribution) -> None:
    """Refuse people of whom there is nothing to say or to hide.

    Raises
    ------
    InvalidModel
        If the secret, or what is to be released, has one value only.
    """
    for labels, what in ((joint.sensitive, "secret"), (joint.useful, "columns to be released")):
        if len(labels) < 2:
            raise InvalidModel(
                f"the {what} held one value only: there is nothing that a release could say or hide"
            )


def _drawn(chosen: Plan) -> Publication:
    mechanism: Channel | Merging = chosen.solution.mechanism
    drawn = _draw(chosen.people, mechanism, chosen.codebook, chosen.joint)
    receipt = _receipt(chosen.people, chosen.choice, drawn)
    return Publication(
        _frame(chosen.people, drawn),
        chosen.codebook,
        chosen.problem,
        chosen.solution,
        chosen.choice.frontier,
        receipt,
        chosen.notes,
        chosen.people,
        drawn,
    )


def _least(budget: float, wished: float) -> str:
    """How the budget was chosen."""
    if budget <= GRID[0]:
        return f"epsilon {plain(budget)} is enough to keep {share(wished)}; smaller ones were not tried"
    return f"epsilon {plain(budget)} is the least of those tried that keeps {share(wished)}"


def _draw(people: People, mechanism: Channel | Merging, book: Codebook, joint: JointDistribution) -> Drawn:
    """A release of each row, written as one column a message and one for each column released."""
    columns = joint.columns
    if columns is None:
        raise InvalidModel("the joint was not counted from a table")
    data = eager(people.frame)
    cells = {name: data[name].to_list() for name in columns.reads_names}
    read = columns.symbols(cells, frozenset(mechanism.inputs))
    labels = tuple(mechanism.release(read).tolist())
    place = {label: y for y, label in enumerate(mechanism.outputs)}
    codes = [place[label] for label in labels]
    names = columns.reads_names
    wide = len(names) > 1 and all(len(row) == len(names) for row in mechanism.cells)
    symbols = (
        tuple(tuple(map(str, row)) for row in mechanism.cells)
        if wide
        else spell(book, columns, isinstance(mechanism, Merging))
    )
    header = names if wide else (_message_column(names), *names)
    written = table_of(symbols, codes, header)
    return Drawn(labels, {name: [str(cell) for cell in column] for name, column in written.items()}, symbols)


def _message_column(names: Sequence[str]) -> str:
    """A name for the column of messages that no released column has."""
    name = RELEASED
    while name in names:
        name += "_"
    return name


def _frame(people: People, drawn: Drawn) -> Any:
    """The released table in the library of the frame; in pandas with its index."""
    import narwhals as nw

    data = eager(people.frame)
    columns = {name: list(cells) for name, cells in drawn.table.items()}
    made: Any = nw.from_dict(columns, backend=data.implementation).to_native()
    if data.implementation.is_pandas():
        made.index = people.frame.index
    return made


def _receipt(people: People, choice: Choice, drawn: Drawn) -> Receipt:
    """The receipt of the table as the file ``released.csv``."""
    names = joint_columns(choice.problem).reads_names
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / TABLE
        write_table(path, drawn.table, safe=True)
        return make_receipt(
            choice.solution.mechanism,
            choice.solution.certificate,
            {name: people.cells[name] for name in names},
            path,
            drawn.table,
            how=DRAWN,
            symbols=drawn.symbols,
        )
