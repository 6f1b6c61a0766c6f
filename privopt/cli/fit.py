"""The command that fits a model to data: a chain to a column, or a joint distribution to groups of columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import privopt as po
from privopt.cli import show
from privopt.cli._fit_joint import (
    JointOptions,
    chosen_by_rows,
    column_lines,
    confident,
    count_joint,
    warnings,
)
from privopt.cli._noisy import fit_gaussian
from privopt.cli._streams import ChainOptions, StartStep, fit_chain, period_facts
from privopt.cli.solve import AsJson
from privopt.errors import FileRefused, InvalidModel
from privopt.files.csv import CsvTable, groups_of, read_table
from privopt.files.json import write_json
from privopt.files.text import number

MOST_STATES = 40
"""States of a chain whose transitions are printed."""

Data = Annotated[
    Path, typer.Argument(metavar="DATA.csv", help="Comma-separated, with a header.", show_default=False)
]
By = Annotated[str | None, typer.Option(metavar="USER", help="The column that identifies users.")]
Column = Annotated[
    str | None, typer.Option(metavar="NAME", help="Fit a chain to this column of letters, in time order.")
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Fit a joint distribution: a column of the secret. Repeat for more."),
]
Useful = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Fit a joint distribution: a column of what is useful. Repeat for more."
    ),
]


Records = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Fit a Gaussian model: a column of numbers. Repeat for more records of a group."
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With one --record: the column that says who belongs together."),
]

Roles = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --groups: the column that says which member of its group a row is (father, child); every group has each once, and so as many.",
    ),
]


BinRules = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        metavar="NAME=RULE",
        help="Joint distribution: intervals of a column of numbers; quantiles:8, equal:8, width:10, minimum:100 or edges a,b,c.",
    ),
]
OrderedColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--ordered",
        metavar="NAME[=A,B,...]",
        help="Joint distribution: the values of a column are in this order, or in that of numbers or letters.",
    ),
]
MissingRule = Annotated[
    str,
    typer.Option(metavar="RULE", help="Joint distribution: rows with empty cells: refuse, drop or symbol."),
]
MinimumCount = Annotated[
    int,
    typer.Option(
        min=0, help="Joint distribution: combinations of useful columns in fewer rows are one symbol."
    ),
]


HierarchyFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="NAME=FILE.csv",
        help="Joint distribution: what the values of a column may be generalised to, a row value;level1;level2;... each.",
    ),
]


Period = Annotated[
    int | None,
    typer.Option(
        min=2,
        metavar="RECORDS",
        help="Chain: a matrix for each step of a period, 24 for hourly records of days; a row for each record.",
    ),
]


Confidence = Annotated[
    float | None,
    typer.Option(
        metavar="PART",
        help="Write the set of all distributions that the counts allow, which holds the population's with this confidence, such as "
        "0.95; releases are then certified for every one of them.",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --confidence, of a joint distribution: clopper-pearson (bounds of each probability, the default) or weissman "
        "(a ball of total variation).",
    ),
]


def fit(
    data: Data,
    column: Column = None,
    sensitive: Sensitive = None,
    useful: Useful = None,
    record: Records = None,
    groups: Groups = None,
    roles: Roles = None,
    by: By = None,
    order: Annotated[int, typer.Option(min=1, help="Letters that the next one depends on.")] = 1,
    smoothing: Annotated[float, typer.Option(help="Added to the count of every transition.")] = 0.0,
    states: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="The letters; by default those that occur.")
    ] = None,
    period: Period = None,
    start_step: StartStep = 0,
    bins: BinRules = None,
    ordered: OrderedColumns = None,
    missing: MissingRule = "refuse",
    minimum_count: MinimumCount = 0,
    hierarchy: HierarchyFiles = None,
    confidence: Confidence = None,
    method: Method = None,
    output: Annotated[Path | None, typer.Option(metavar="MODEL.json", help="Write the model.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model to data: a chain to --column, a joint distribution to --sensitive and --useful, a Gaussian model to --record.

    No transition is counted across an empty cell or between users, and an empty cell keeps its place in
    the --period. A joint distribution counts the rows; several columns
    make one symbol. With --confidence the model is not the counted table itself but the set of all that the rows allow. The model remembers the columns and their roles, bins and order, and 'privopt release' reads raw cells by them. A row is a group of Gaussian records, one a column; or with --groups a row is one record, and --roles says which member of its group.
    """
    show.check_output(output, data)
    rules = JointOptions(bins or (), ordered or (), missing, minimum_count, hierarchy or ())
    _refuse_strays(column, sensitive or (), rules, (period, start_step), (confidence, method))
    if record or groups is not None or roles is not None:
        if confidence is not None:
            raise FileRefused("--confidence is for a chain or a joint distribution, not for a Gaussian model")
        if column is not None or sensitive or useful or by is not None or states is not None:
            raise FileRefused(
                "--record, --groups and --roles fit a Gaussian model; give no other model's columns beside them"
            )
        fit_gaussian(data, record or [], groups, roles, output, as_json)
    elif column is None:
        if not sensitive or not useful or by is not None or states is not None:
            raise FileRefused(
                "give --column NAME for a chain (with --by, --order, --smoothing, --states), "
                "--sensitive NAME and --useful NAME for a joint distribution, or --record NAME for a Gaussian model"
            )
        sure = None if confidence is None else (confidence, method or "clopper-pearson")
        _fit_joint(data, (sensitive, useful), rules, sure, output, as_json)
    elif sensitive or useful:
        raise FileRefused(
            "--column fits a chain, --sensitive and --useful a joint distribution; give one of the two"
        )
    else:
        options = ChainOptions(states, order, smoothing, period, JointOptions(bins or ()).rules(), start_step)
        _fit_column(data, (column, by), options, confidence, output, as_json)


