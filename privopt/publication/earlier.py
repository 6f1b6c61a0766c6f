"""A release that is in a folder already: why the same rows are not drawn again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privopt.core.solution import Solution
from privopt.errors import FileRefused
from privopt.files.load import load_problem
from privopt.models import JointDistribution
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.publication.least import Wish, told_share
from privopt.publication.publication import AGAIN, PROBLEM, RECEIPT, SOLUTION, TABLE
from privopt.publication.receipt import Receipt
from privopt.publication.words import plain, share


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
        if self.receipt.fault_of_data(cells) is not None or not self._is_alike(joint, wish):
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

    def _is_alike(self, joint: JointDistribution, wish: Wish) -> bool:
        near = self.problem.ambiguity
        alike = self.problem.nominal == joint and self.problem.contiguous == wish.contiguous
        return alike and (None if near is None else near.confidence) == wish.confidence

    @property
    def _told(self) -> float:
        joint = self.problem.nominal
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
