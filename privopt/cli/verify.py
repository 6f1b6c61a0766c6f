"""The command that proves a solution or a bundle again, and looks at a released table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli._bundles import Place, bundle_at
from privopt.cli._columns import read_symbols, symbols_of
from privopt.cli._original import Compared, compare_beside, recount
from privopt.cli._streams import StartStep
from privopt.cli.solve import AsJson
from privopt.errors import FileRefused, InvalidMechanism
from privopt.files.csv import read_table
from privopt.files.labels import Label
from privopt.publication.bundle import read_bundle, released_table, verify_bundle
from privopt.publication.receipt import Receipt
from privopt.publication.released import Columns, Layout, read_released
from privopt.publication.table import TableCheck, check_table

First = Annotated[
    Path,
    typer.Argument(
        metavar="PROBLEM.json|BUNDLE.zip|FOLDER",
        help="The problem, a bundle, or the folder that 'privopt publish' wrote.",
        show_default=False,
    ),
]
Second = Annotated[
    Path | None,
    typer.Argument(
        metavar="SOLUTION.json",
        help="What is to be proved; with a bundle, the released table.",
        show_default=False,
    ),
]
Third = Annotated[
    Path | None, typer.Argument(metavar="[RELEASED.csv]", help="A released table.", show_default=False)
]


def verify(
    problem: First,
    solution: Second = None,
    released: Third = None,
    receipt: Annotated[
        Path | None, typer.Option(metavar="RECEIPT.json", help="The receipt of the released table.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A released column of the table; repeat for more. By default from the receipt.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A column of the table that was copied on purpose; repeat for more."
        ),
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="The column of users.")] = None,
    mark: Annotated[str, typer.Option(metavar="TEXT", help="What stands in redacted cells.")] = "",
    others: Annotated[
        bool, typer.Option("--others", help="The people are others than those whom the model counted.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA.csv",
            help="What was read, which the owner has: the model must be the count of its rows, answers of a colouring are judged about these "
            "datasets, columns that stand beside the release of a table are compared with the secret, and the owner's receipt says whether its columns are those that were read.",
        ),
    ] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --data: a column that was read; repeat for more. By default from the receipt.",
        ),
    ] = None,
    raw_cells: Annotated[
        bool,
        typer.Option(
            "--raw-cells",
            help="The table was released with --raw-cells, and no receipt says so: apostrophes before formulas belong to its cells.",
        ),
    ] = False,
    start_step: StartStep = 0,
    as_json: AsJson = False,
) -> None:
    """Prove a solution again from the two files alone, or a bundle; exit code 1 if it is not proved.

    No solver runs and nothing that the files claim is believed. What differs without harm is said in remarks. A released table is
    refused if it holds what is never released, in frequencies that are not plausible, or the secret beside it.
    """
    place = bundle_at(problem, solution)
    if place is not None:
        if released is not None or receipt is not None or column or keep:
            raise FileRefused(
                "a bundle holds problem, solution and receipt: give beside it the released table only, and what was read with --data"
            )
        source = _Source(data, tuple(read or ()))
        _tell(_with_data(verify_bundle(place.bundle, place.released), place, source, others), "", as_json)
    if solution is None:
        raise FileRefused("Missing argument 'SOLUTION.json': give a problem and its solution, or a bundle")
    loaded = po.load_problem(problem)
    certificate, answer = _proof(loaded, solution)
    if certificate.ok and answer is not None and released is not None:
        layout = Layout(
            tuple(column or ()), tuple(keep or ()), mark=mark, by=by, others=others, start_step=start_step
        )
        certificate = _with_table(
            certificate,
            loaded,
            answer,
            released,
            receipt,
            layout,
            _Source(data, tuple(read or ())),
            raw_cells,
        )
    if data is not None and not others:
        certificate = _recounted(certificate, loaded, data)
    _tell(certificate, "" if answer is None else answer.solver, as_json)


@dataclass(frozen=True)
class _Source:
    """What was read for a release: a file, where the owner gives it, and the names of its columns."""

    data: Path | None
    names: tuple[str, ...]


def _with_data(certificate: po.Certificate, place: Place, source: _Source, others: bool) -> po.Certificate:
    """The certificate of a bundle, with what the table that was read says of it."""
    if source.data is None or not certificate.ok:
        return certificate
    contents = read_bundle(place.bundle)
    if contents.problem is None:
        raise FileRefused(
            f"{place.bundle}: is a public bundle, without the model that --data is compared with"
        )
    told = certificate if others else _recounted(certificate, contents.problem, source.data)
    if place.released is None or not told.ok:
        return told
    paper = contents.receipt
    table = read_released(place.released, paper is not None and paper.raw_cells)
    layout = Layout() if paper is None else paper.layout
    checked = released_table(contents, place.released)
    return _judged(told, _beside(contents.problem, contents.solution, table, checked, layout, source))


def _recounted(certificate: po.Certificate, problem: po.Problem[Any], data: Path) -> po.Certificate:
    """The certificate, refused if its model is not the count of the rows that were read."""
    return _judged(certificate, recount(problem, data)) if certificate.ok else certificate


def _judged(certificate: po.Certificate, compared: Compared) -> po.Certificate:
    """The certificate with what was compared: refused by a fault, or with a remark."""
    if compared.fault:
        return replace(certificate, ok=False, reason=compared.fault)
    said = (compared.said,) if compared.said else ()
    return replace(certificate, remarks=(*certificate.remarks, *said))


def _tell(certificate: po.Certificate, solver: str, as_json: bool) -> None:
    """Print the verdict and leave."""
    if as_json:
        show.emit(certificate.to_dict())
    elif certificate.ok:
        show.sentences(certificate.sentences())
    else:
        whose = f" (an answer of the solver {solver!r})" if solver else ""
        show.complain(f"NOT PROVED: {certificate.reason}{whose}")
    raise typer.Exit(0 if certificate.ok else 1)


def _proof(loaded: po.Problem[Any], path: Path) -> tuple[po.Certificate, po.Solution[Any] | None]:
    """The fresh certificate, and what it is of; a mechanism that contradicts itself is a failed proof, not a malformed file."""
    try:
        solution = po.Solution[Any].load(path)
    except InvalidMechanism as cause:
        claim = "the solution is what it says"
        return po.Certificate(False, claim, str(cause), loaded.budget, problem=loaded.fingerprint), None
    return po.verify(loaded, solution), solution


def _with_table(
    certificate: po.Certificate,
    problem: po.Problem[Any],
    solution: po.Solution[Any],
    released: Path,
    receipt: Path | None,
    layout: Layout,
    source: _Source,
    raw_cells: bool,
) -> po.Certificate:
    """The certificate with what is found of a table."""
    paper = None if receipt is None else Receipt.load(receipt)
    if paper is not None:
        fault = (
            paper.fault(solution.mechanism, solution.certificate)
            or paper.fault_of_words(solution.mechanism, problem)
            or paper.fault_of_file(released)
        )
        if fault is not None:
            return replace(certificate, ok=False, reason=fault)
        layout = replace(paper.layout, others=layout.others)
    datasets, fault = _compared(solution.mechanism, paper, source)
    if fault is not None:
        return replace(certificate, ok=False, reason=fault)
    layout = replace(layout, datasets=datasets)
    table = read_released(released, raw_cells or (paper is not None and paper.raw_cells))
    if datasets is not None and len(next(iter(table.values()))) != len(datasets):
        return replace(
            certificate, ok=False, reason=f"{source.data} has {len(datasets)} rows, the table has others"
        )
    told = check_table(problem, solution.mechanism, table, layout)
    fault = paper.fault_of_table(table) if told.ok and paper is not None else None
    if not told.ok or fault is not None:
        return replace(certificate, ok=False, reason=fault or told.sentence().rstrip("."))
    compared = _beside(problem, solution, table, told, layout, source)
    if compared.fault:
        return replace(certificate, ok=False, reason=compared.fault)
    said = () if paper is None else paper.sentences(certificate.kind == "average")
    remarks = (
        told.sentence(),
        *((compared.said,) if compared.said else ()),
        *(f"by the receipt: {text}" for text in said),
    )
    return replace(certificate, remarks=(*certificate.remarks, *(text.rstrip(".") for text in remarks)))


def _beside(
    problem: po.Problem[Any],
    solution: po.Solution[Any],
    table: Columns,
    told: TableCheck,
    layout: Layout,
    source: _Source,
) -> Compared:
    """What the columns beside a release say about the secret, where the data that were read are at hand."""
    unknown = [name for name in told.beside if name not in layout.kept and name != layout.by]
    if source.data is None:
        return Compared()
    return compare_beside(problem, solution, table, unknown, source.data)


def _compared(
    mechanism: po.Mechanism, paper: Receipt | None, source: _Source
) -> tuple[tuple[Label, ...] | None, str | None]:
    """The datasets that answers are about, where the owner gives what was read; and why it is not what was read.

    Raises
    ------
    FileRefused
        If nothing can be said of these data: there is no receipt of the owner's, and the mechanism answers about no datasets.
    """
    if source.data is None:
        if source.names:
            raise FileRefused("--read names columns of what was read: give it with --data DATA.csv")
        return None, None
    names = source.names or (() if paper is None else tuple(name for name, _ in paper.read))
    answers = isinstance(mechanism, po.Colouring)
    owner = paper is not None and bool(paper.salt)
    remembered = isinstance(mechanism, (po.Channel, po.Merging)) and mechanism.columns is not None
    if remembered and not source.names and not owner:
        return None, None  # compared with what stands beside the release alone
    if not names or not (answers or owner):
        raise FileRefused(
            "--data is compared with the receipt of the owner, with the answers of a colouring about its rows, or with columns beside the "
            "release of a table whose columns the model remembers: give --receipt RECEIPT.json"
            + (", or --read NAME for each column that was read" if answers else "")
        )
    cells = read_table(source.data, names).columns
    fault = paper.fault_of_data(cells) if paper is not None and owner else None
    count = len(cells[names[0]])
    if fault is not None and paper is not None and count > paper.rows and not paper.is_answer:
        fault += f" ({paper.rows} rows were read, and {source.data} has {count}: leave out those that the release dropped)"
    if fault is not None or not isinstance(mechanism, po.Colouring):
        return None, fault
    rows = list(zip(*(cells[name] for name in names), strict=True))
    symbols = read_symbols(source.data, names, rows, symbols_of(mechanism, len(names), ""))
    return tuple(symbols), None
