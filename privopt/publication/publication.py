"""What a release leaves in Python and in a folder: the table, its codebook, and all that speaks for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.core.compare import Frontier
from privopt.core.solution import Solution
from privopt.errors import FileRefused, MissingExtra
from privopt.files.csv import write_table
from privopt.files.json import write_json, writing
from privopt.files.labels import Label
from privopt.files.paths import PRIVATE, writing_bytes
from privopt.files.text import html_table
from privopt.measures.shannon import entropy
from privopt.mechanisms.codebook import Codebook
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.publication.bundle import bundle
from privopt.publication.explain import Explanation, explain
from privopt.publication.least import Choice
from privopt.publication.people import People
from privopt.publication.plan import Plan, joint_of
from privopt.publication.receipt import RECORDED, Receipt
from privopt.publication.state import VOID, release_once
from privopt.publication.words import plain, share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE, BOOK, WORDS, PICTURE, CURVE = (
    "released.csv", "codebook.csv", "explanation.html", "frontier.png", "frontier.csv",
)  # fmt: skip
PROBLEM, SOLUTION, RECEIPT, STATE, BUNDLE, CONTENTS = (
    "problem.json", "solution.json", "receipt.json", "state.json", "bundle.zip", "README.txt",
)  # fmt: skip

GIVEN = (
    (
        TABLE,
        "what was released: the name of a message, and the values that it stands for in nine of ten cases",
    ),
    (WORDS, "what it protects, what it does not, and how useful it is"),
    (
        BOOK,
        "what each message stands for: its combinations, with their probabilities, from 1e-9 on; they were counted from the data",
    ),
)
KEPT = (
    (PICTURE, "what other budgets allow"),
    (CURVE, "the same in numbers"),
    (PROBLEM, "what was asked, with the counted table: CONFIDENTIAL"),
    (SOLUTION, "the mechanism and its certificate; 'privopt release' runs it on other people"),
    (RECEIPT, "what was drawn from which columns, with hashes and their salt: CONFIDENTIAL"),
    (STATE, "by which the same rows are recognised and answered with the same release: CONFIDENTIAL"),
    (BUNDLE, "all that speaks for the release, for whoever has to check it: CONFIDENTIAL"),
)

AGAIN = f"once only, since {VOID}"


@dataclass(frozen=True)
class Drawn:
    """The released table as text, and how each output of the mechanism is written in it."""

    labels: tuple[Label, ...] = field(repr=False)
    table: Mapping[str, Sequence[str]] = field(repr=False)
    symbols: tuple[tuple[str, ...], ...] = field(repr=False)


@dataclass(frozen=True)
class Publication:
    """A release with all that speaks for it.

    Parameters
    ----------
    frame : pandas or Polars frame
        What was released: the name of a message, and in each column the values that it stands for.
    codebook : Codebook
    problem : LocalInformationPrivacy
    solution : Solution
    frontier : Frontier
        What other budgets allow.
    receipt : Receipt
    notes : tuple of str
        What was chosen on the way, a sentence each.

    Examples
    --------
    >>> import pandas as pd, privopt as po
    >>> people = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 50, "age": ["young", "old", "old", "old"] * 50})
    >>> publication = po.publish(people, secret="vote", columns="age", epsilon=0.3)
    >>> list(publication.frame.columns), len(publication.frame), publication.solution.certified
    (['released', 'age'], 200, True)
    """

    frame: Any = field(repr=False)
    codebook: Codebook
    problem: LocalInformationPrivacy
    solution: Solution[Any]
    frontier: Frontier[Any] = field(repr=False)
    receipt: Receipt = field(repr=False)
    notes: tuple[str, ...]
    people: People = field(repr=False)
    drawn: Drawn = field(repr=False)

    @cached_property
    def plan(self) -> Plan:
        """What was chosen before anything was drawn."""
        return Plan(self.people, Choice(self.problem, self.solution, self.frontier), self.notes)

    @property
    def told(self) -> float:
        """The part of what there is to say about the released columns, as they were read, that the release says.

        Where numbers were put into intervals, or rare combinations made one, the columns as they stand in the rows say more; see
        :attr:`told_of_original`.
        """
        return self.plan.told

    @property
    def told_of_original(self) -> float:
        """The part of what the released columns say as they stand in the rows that the release says."""
        return self.plan.told_of_original

    def explain(self) -> Explanation:
        """What it means, in at most eight plain sentences."""
        told = explain(self.problem, self.solution, self.receipt)
        columns = ", ".join(name for name, _ in self.receipt.read)
        return replace(
            told,
            title=f"What the release of {columns} protects, at epsilon {plain(self.problem.budget)}",
            facts=(*self.facts(), ("verdict", "proved")),
            reading=_reading(self.codebook),
        )

    def figure(self) -> Figure:
        """What each budget allows, with the chosen one marked.

        Raises
        ------
        MissingExtra
            If matplotlib is not installed.
        """
        from privopt.plots.curves import frontier_figure

        figure = frontier_figure(self.frontier)
        axes, most = figure.axes[0], entropy(joint_of(self.problem).p_x)
        axes.axvline(
            self.problem.budget, color="#d1601f", linestyle=":", linewidth=1.4, label="chosen epsilon"
        )
        axes.set_ylim(0.0, 1.03 * most)
        parts = axes.secondary_yaxis("right", functions=(_times(100.0 / most), _times(most / 100.0)))
        parts.set_ylabel("of all that there is to say (%)")
        axes.set_title(
            f"epsilon {plain(self.problem.budget)} keeps {share(self.told)} of what the columns say as they were read",
            fontsize=10,
        )
        axes.set_xlabel("epsilon: the most that a release may leak (nats)")
        axes.set_ylabel("what a release says of the columns (nats)")
        axes.legend(frameon=False, loc="lower right")
        return figure

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything into a new folder, whole or not at all.

        Raises
        ------
        FileRefused
            If the folder holds something already, or cannot be written.

        Examples
        --------
        >>> import tempfile, pandas as pd, privopt as po
        >>> people = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 50, "age": ["young", "old", "old", "old"] * 50})
        >>> place = Path(tempfile.mkdtemp()) / "out"
        >>> po.publish(people, secret="vote", columns="age", epsilon=0.3).save(place)
        >>> po.verify_bundle(place / "bundle.zip", place / "released.csv").ok
        True
        """
        target = Path(folder)
        check_new(target)
        try:
            made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        except OSError as cause:
            raise FileRefused(f"{target}: cannot be written: {cause.strerror or cause}") from cause
        try:
            (made / target.name).mkdir()  # with the permissions of any new folder
            _write(self, made / target.name)
            os.rename(made / target.name, target)
        except OSError as cause:
            check_new(target)  # another run may have been faster
            raise FileRefused(f"{target}: cannot be written: {cause.strerror or cause}") from cause
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def facts(self) -> list[tuple[str, str]]:
        """The most important numbers, each with its name."""
        said = self.plan.facts()
        if self.receipt.smallest is not None and self.receipt.unique is not None:
            (least, after), (alone, still) = self.receipt.smallest, self.receipt.unique
            said.append(
                (
                    "smallest group",
                    f"{least} before, {after} after; rows alone in theirs: {alone} before, {still} after",
                )
            )
        return [*said, *self.plan.remarks()]

    def __repr__(self) -> str:
        return f"Publication({self.receipt.rows} rows, epsilon {plain(self.problem.budget)}, keeps {share(self.told)})"

    def _repr_html_(self) -> str:
        return html_table(self.facts())


