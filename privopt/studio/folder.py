"""The folder of the release: drawn into it once, and given out from it whenever the same is asked for, in this session or a later one."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privopt.core.compare import Frontier
from privopt.core.solution import Solution
from privopt.errors import FileRefused, PrivoptError
from privopt.publication.earlier import Earlier, earlier
from privopt.publication.least import Choice, Wish, told_share
from privopt.publication.plan import joint_columns, joint_of, plan
from privopt.publication.publication import CONTENTS, GIVEN, KEPT, check_new
from privopt.publication.publish import release
from privopt.studio.analysis import Analysis, Answer, Point

ANYWAY = "to have it anyway, take the script or the command of this page, with allow_constant=True or --allow-constant"

DAWN = (1980, 1, 1, 0, 0, 0)


class Drawn(PrivoptError):
    """Another release of these people is in the folder."""


def release_once(folder: Path, analysis: Analysis, points: Mapping[float, Point], epsilon: float) -> str:
    """Draw the release that a point of the curve shows, and write its folder; where the same one is there, nothing is drawn.

    Parameters
    ----------
    folder : Path
    analysis : Analysis
    points : mapping of budgets to points
        The curve.
    epsilon : float
        Which of them.

    Returns
    -------
    str
        Empty, or why nothing was drawn.

    Raises
    ------
    Drawn
        If the folder holds a release of other people, or another one of these.
    FileRefused
        If the folder cannot be written.
    NotSolved
        If the release would say nothing about the columns.
    """
    old = earlier(folder)
    if old is not None:
        wish = Wish(epsilon, None, analysis.choice.seconds, analysis.choice.contiguous)
        try:
            return old.answer(analysis.people.cells, analysis.joint, wish)
        except FileRefused as cause:
            raise Drawn(str(cause)) from cause
    check_new(folder)
    chosen = plan(analysis.people, _chosen(points, epsilon), analysis.notes)
    chosen.check_says_something(ANYWAY)
    release(chosen).save(folder)
    return ""


def _chosen(points: Mapping[float, Point], epsilon: float) -> Choice:
    """A point of the curve with the curve around it, as a publication takes it."""
    point = points[epsilon]
    solved: dict[float, Solution[Answer]] = {
        budget: other.solution for budget, other in sorted(points.items()) if other.solution.certified
    }
    curve = Frontier(point.problem, tuple(solved), tuple(solved.values()))
    return Choice(point.problem, point.solution, curve)


def facts_of(folder: Path) -> dict[str, Any] | None:
    """What the page says of the release in a folder, as plain JSON values; None where there is none.

    Raises
    ------
    FileRefused
        If its files are no release.
    """
    old = earlier(folder)
    return None if old is None else _facts(old)


def _facts(old: Earlier) -> dict[str, Any]:
    receipt, columns = old.receipt, joint_columns(old.problem)
    return {
        "folder": str(old.folder.absolute()),
        "epsilon": old.problem.budget,
        "rows": receipt.rows,
        "useful": told_share(old.solution, joint_of(old.problem)),
        "secret": list(columns.secret_names),
        "columns": list(columns.reads_names),
        "smallest": None if receipt.smallest is None else list(receipt.smallest),
        "unique": None if receipt.unique is None else list(receipt.unique),
    }


def zipped(folder: Path) -> bytes:
    """The files of a release as one zip file.

    Raises
    ------
    FileRefused
        If they cannot be read.
    """
    names = [*(name for name, _ in (*GIVEN, *KEPT)), CONTENTS]
    stream = io.BytesIO()
    try:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in (folder / name for name in names):
                if path.is_file():
                    archive.writestr(
                        zipfile.ZipInfo(path.name, DAWN), path.read_bytes(), zipfile.ZIP_DEFLATED
                    )
    except OSError as cause:
        raise FileRefused(f"{folder}: cannot be read: {cause.strerror or cause}") from cause
    return stream.getvalue()
