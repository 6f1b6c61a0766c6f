"""The command that goes all the way: from a table of people to a release that one can use, defend and check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from privopt.cli import show
from privopt.cli._fit_joint import JointOptions
from privopt.cli.explain import tell
from privopt.cli.fit import Data, HierarchyFiles
from privopt.errors import FileRefused, InvalidModel, PrivoptError
from privopt.files.csv import header_of, names_in, read_table
from privopt.mechanisms.codebook import HEADER
from privopt.publication.cells import people_of_cells
from privopt.publication.earlier import earlier
from privopt.publication.least import Wish, check, told_share
from privopt.publication.people import People, Rules, chosen_by_rows, complete, count_people, roles
from privopt.publication.plan import Plan
from privopt.publication.publication import BUNDLE, TABLE, check_new
from privopt.publication.publish import choose, release
from privopt.publication.published import beside, check_copies, published
from privopt.publication.words import plain, share

MOST_MESSAGES = 30
"""Messages that a dry run shows, the most frequent ones."""

Secret = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME[,NAME...]", help="What is to be kept secret; may be given again."),
]
Released = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", metavar="NAME[,NAME...]", help="What is to be released, protected; may be given again."
    ),
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
        help="The part of what the columns say, as they are read, that must be kept, such as 0.8; the least epsilon is looked for.",
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
Missing = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="Empty cells: symbol (a value of its own), drop (the row is left out) or refuse.",
    ),
]
Contiguous = Annotated[
    bool | None,
    typer.Option(
        "--contiguous/--any",
        help="Messages hold neighbours of orders and intervals, and nodes of hierarchies, only; left out, where one of --order and "
        "--hierarchy is given.",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        metavar="PART",
        help="Prove the release for every distribution of people that the rows allow, a set that holds the population's with this "
        "confidence, such as 0.95; left out, for people who are spread exactly as in this table.",
    ),
]
Seconds = Annotated[float, typer.Option(help="Seconds for all solving, more than 0.")]
Output = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="A new folder, written whole or not at all.")
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show what would be released, its certificate, codebook and trade-off; nothing is drawn, recorded or written.",
    ),
]
AllowConstant = Annotated[
    bool,
    typer.Option(
        "--allow-constant",
        help="Release also where the best release does not depend on the data and says nothing; else that is refused.",
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where it is recorded that these rows were published, so that they are not drawn again; by default DATA.csv.published.json "
        "beside the data.",
    ),
]


def publish(
    data: Data,
    secret: Secret = None,
    columns: Released = None,
    output: Output = None,
    epsilon: Epsilon = None,
    min_utility: Utility = None,
    bins: BinRules = None,
    order: Order = None,
    hierarchy: HierarchyFiles = None,
    minimum_count: MinimumCount = None,
    missing: Missing = "symbol",
    contiguous: Contiguous = None,
    confidence: Confidence = None,
    time_limit: Seconds = 30.0,
    state: State = None,
    dry_run: DryRun = False,
    allow_constant: AllowConstant = False,
) -> None:
    """Release columns of a table so that no release says much about a secret: count, choose, solve, prove, draw, explain.

    The folder holds the released table, its codebook, an explanation in plain sentences, a picture of what other budgets allow,
    the receipt, and a bundle for 'privopt verify'; --dry-run shows what it would be. A second run into it draws nothing: it says what was released of the same rows,
    and one into another folder is refused, since a file beside the data records that they were published.
    """
    hidden, shown = roles(_named(data, secret, "--secret"), _named(data, columns, "--columns"))
    near = bool(order or hierarchy) if contiguous is None else contiguous
    wish = Wish(epsilon, min_utility, time_limit, near, confidence)
    check(wish)
    if output is None and not dry_run:
        raise FileRefused(
            "Missing option '--output': give a new folder for the release, or --dry-run to see what it would be"
        )
    again = None if output is None or dry_run else earlier(output)
    if output is not None and again is None and not dry_run:
        check_new(output)
    options = JointOptions(bins or (), order or (), missing, hierarchies=hierarchy or ())
    people, rules = _read(data, [*hidden, *shown], options, minimum_count)
    joint, notes = count_people(people, hidden, shown, rules)
    if confidence is not None:
        notes = (*notes, *chosen_by_rows(joint, rules))
    people = complete(people, rules)
    if again is not None:
        show.sentences([again.answer(people.cells, joint, wish)])
        return
    record = beside(data) if state is None else state

    def chosen() -> Plan:
        with show.progress("publishing") as told:
            return choose(people, joint, notes, wish, told)

    if dry_run or output is None:
        _show_plan(chosen(), record, allow_constant)
        return
    show.check_output(record, data)
    check_copies(data, record, people.cells)
    with published(record) as before:
        before.check(data, people.cells)
        plan = chosen()
        if not allow_constant:
            plan.check_says_something()
        publication = release(plan)
        before.add(output, publication.problem.budget, people.cells)  # before anything is there to be read
        try:
            publication.save(output)
        except PrivoptError:
            before.take_back()
            raise
    show.facts(publication.facts())
    tell(publication.explain())
    show.facts(
        [
            ("written", f"{output} (README.txt says what is what)"),
            ("recorded", f"{record}: these rows are not drawn again; keep it beside the data"),
            ("check it", f"privopt verify {output / BUNDLE} {output / TABLE}"),
        ]
    )


def _named(data: Path, texts: Sequence[str] | None, option: str) -> list[str]:
    """The columns that an option names; where it is left out, a refusal that lists those of the file."""
    if not texts:
        raise FileRefused(
            f"Missing option {option!r}: give names with commas between them; "
            f"the columns of {data} are {', '.join(map(repr, header_of(data)))}"
        )
    return names_in(data, texts)


def _show_plan(plan: Plan, record: Path, allow_constant: bool) -> None:
    """What would be released: the numbers, the sentences, the certificate, what messages stand for, and what other budgets allow.

    Raises
    ------
    NotSolved
        If it says nothing, and would be refused.
    """
    show.facts([*plan.facts(), *plan.remarks()])
    tell(plan.explain())
    certificate = plan.solution.certificate
    if certificate is not None:
        show.sentences(certificate.sentences())
    entries = sorted(plan.codebook, key=lambda entry: -entry.share)
    print()
    show.table([entry.row() for entry in entries[:MOST_MESSAGES]], HEADER)
    if len(entries) > MOST_MESSAGES:
        print(f"... and {len(entries) - MOST_MESSAGES} messages that are rarer")
    if plan.codebook.note:
        show.sentences([f"{plan.codebook.note}."])
    print()
    curve = plan.choice.frontier
    show.table(
        [
            (plain(budget), share(told_share(solution, plan.joint)), solution.status.name)
            for budget, solution in zip(curve.budgets, curve, strict=True)
        ],
        ("epsilon", "keeps", "status"),
    )
    show.legend([solution.status for solution in curve])
    said = (
        "a dry run: nothing was drawn, recorded or written; what is drawn later is as good and may be another"
    )
    if record.exists():
        said += f"; {record} says that something of this file was published before, which a run without --dry-run looks at"
    show.facts([("note", said)])
    if not allow_constant:
        plan.check_says_something()


def _read(
    data: Path,
    names: Sequence[str],
    options: JointOptions,
    minimum_count: int | None,
) -> tuple[People, Rules]:
    """The rows of a CSV file, with columns of many numbers as numbers and all others as they are written."""
    rules = Rules(options.rules(), options.orders(), options.files(), minimum_count, options.missing)
    try:
        return people_of_cells(read_table(data, names).columns, rules)
    except InvalidModel as cause:
        raise FileRefused(f"{data}: {cause}") from cause