def _reading(book: Codebook) -> tuple[str, ...]:
    """How the released table is read, and how it is counted with."""
    columns = ", ".join(book.names)
    return (
        (
            f"Each row of {TABLE} holds the name of a message, which stands for several combinations of {columns}; the cells list the values that "
            'it stands for in nine of ten cases: "a|b" is a or b, "any" is every value.'
        ),
        (
            "Values of different columns in one row need not go together, and rows whose cells show one value are not a fair sample: do not "
            "select rows by what their cells show."
        ),
        (
            f"To count: for each row take all lines of {BOOK} with its message and add up their probability. In pandas: "
            f'pd.read_csv("{TABLE}").merge(pd.read_csv("{BOOK}"), left_on="released", right_on="release", suffixes=("_shown", ""))'
            f'.groupby({list(book.names)!r})["probability"].sum() is the expected number of rows of each combination.'
        ),
    )


def _times(factor: float) -> Callable[[Any], Any]:
    """A scale of an axis."""
    return lambda values: factor * np.asarray(values)


def check_new(target: Path) -> None:
    """Refuse a folder that holds something, or that has no place.

    Raises
    ------
    FileRefused
        With what to do instead; of a release, with why no other one may take its place.
    """
    if (target / RECEIPT).is_file():
        raise FileRefused(
            f"{target}: holds a release already, and records are released {AGAIN}. Give another folder for other people"
        )
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise FileRefused(f"{target}: is there already and not empty; give the name of a new folder")
    if not target.parent.is_dir():
        raise FileRefused(f"{target}: cannot be written: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise FileRefused(f"{target}: cannot be written: no permission in {target.parent}")


def _write(publication: Publication, place: Path) -> None:
    """All files."""
    cells = list(zip(*(publication.people.cells[name] for name, _ in publication.receipt.read), strict=True))
    labels = list(publication.drawn.labels)
    mechanism = publication.solution.mechanism.fingerprint
    release_once(place / STATE, mechanism, {"": cells}, lambda done: {"": labels[done[""] :]})
    receipt = replace(publication.receipt, once=RECORDED)
    receipt.save(place / RECEIPT)
    write_table(place / TABLE, publication.drawn.table, safe=True)
    book = publication.codebook.columns()
    write_table(place / BOOK, book, safe=True)
    write_json(place / PROBLEM, publication.problem.to_dict(), private=True)
    publication.solution.save(place / SOLUTION)
    publication.explain().save(place / WORDS)
    with writing(place / CURVE) as stream:
        stream.write(publication.frontier.to_frame().to_csv(index=False, lineterminator="\n"))
    bundle(place / BUNDLE, publication.problem, publication.solution, receipt=receipt, codebook=book)
    (place / BUNDLE).chmod(PRIVATE)  # it holds the counted table
    _draw(publication, place / PICTURE)
    with writing(place / CONTENTS) as stream:
        stream.write(_contents(publication, {path.name for path in place.iterdir()}))


def _draw(publication: Publication, path: Path) -> None:
    """The picture, where it can be drawn; the same is in numbers beside it."""
    try:
        figure = publication.figure()
    except MissingExtra:
        return
    with writing_bytes(path) as stream:
        figure.savefig(stream, format="png", dpi=130)


def _contents(publication: Publication, there: set[str]) -> str:
    """What is in the folder, for whom."""
    width = max(len(name) for name, _ in (*GIVEN, *KEPT))

    def listed(files: Sequence[tuple[str, str]]) -> list[str]:
        return [f"  {name:<{width}}  {what}" for name, what in files if name in there]

    facts = [f"  {name:<{width}}  {value}" for name, value in publication.facts()]
    lines = [
        "A release, made once. The same rows must not be drawn again:",
        f"{VOID}.",
        "",
        *facts,
        "",
        "To give away, each as far as it is wished:",
        *listed(GIVEN),
        "",
        "To keep, or for those who answer for it:",
        *listed(KEPT),
        "",
        "Anybody who has both files checks them by: privopt verify bundle.zip released.csv",
    ]
    return "\n".join(lines) + "\n"
