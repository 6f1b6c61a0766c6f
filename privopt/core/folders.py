"""Folders of one's own: what they hold joins the package and is found where the package's own files are.

A folder that ``PRIVOPT_PATH`` names may have the folders ``problems``, ``solvers``, ``suites`` and ``data``. A file in one of
them is a module of ``privopt.problems``, ``privopt.solvers``, ``privopt.benchmarks.suites`` or ``privopt.benchmarks.data``.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from privopt.errors import PrivoptError, UnsuitableSolver

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
        If a folder does not exist, a file of one's own cannot be imported, or has the name of another one.
    """
    for folder in own_folders():
        if not Path(folder).is_dir():
            raise UnsuitableSolver(f"{folder} is not a folder; set {PATH} to folders of your own")
    modules: list[ModuleType] = []
    files: dict[str, Path] = {}
    for place in importlib.import_module(package).__path__:
        for entry in pkgutil.iter_modules([place], package + "."):
            path = Path(place, entry.name.rpartition(".")[2] + ("" if entry.ispkg else ".py"))
            if files.setdefault(entry.name, path) != path:
                raise UnsuitableSolver(f"{path} has the name of {files[entry.name]}; rename one of them")
            if entry.name.rpartition(".")[2].startswith("_"):
                continue
            module = _imported(entry.name, Path(place))
            modules.append(module)
            if entry.ispkg:
                modules += import_below(entry.name)
    return tuple(modules)


@cache
def import_naming(package: str, *words: str) -> None:
    """Import the public modules below a package of ours whose source holds all of some words; all of them where there is no source.

    Looking for words takes milliseconds where importing everything takes half a second.
    """
    sources = list(_sources(package))
    if not sources:
        import_below(package)
    for name, path in sources:
        text = path.read_text(encoding="utf-8")
        if all(word in text for word in words):
            importlib.import_module(name)


def _sources(package: str) -> Iterator[tuple[str, Path]]:
    """Names and files of the public modules below a package."""
    for place in importlib.import_module(package).__path__:
        for path in sorted(Path(place).rglob("*.py")):
            parts = path.relative_to(place).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if not any(part.startswith("_") for part in parts):
                yield ".".join((package, *parts)), path


def _imported(name: str, place: Path) -> ModuleType:
    """A module of the package, or one that a folder of one's own holds."""
    if not any(place.is_relative_to(folder) for folder in own_folders()):
        return importlib.import_module(name)
    try:
        return importlib.import_module(name)
    except Exception as cause:
        raise UnsuitableSolver(f"{where(cause, place)}: {said(cause)}") from cause


def where(error: Exception, place: Path) -> str:
    r"""The file in or below a place, and its line, that an error comes from, in words.

    Examples
    --------
    >>> try:
    ...     compile("x = 1\ny = (", "mine/solvers/new.py", "exec")
    ... except SyntaxError as error:
    ...     where(error, Path("mine"))
    'mine/solvers/new.py, line 2, cannot be imported'
    """
    steps = [(step.filename, step.lineno) for step in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        steps.append((error.filename or "", error.lineno))
    file, line = next((s for s in reversed(steps) if Path(s[0]).is_relative_to(place)), (str(place), None))
    return f"{file}{'' if line is None else f', line {line}'}, cannot be imported"


def said(error: Exception) -> str:
    """What an error says, with its type where it is none of privopt's own.

    Examples
    --------
    >>> said(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    return str(error) if isinstance(error, PrivoptError) else f"{type(error).__name__}: {error}"
