"""Finding solvers and problems by scanning folders: a new one is one file, with no other edit."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from privopt.core.folders import PATH, import_below, import_naming, is_own, own_folders, said, where
from privopt.core.problem import Problem
from privopt.core.reformulation import kinds_of
from privopt.core.solver import Solver
from privopt.errors import UnsuitableSolver
from privopt.mechanisms.policy.rules import on_missing_rule

S = TypeVar("S", bound=type[Solver[Any]])

FOLDERS = "PRIVOPT_SOLVERS"
"""Environment variable: folders with solver files of your own, separated as in PATH."""

_solvers: dict[tuple[type[Problem[Any]], str], type[Solver[Any]]] = {}


def register(solver: S) -> S:
    """Class decorator that enters a solver under (problem class, name).

    Raises
    ------
    UnsuitableSolver
        If the name is taken for that problem by another class, with both places; a ``ValueError``.
    """
    key = (solver.solves, solver.name)
    taken = _solvers.get(key)
    if taken is not None and (taken.__module__, taken.__qualname__) != (
        solver.__module__,
        solver.__qualname__,
    ):
        raise UnsuitableSolver(
            f"solver {solver.name!r} for {solver.solves.__name__} is registered twice, in {_place(taken)} and in "
            f"{_place(solver)}; give one of them another name"
        )
    _solvers[key] = solver
    return solver


def _place(cls: type) -> str:
    """The file of a class and its name."""
    return f"{getattr(sys.modules.get(cls.__module__), '__file__', cls.__module__)} ({cls.__qualname__})"


def solvers_of(kind: type[Problem[Any]]) -> dict[str, type[Solver[Any]]]:
    """Every registered solver of a kind of problem, by name, in the order of names.

    Those of a reformulation's target serve it too, but for names that it has itself.
    """
    kinds = kinds_of(kind)
    _scan_for(tuple(one.__name__ for one in kinds))
    _scan_folders()
    serving = {
        name: cls for one in reversed(kinds) for (owner, name), cls in _solvers.items() if owner is one
    }
    return dict(sorted(serving.items()))


@cache
def _scan_solvers() -> None:
    modules = import_below("privopt.solvers")
    registering = {solver.__module__ for solver in _solvers.values()}
    for module in modules:
        folder = module.__name__ == module.__package__
        if is_own(module.__name__) and not folder and module.__name__ not in registering:
            raise UnsuitableSolver(
                f"{module.__file__} registers no solver; decorate the class with privopt.register, "
                "or let the name of a helper begin with an underscore"
            )


@cache
def _scan_for(classes: tuple[str, ...]) -> None:
    """Import the solver files of some classes of problems: those of the package that name one of them, and all of one's own."""
    if own_folders():
        _scan_solvers()
    else:
        for name in classes:
            import_naming("privopt.solvers", "register", name)


def _scan_everything() -> None:
    """Import every solver file there is."""
    _scan_solvers()
    _scan_folders()


def _scan_folders() -> None:
    for folder in os.environ.get(FOLDERS, "").split(os.pathsep):
        if folder:
            scan(folder)


def _scan_own() -> None:
    """Import the solver files in folders of one's own, which may bring rules of policies; without such folders, nothing."""
    if own_folders():
        _scan_solvers()
    _scan_folders()


on_missing_rule(_scan_own)


def find_solver(problem: Problem[Any], solver: str | Solver[Any]) -> Solver[Any]:
    """A solver object for a problem, from a name or from itself.

    Raises
    ------
    UnsuitableSolver
        If there is none of that name, or it answers another kind of problem.
    """
    kind = type(problem)
    if isinstance(solver, Solver):
        if not any(issubclass(one, solver.solves) for one in kinds_of(kind)):
            raise UnsuitableSolver(
                f"{solver.name} solves {solver.solves.__name__}, not {kind.__name__}; see privopt.candidates(problem)"
            )
        return solver
    known = solvers_of(kind)
    if not isinstance(solver, str) or solver not in known:
        raise UnsuitableSolver(
            f"{kind.__name__} has no solver {solver!r}; it has {', '.join(known) or 'none'}; see privopt.candidates(problem), and for a "
            f"solver of your own {_where_from()}"
        )
    return known[solver]()


def _where_from() -> str:
    """Where solvers of one's own are looked for."""
    told = [f"{name}={os.environ[name]}" for name in (PATH, FOLDERS) if os.environ.get(name)]
    looked = f" (now {', '.join(told)})" if told else " (now not set)"
    return f"set {PATH} to the folder that holds solvers/{looked}"


def problem_types() -> dict[str, type[Problem[Any]]]:
    """Every problem class by its type name, those in folders of one's own included.

    Raises
    ------
    UnsuitableSolver
        If two classes of different files have the same one.
    """
    import_below("privopt.problems")
    kinds: dict[str, type[Problem[Any]]] = {}
    pending = list(Problem.__subclasses__())
    while pending:
        cls = pending.pop()
        pending.extend(cls.__subclasses__())
        if inspect.isabstract(cls):
            continue
        other = kinds.setdefault(cls.kind, cls)
        if other.__module__ != cls.__module__ and "kind" in vars(other) and "kind" in vars(cls):
            raise UnsuitableSolver(
                f"the problem {cls.kind!r} is in {_place(other)} and in {_place(cls)}; give one of them another kind"
            )
        kinds[cls.kind] = cls
    return dict(sorted(kinds.items()))


def scan(folder: str | os.PathLike[str]) -> None:
    """Import every ``*.py`` file of a folder, so that the solvers in it register; a file is read once.

    Raises
    ------
    UnsuitableSolver
        If the folder does not exist or a file registers nothing.
    """
    place = Path(folder).resolve()
    if not place.is_dir():
        raise UnsuitableSolver(f"{place} is not a folder; set {FOLDERS} to folders with solver files")
    for path in sorted(place.glob("[!_]*.py")):
        _load(path)


def solvers_in(path: str | os.PathLike[str]) -> tuple[type[Solver[Any]], ...]:
    """The solvers that one file registers, imported if it stands in none of the folders that are scanned.

    Raises
    ------
    UnsuitableSolver
        If there is no such file, it cannot be imported, or it registers nothing.
    """
    place = Path(path).resolve()
    if not place.is_file():
        raise UnsuitableSolver(f"{path} is not a file; name one Python file with a solver")
    _scan_everything()
    if not _registered_in(place):
        _load(place)
    return _registered_in(place)


def _registered_in(path: Path) -> tuple[type[Solver[Any]], ...]:
    files = {cls: getattr(sys.modules.get(cls.__module__), "__file__", None) for cls in _solvers.values()}
    return tuple(cls for cls, file in files.items() if file is not None and Path(file).resolve() == path)


def _load(path: Path) -> None:
    """Import a file with solvers under a name of its own, once."""
    name = f"privopt_plugin_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    if name in sys.modules:
        return
    before = len(_solvers)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UnsuitableSolver(f"{path} cannot be loaded as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as cause:
        del sys.modules[name]
        raise UnsuitableSolver(f"{where(cause, path)}: {said(cause)}") from cause
    if len(_solvers) == before:
        raise UnsuitableSolver(f"{path} registers no solver; decorate the class with privopt.register")