def _refuse_strays(
    column: str | None,
    sensitive: Sequence[str],
    rules: JointOptions,
    steps: tuple[int | None, int],
    sure: tuple[float | None, str | None],
) -> None:
    """Refuse options of a model that is not the one asked for.

    Raises
    ------
    FileRefused
        With the model that they belong to.
    """
    period, start_step = steps
    confidence, method = sure
    if column is None and (period is not None or (rules.bins and not sensitive)):
        raise FileRefused(
            "--bins are of a --column, or of --sensitive and --useful; --period is of a --column"
        )
    if start_step and period is None:
        raise FileRefused("--start-step says where in a --period row 1 is: give --period too")
    if not sensitive and (
        rules.ordered or rules.missing != "refuse" or rules.minimum_count or rules.hierarchies
    ):
        raise FileRefused(
            "--ordered, --hierarchy, --missing and --minimum-count are for a joint distribution (--sensitive, --useful)"
        )
    if method is not None and (confidence is None or not sensitive):
        raise FileRefused(
            "--method says how --confidence bounds a joint distribution: give both, with --sensitive and --useful"
        )


def _fit_column(
    data: Path,
    columns: tuple[str, str | None],
    options: ChainOptions,
    confidence: float | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Fit a chain to a column of letters, of each user by itself where a column of users is given."""
    column, by = columns
    if confidence is not None and (options.period is not None or options.smoothing):
        raise FileRefused(
            "--confidence is for counts of a chain with one matrix: leave --period and --smoothing out"
        )
    read = read_table(data, list(dict.fromkeys([column, *user_columns(by)])))
    sequences = list(users(data, by, read).values())
    chain = fit_chain(data, column, by, read, sequences, options)
    model = chain if confidence is None else _confident_chain(chain, confidence)
    _keep(model, output)
    if as_json:
        show.emit(model.to_dict())
        return
    facts: list[tuple[str, object]] = [
        ("model", model),
        ("set", model.described if isinstance(model, po.ChainAmbiguity) else ""),
        ("records", read.rows),
        ("sequences", len(sequences)),
        ("empty cells", read.columns[column].count("") or None),
        *period_facts(chain, options.start_step),
        ("shown", chain.period and "the first step of the period"),
        ("written", output),
    ]
    show.facts(facts)
    if chain.k > MOST_STATES:
        print(
            f"{chain.k} states: too many for a table here; give --bins {column}=quantiles:8 for a column of numbers, "
            "and put free text into a few classes first"
        )
        return
    show.table(_distribution(chain), ("from \\ to", *map(str, chain.states)))


def _fit_joint(
    data: Path,
    roles: tuple[Sequence[str], Sequence[str]],
    options: JointOptions,
    sure: tuple[float, str] | None,
    output: Path | None,
    as_json: bool,
) -> None:
    joint = count_joint(data, *roles, options)
    model = joint if sure is None else confident(joint, *sure)
    _keep(model, output)
    if as_json:
        show.emit(model.to_dict())
        return
    columns = joint.columns
    facts: list[tuple[str, object]] = [("model", model)]
    if isinstance(model, po.JointAmbiguity):
        facts += [("set", model.described), ("note", chosen_by_rows(options))]
    if columns is not None:
        dropped = f"{columns.dropped} rows with missing values" if columns.dropped else None
        facts += [("records", columns.rows), ("dropped", dropped), ("columns", column_lines(columns))]
    show.facts([*facts, ("warning", warnings(joint, options, sure is not None)), ("written", output)])


def _confident_chain(chain: po.MarkovChain, confidence: float) -> po.ChainAmbiguity:
    """The set of chains that the counted transitions allow.

    Raises
    ------
    FileRefused
        If there is none.
    """
    try:
        return po.ChainAmbiguity.from_counts(chain, confidence)
    except InvalidModel as cause:
        raise FileRefused(f"--confidence: {cause}") from cause


def _keep(
    model: po.MarkovChain | po.JointDistribution | po.JointAmbiguity | po.ChainAmbiguity,
    output: Path | None,
) -> None:
    if output is not None:
        write_json(output, model.to_dict(), private=True)


def _distribution(chain: po.MarkovChain) -> list[tuple[object, ...]]:
    """The transition probabilities, a row a state."""
    return [
        (s, *map(number, distribution))
        for s, distribution in zip(chain.states, chain.step(0).tolist(), strict=True)
    ]


def user_columns(by: str | None) -> list[str]:
    """The column of users, if there is one."""
    return [] if by is None else [by]


def users(path: Path, by: str | None, read: CsvTable) -> dict[str, Sequence[int]]:
    """Positions of the rows of each user, or of all rows."""
    return {"": range(read.rows)} if by is None else groups_of(path, by, read.columns[by])
