"""The whole job: run a suite, keep its rows, release its showcase, write the page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from privopt.benchmarks._environment import environment
from privopt.benchmarks._folder import Manifest, prepare, write_run
from privopt.benchmarks._release import release_showcase
from privopt.benchmarks._suites import Suite
from privopt.benchmarks.report import Verdict, write_report
from privopt.benchmarks.runner import Listener, Outcome, run_suite


@dataclass(frozen=True)
class Job:
    """A suite and where its results go."""

    suite: Suite
    folder: Path
    page: Path
    seed: int = 0
    time_limit: float | None = None

    def run(self, listener: Listener | None = None) -> Verdict:
        """Do it all; the verdict is reached from the files that were written.

        Raises
        ------
        FileRefused
            If the folder or the page cannot be written.
        """
        prepare(self.folder)
        begun, clock = datetime.now(UTC), time.monotonic()
        outcomes = run_suite(self.suite, seed=self.seed, time_limit=self.time_limit, listener=listener)
        write_run(self.folder, self._manifest(begun, time.monotonic() - clock), [o.row for o in outcomes])
        self._release(outcomes)
        return write_report(self.folder, self.page)

    def _release(self, outcomes: tuple[Outcome, ...]) -> None:
        if self.suite.showcase is not None:
            release_showcase(self.folder, self.suite.showcase, outcomes)

    def _manifest(self, begun: datetime, seconds: float) -> Manifest:
        showcase = self.suite.showcase
        return Manifest(
            suite=self.suite.name,
            describe=self.suite.describe,
            about=tuple(self.suite.about()),
            begun=begun.strftime("%Y-%m-%d %H:%M UTC"),
            seconds=seconds,
            environment=environment(),
            instance="" if showcase is None else showcase.instance,
            budget=0.0 if showcase is None else showcase.budget,
            reference="" if showcase is None else showcase.reference,
            reference_does="" if showcase is None else showcase.reference_does,
            title="" if showcase is None else showcase.records().title,
        )
