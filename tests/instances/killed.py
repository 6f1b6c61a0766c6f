"""A release that is killed at each of its steps in turn: run as a program of its own, which forks a child for every step.

Called as ``python killed.py everywhere FOLDER ARGUMENTS...`` it runs the command line with the arguments in copies of the folder, kills the run at
step 0, 1, 2, ... until one ends by itself, and prints the number of steps. A step is a look at a file, a lock, a flush to the disk or a
change of a name within the folder, before and after it is done; with ``replace`` in place of ``everywhere`` changes of names alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVENTS = ("open", "os.rename", "os.remove", "fcntl.flock", "os.chmod")


class Steps:
    """Counts the steps of a run, and kills it at one of them."""

    def __init__(self, folder: Path, last: int) -> None:
        self.folder, self.last, self.count = str(folder), last, 0

    def step(self) -> None:
        """One more."""
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def hear(self, event: str, values: tuple[Any, ...]) -> None:
        """What the interpreter says of itself."""
        if event in EVENTS and (event == "fcntl.flock" or str(values[0]).startswith(self.folder)):
            self.step()

    def around(self, act: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the system with a step before it and one after."""

        def watched(*values: Any, **named: Any) -> Any:
            self.step()
            done = act(*values, **named)
            self.step()
            return done

        return watched


def child(folder: Path, last: int, words: list[str], everywhere: bool) -> None:
    """Run the command line in a folder, and end at a step."""
    from typer.testing import CliRunner

    from privopt.cli import app

    os.chdir(folder)
    steps = Steps(folder, last)
    os.replace = steps.around(os.replace)
    if everywhere:
        sys.addaudithook(steps.hear)
        os.fsync = steps.around(os.fsync)
    done = CliRunner().invoke(app, [str(folder / word) if "." in word else word for word in words])
    os._exit(0 if done.exit_code == 0 else 3)


def main(where: str, folder: Path, words: list[str]) -> None:
    """Kill at every step."""
    import privopt.cli  # noqa: F401  # once for all children

    warnings.simplefilter("ignore")
    for last in range(10_000):
        place = folder.parent / f"{folder.name}-{last}"
        shutil.copytree(folder, place)
        number = os.fork()
        if not number:
            child(place, last, words, where == "everywhere")
        _, status = os.waitpid(number, 0)
        if os.WIFEXITED(status):
            print(last if os.WEXITSTATUS(status) == 0 else "failed")
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
