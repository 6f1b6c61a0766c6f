"""Folders of one's own: what they hold joins the package and is found where the package's own files are.

A folder that ``PRIVOPT_PATH`` names may have the folders ``problems``, ``solvers``, ``suites`` and ``data``. A file in one of
them is a module of ``privopt.problems``, ``privopt.solvers``, ``privopt.benchmarks.suites`` or ``privopt.benchmarks.data``.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from privopt.errors import UnsuitableSolver

PATH = "PRIVOPT_PATH"
"""Environment variable: folders of one's own, separated as in PATH; read when privopt is imported."""


def own_folders(part: str = "") -> list[str]:
    """The named folders, or the part of each that is called ``problems``, ``solvers``, ``suites`` or ``data``."""
    named = [Path(folder).resolve() for folder in os.environ.get(PATH, "").split(os.pathsep) if folder]
    return [str(folder / part) for folder in named]


def is_own(module: str) -> bool:
    """Whether a module stands in a folder of one's own, and not in the package."""
    file = getattr(sys.modules[module], "__file__", None)
    return file is not None and any(Path(file).resolve().is_relative_to(folder) for folder in own_folders())


@cache
def import_below(package: str) -> tuple[ModuleType, ...]:
    """Import every public module below a package, once, those in folders of one's own included.

    Raises
    ------
    UnsuitableSolver
        If a folder does not exist, a file of one's own cannot be imported, or has the name of one of the package.
    """
    for folder in own_folders():
        if not Path(folder).is_dir():
            raise UnsuitableSolver(f"{folder} is not a folder; set {PATH} to folders of your own")
    modules: list[ModuleType] = []
    for place in importlib.import_module(package).__path__:
        for entry in pkgutil.iter_modules([place], package + "."):
            if entry.name.rpartition(".")[2].startswith("_"):
                continue
            module = _imported(entry.name, Path(place))
            modules.append(module)
            if entry.ispkg:
                modules += import_below(entry.name)
    return tuple(modules)


def _imported(name: str, place: Path) -> ModuleType:
    """A module of the package, or one that a folder of one's own holds."""
    if not any(place.is_relative_to(folder) for folder in own_folders()):
        return importlib.import_module(name)
    try:
        module = importlib.import_module(name)
    except Exception as cause:
        raise UnsuitableSolver(
            f"{name} in {place} cannot be imported: {type(cause).__name__}: {cause}"
        ) from cause
    if not Path(module.__file__ or "").resolve().is_relative_to(place):
        raise UnsuitableSolver(f"{place} has a file with the name of {module.__file__}; rename it")
    return module
