"""Work sent to a Dask cluster; needs the packages dask and distributed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import current_process
from typing import Any

from privopt.core.dispatch import solve
from privopt.core.problem import M, Problem
from privopt.core.solution import Solution
from privopt.core.solver import Solver
from privopt.errors import InvalidProblem, MissingExtra

CONNECTING = 15.0
"""Seconds in which a scheduler must answer."""
RETRIES = 3
"""How often a piece of work is begun again after its worker was lost."""


@contextmanager
def client(address: str) -> Iterator[Any]:
    """A connection to a scheduler, a ``distributed.Client``, which is not fully typed; closed in the end.

    Raises
    ------
    MissingExtra
        If dask and distributed are not installed.
    InvalidProblem
        If nothing answers at the address.
    """
    try:
        import distributed
    except ImportError as cause:
        raise MissingExtra(
            "a cluster needs dask and distributed; pip install 'privopt[cluster]' brings them"
        ) from cause
    try:
        make: Any = distributed.Client
        connection = make(address, timeout=CONNECTING, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as cause:
        raise InvalidProblem(
            f"no Dask scheduler answers at {address!r} within {CONNECTING:g} s; give its address as tcp://host:8786"
        ) from cause
    try:
        yield connection
    finally:
        connection.close()


def solve_all(
    problems: Sequence[Problem[M]],
    solver: str | Solver[Any] | None,
    scheduler: str,
    *,
    time_limit: float,
    certify: bool,
    seed: int,
) -> Iterator[Solution[M]]:
    """Solutions of problems, in their order, each found by a worker of a cluster.

    A worker that is lost is replaced by another one. Problems and solutions travel as pickles, so the cluster
    must be trusted, as any Dask cluster.

    Raises
    ------
    MissingExtra, InvalidProblem
        If there is no cluster to be had.
    UnsuitableSolver
        If the solver named does not exist, on a worker, or answers another kind of problem.
    """
    with client(scheduler) as cluster:
        futures = [
            cluster.submit(
                _solve_there, problem, solver, time_limit, certify, seed, pure=False, retries=RETRIES
            )
            for problem in problems
        ]
        for future in futures:
            yield future.result()


def _solve_there(
    problem: Problem[M], solver: str | Solver[Any] | None, time_limit: float, certify: bool, seed: int
) -> Solution[M]:
    """On a worker: as anywhere, but a worker is a daemon, which may start processes only when told that it may."""
    current_process().daemon = False
    return solve(problem, solver, time_limit=time_limit, certify=certify, seed=seed)
