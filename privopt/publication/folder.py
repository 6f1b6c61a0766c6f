"""The folder of a release: written whole or not at all, and never drawn into a second time."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privopt.core.solution import Solution
from privopt.errors import FileRefused, MissingExtra
from privopt.files.json import write_json, writing, writing_bytes
from privopt.files.load import load_problem
from privopt.models import JointDistribution
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.publication.bundle import bundle
from privopt.publication.least import told_share
from privopt.publication.receipt import RECORDED, Receipt
from privopt.publication.state import VOID, release_once
from privopt.publication.words import plain, share

if TYPE_CHECKING:
    from privopt.publication.publish import Publication, Wish

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
        "what each message stands for: all its combinations, with their probabilities; they were counted from the data",
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


def save(publication: Publication, folder: str | os.PathLike[str]) -> None:
    """Write everything about a release into a new folder, whole or not at all.

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
        _write(publication, made / target.name)
        os.rename(made / target.name, target)
    except OSError as cause:
        raise FileRefused(f"{target}: cannot be written: {cause.strerror or cause}") from cause
    finally:
        shutil.rmtree(made, ignore_errors=True)


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
    write_table(place / TABLE, publication.drawn.table)
    book = publication.codebook.columns()
    write_table(place / BOOK, book)
    write_json(place / PROBLEM, publication.problem.to_dict())
    publication.solution.save(place / SOLUTION)
    publication.explain().save(place / WORDS)
    with writing(place / CURVE) as stream:
        stream.write(publication.frontier.to_frame().to_csv(index=False, lineterminator="\n"))
    bundle(place / BUNDLE, publication.problem, publication.solution, receipt=receipt, codebook=book)
    _draw(publication, place / PICTURE)
    with writing(place / CONTENTS) as stream:
        stream.write(_contents(publication, {path.name for path in place.iterdir()}))


def write_table(path: Path, table: Mapping[str, Sequence[str]]) -> None:
    """Write columns of equal length as CSV, whole or not at all."""
    # The writer leaves a lone carriage return bare, which readers take for the end of a line.
    bare = any("\r" in cell for cells in table.values() for cell in cells)
    with writing(path) as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


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


@dataclass(frozen=True)
class Earlier:
    """A release that is in a folder already."""

    folder: Path
    problem: LocalInformationPrivacy
    solution: Solution[Any]
    receipt: Receipt

    def answer(self, cells: Mapping[str, Sequence[str]], joint: JointDistribution, wish: Wish) -> str:
        """Why nothing is drawn, where the same is wished of the same rows.

        Raises
        ------
        FileRefused
            If the rows, the columns or the wish are others, or the released table was changed.
        """
        which = f"epsilon {plain(self.problem.budget)}, which keeps {share(self._told)}"
        if self.receipt.fault_of_data(cells) is not None or self.problem.joint != joint:
            raise FileRefused(
                f"{self.folder}: holds the release of other rows or columns, or of the same ones read in another way ({which}). Records are "
                f"released {AGAIN}. Give another folder for other people only"
            )
        epsilon, wished = wish.epsilon, wish.min_utility
        if (epsilon is not None and epsilon != self.problem.budget) or (
            wished is not None and self._told < wished - 1e-9
        ):
            raise FileRefused(
                f"{self.folder}: these rows were released with {which}, and records are released {AGAIN}. Use that release"
            )
        fault = self.receipt.fault_of_file(self.folder / TABLE)
        if fault is not None:
            raise FileRefused(f"{self.folder}: {fault}; nothing was drawn")
        return (
            f"These rows were released before ({which}): {self.folder / TABLE} stands as it was, and nothing was drawn. Records are released "
            f"{AGAIN}."
        )

    @property
    def _told(self) -> float:
        joint = self.problem.joint
        return told_share(self.solution, joint) if isinstance(joint, JointDistribution) else 0.0


def earlier(folder: Path) -> Earlier | None:
    """The release that a folder holds, if it holds one.

    Raises
    ------
    FileRefused
        If its files are no release of this kind.
    """
    if not (folder / RECEIPT).is_file():
        return None
    problem = load_problem(folder / PROBLEM)
    if not isinstance(problem, LocalInformationPrivacy):
        raise FileRefused(f"{folder}: holds the release of another kind of problem; give another folder")
    return Earlier(folder, problem, Solution[Any].load(folder / SOLUTION), Receipt.load(folder / RECEIPT))
