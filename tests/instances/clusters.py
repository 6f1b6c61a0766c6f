"""A Dask cluster of real processes on this machine, and rows without what differs from run to run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from privopt.benchmarks.runner.rows import Row


@dataclass
class Processes:
    """A scheduler and its workers, started by the commands that users have."""

    folder: Path
    address: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    others: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{arguments[0]}-{len(self.workers)}.log").open("wb")
        with log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments, "--host", "127.0.0.1", "--no-dashboard"],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )

    def add_worker(self, *arguments: str) -> None:
        self.workers.append(self.start("worker", self.address, "--nthreads", "1", *arguments))

    def stop(self) -> None:
        for process in (*self.workers, *self.others):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    processes = Processes(tmp_path_factory.mktemp("cluster"))
    place = processes.folder / "scheduler.json"
    processes.others.append(processes.start("scheduler", "--port", "0", "--scheduler-file", str(place)))
    try:
        deadline = time.monotonic() + 60
        while not place.is_file() or not place.read_text():
            assert time.monotonic() < deadline, (processes.folder / "scheduler-0.log").read_text()
            time.sleep(0.05)
        processes.address = json.loads(place.read_text())["address"]
        processes.add_worker("--no-nanny")
        processes.add_worker("--no-nanny")
        processes.add_worker()  # under a nanny it is a daemon, which may not start processes by itself
        yield processes
    finally:
        processes.stop()


def comparable(rows: tuple[Row, ...]) -> list[Row]:
    """Rows without what differs from run to run."""
    return [replace(row, seconds=None, cold_seconds=None, peak_memory=None, cpu=None) for row in rows]
