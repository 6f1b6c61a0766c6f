"""A session of the studio: the table, the curves of its tabs, and the folder of the release."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privopt.errors import FileRefused, InvalidProblem, PrivoptError
from privopt.studio.analysis import Point
from privopt.studio.choice import Choice, budget_of, seconds_of
from privopt.studio.export import command, notebook, script
from privopt.studio.folder import facts_of, release_once, zipped
from privopt.studio.job import Job
from privopt.studio.table import Table, read_table

GONE = "The curve of this page is not there any more, as the studio keeps those of the last tabs; compute it again."
TABS = 6
"""Curves that are kept, the newest ones."""


class Session:
    """What the tabs of a studio work on; every method may be called from any thread.

    Parameters
    ----------
    path : Path
        The table.
    folder : Path, optional
        Where the release is written, and is answered from; by default beside the table.
    """

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        self.path = path
        self.folder = path.with_name(f"{path.stem}-release") if folder is None else folder
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._drawing = threading.Lock()
        self._table: Table | None = None
        self._jobs: dict[int, Job] = {}
        self._count = 0

    def table(self, again: bool = False) -> Table:
        """The table, read when it is first asked for, or again.

        Raises
        ------
        FileRefused
            If it cannot be used.
        """
        with self._reading:
            if self._table is None or again:
                self._table = None
                self._table = read_table(self.path)
            return self._table

    def describe(self, again: bool = False) -> dict[str, Any]:
        """What the page shows of the table, and of a release that is there, as plain JSON values."""
        table = self.table(again)
        return {
            "file": self.path.name,
            "rows": table.rows,
            "columns": [column.to_dict() for column in table.columns],
            "nameless": table.nameless,
            "folder": str(self.folder.absolute()),
            "earlier": self._earlier(),
        }

    def _earlier(self) -> dict[str, Any] | None:
        try:
            return facts_of(self.folder)
        except PrivoptError as cause:
            return {"error": refusal(cause)}

    def start(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to count and to compute a curve, in place of another one of the same tab; the choice is checked first.

        Raises
        ------
        FileRefused, InvalidProblem, InvalidModel
            If the choice does not fit the table.
        """
        choice, table = Choice.from_dict(fields), self.table()
        choice.check(table)
        with self._lock:
            old = self._jobs.pop(fields.get("replaces", 0), None)
            self._count += 1
            job = self._jobs[self._count] = Job(self._count, choice, table)
            gone = [self._jobs.pop(number) for number in list(self._jobs)[:-TABS]]
        for other in (*gone, *([old] if old else [])):
            other.stop()
        job.begin()
        return {"job": job.number}

    def add(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to compute one more point of a curve, or to look longer for a better one.

        Raises
        ------
        InvalidProblem
            If the budget is none, or the curve is still being computed.
        """
        epsilon, seconds = budget_of(fields.get("epsilon")), fields.get("seconds")
        job = self._job(fields.get("job"))
        job.add(epsilon, None if seconds is None else seconds_of(seconds))
        return {"job": job.number}

    def progress(self, number: object, since: int) -> dict[str, Any]:
        """How far a curve is, and its points after the first ``since``."""
        return self._job(number).progress(since)

    def stop(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """End the computation of a curve after the point that is being solved; the points that are there stay."""
        self._job(fields.get("job")).stop()
        return {}

    def _job(self, number: object) -> Job:
        with self._lock:
            job = self._jobs.get(number) if type(number) is int else None
        if job is None:
            raise InvalidProblem(GONE)
        return job

    def _point(self, fields: Mapping[str, Any]) -> tuple[Job, Point]:
        job = self._job(fields.get("job"))
        return job, job.point(budget_of(fields.get("epsilon")))

    def exports(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The command line that makes such a release, empty where there is none."""
        job, point = self._point(fields)
        return {"command": command(job.counted, point.epsilon, self.path, self.folder)}

    def script(self, fields: Mapping[str, Any]) -> str:
        """The script of a point of a curve."""
        job, point = self._point(fields)
        return script(job.counted, point.epsilon, self.path.name, self.folder.name)

    def notebook(self, fields: Mapping[str, Any]) -> str:
        """The notebook of a point of a curve."""
        job, point = self._point(fields)
        return notebook(job.counted, point.epsilon, self.path.name, self.folder.name)

    def draw(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Draw the release of a point of a curve into the folder, or say that it is there; what is known of it.

        Raises
        ------
        Drawn
            If another release is there.
        FileRefused
            If the folder cannot be written.
        """
        job, point = self._point(fields)
        with self._drawing:
            said = release_once(self.folder, job.counted, dict(job.points), point.epsilon)
            return {**(facts_of(self.folder) or {}), "again": said}

    def release(self) -> bytes:
        """The release that is in the folder, as one file.

        Raises
        ------
        FileRefused
            If there is none.
        """
        with self._drawing:
            if facts_of(self.folder) is None:
                raise FileRefused(f"{self.folder}: there is no release yet; draw one")
            return zipped(self.folder)


def refusal(cause: PrivoptError) -> str:
    """What went wrong, as a sentence.

    Examples
    --------
    >>> refusal(PrivoptError("there is no file a.csv"))
    'There is no file a.csv.'
    >>> refusal(PrivoptError("a.csv: is empty"))
    'a.csv: is empty.'
    """
    text = " ".join(str(cause).split())
    first = text.partition(" ")[0]
    begin = text if first.endswith(":") else text[:1].upper() + text[1:]
    return begin + ("" if text.endswith((".", "!", "?")) else ".")
