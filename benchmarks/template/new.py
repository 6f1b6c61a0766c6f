"""Write a folder of one's own: a data set, a solver and a suite that work as they are."""

from __future__ import annotations

import shutil
import tempfile
from importlib.resources import files
from pathlib import Path

from privopt.errors import FileRefused

PARTS = {
    "README.md": "README.md",
    "survey.csv": "data/survey.csv",
    "survey.py.txt": "data/survey.py",
    "my_solver.py.txt": "solvers/my_solver.py",
    "my_suite.py.txt": "suites/my_suite.py",
}
"""Where each part of the template goes."""


def write_template(folder: Path) -> tuple[Path, ...]:
    """Write the template into a folder that does not exist yet or is empty, whole or not at all.

    Returns
    -------
    tuple of Path
        The files.

    Raises
    ------
    FileRefused
        If the folder holds something, or cannot be written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as place:
    ...     [path.name for path in write_template(Path(place, "mine"))]
    ['README.md', 'survey.csv', 'survey.py', 'my_solver.py', 'my_suite.py']
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise FileRefused(f"{folder} exists and is not empty; name a new folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
            made = Path(beside, "whole")
            for name, place in PARTS.items():
                _write(name, made / place, folder)
            if folder.exists():
                folder.rmdir()
            shutil.move(made, folder)
    except OSError as cause:
        raise FileRefused(f"{folder} cannot be written: {cause}") from cause
    return tuple(folder / place for place in PARTS.values())


def _write(name: str, path: Path, folder: Path) -> None:
    """One part of the template; the file of data byte for byte, since it has a checksum."""
    content = files("privopt.benchmarks.template").joinpath(name).read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.replace(b"{folder}", folder.name.encode()) if name == "README.md" else content)


def new_command(folder: Path, as_json: bool) -> None:
    """Write the template, and say what to do with it."""
    from privopt.cli.show import emit

    paths = write_template(folder)
    if as_json:
        emit({"folder": str(folder), "files": [str(path) for path in paths]})
        return
    print("\n".join(f"wrote {path}" for path in paths))
    print(f"To run it: PRIVOPT_PATH={folder} privopt bench run mysuite")
    print(f"To check the solver: privopt check-solver {folder / 'solvers' / 'my_solver.py'}")
