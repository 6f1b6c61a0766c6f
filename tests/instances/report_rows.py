"""Synthetic runs for tests of the report: several problems and families, missing and infinite numbers, odd names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from privopt.benchmarks.runner.folder import FORMAT, ROWS, RUN, VERSION, Manifest
from privopt.benchmarks.runner.rows import Row, write_rows
from privopt.files.json import write_json

HOSTILE = '</script><b onclick="x">&amp; "name", 100 % {of} $x_1$ \\more | [z]'
SOLVERS = {
    "redaction": ("optimal", "windows", "constant-search", HOSTILE),
    "local information privacy": ("optimal", "watchdog", "größte Körbe"),
    "funnel": ("dca", "mosek-like"),
}
EXPONENTS = {"optimal": 2.0, "windows": 1.0, "watchdog": 1.5, "dca": 1.0, "mosek-like": 3.0}
MANIFEST = Manifest(
    suite="synthetic <suite>",
    describe="Rows made up for tests",
    about=("Made up.",),
    begun="2030-01-01 00:00 UTC",
    seconds=12.0,
    environment={"Python": "3", "odd <name>": "&"},
)


def make_row(**changes: object) -> Row:
    """A verified row of a solver that gave a mechanism with a gap, changed as asked."""
    plain: dict[str, object] = {
        "key": "",
        "suite": "synthetic",
        "question": "redaction",
        "family": "",
        "instance": "one",
        "size": 4,
        "fingerprint": "0" * 64,
        "solver": "optimal",
        "budget": 1.0,
        "seed": 0,
        "time_limit": 10.0,
        "status": "FEASIBLE",
        "reason": "The solver ended.",
        "utility": 0.5,
        "leakage": 0.9,
        "objective": 0.5,
        "bound": None,
        "gap": None,
        "certified": True,
        "verified": True,
        "repaired": False,
        "raw_leakage": 0.9,
        "raw_violation": 0.0,
        "violation": 0.0,
        "utility_lost": None,
        "seconds": 0.1,
        "cold_seconds": 0.7,
        "peak_memory": 120.0,
        "iterations": 7,
        "guarantee": "FEASIBLE",
        "privopt": "0",
        "python": "3",
        "numpy": "2",
        "libraries": "",
    }
    return Row(**{**plain, **changes})  # type: ignore[arg-type]


def failed(row: Row, status: str, reason: str) -> Row:
    """The same run without a mechanism."""
    nothing = dict.fromkeys(
        (
            "utility",
            "leakage",
            "objective",
            "bound",
            "gap",
            "raw_leakage",
            "raw_violation",
            "violation",
            "utility_lost",
        )
    )
    kept = {
        **asdict(row),
        **nothing,
        "certified": False,
        "verified": False,
        "repaired": False,
        "guarantee": "",
    }
    return Row(**{**kept, "status": status, "reason": reason})


def synthetic(
    sizes: Sequence[int] = (4, 8, 16, 32), budgets: Sequence[float] = (0.1, 0.5, 1.0, 2.0)
) -> list[Row]:
    """Rows of every problem, solver, size and budget, with a failure of every kind."""
    rng = np.random.default_rng(7)
    rows = [
        _made(rng, question, solver, place, size, budget)
        for question, names in SOLVERS.items()
        for size in sizes
        for budget in budgets
        for place, solver in enumerate(names)
    ]
    for i, (status, reason) in enumerate(
        (
            ("REFUSED", "it enumerates: at most 4 records"),
            ("TIME_OUT", "the limit of 10 s came first"),
            ("FAILED", "the back end ended with <no> solution, 100 % lost & gone"),
            ("NOT_PRIVATE", "leakage inf against a budget of 2"),
            ("INFEASIBLE", "no mechanism keeps the budget"),
        )
    ):
        rows[-1 - 3 * i] = failed(rows[-1 - 3 * i], status, reason)
    return rows


def _made(rng: np.random.Generator, question: str, solver: str, place: int, size: int, budget: float) -> Row:
    sign = -1.0 if question == "funnel" else 1.0
    best = sign * (1 - math.exp(-budget)) * (1 + size / 100)
    exact = solver in ("optimal", "dca")
    objective = best if exact else best - float(rng.choice([0.0, 1e-7, 1e-3, 0.05])) * place
    bound = best + 1e-10 if exact else (math.inf if place == 1 else None)
    over = place >= 2 and budget > 0.4
    return make_row(
        question=question,
        family=f"{question} chains",
        instance=f"{question[:3]}-{size} é",
        size=size,
        solver=solver,
        budget=budget,
        status="OPTIMAL" if exact else "FEASIBLE",
        objective=objective,
        utility=objective,
        leakage=budget * 0.999,
        bound=bound,
        gap=None if bound is None else bound - objective,
        repaired=over,
        raw_leakage=(math.inf if size == 8 else budget * (1 + 1e-6)) if over else budget * 0.999,
        raw_violation=(math.inf if size == 8 else budget * 1e-6) if over else 0.0,
        utility_lost=1e-6 if over else None,
        seconds=1e-5
        * size ** EXPONENTS.get(solver, 2.5)
        * (1 + place)
        * math.exp(0.05 * rng.standard_normal()),
        peak_memory=None if question == "funnel" else 100.0 + size**1.2,
        iterations=None if place else size,
    )


def write_folder(folder: Path, rows: Sequence[Row], manifest: Manifest = MANIFEST) -> Path:
    """The folder of a run with these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / ROWS, rows)
    write_json(folder / RUN, {"format": FORMAT, "version": VERSION, **asdict(manifest)})
    return folder
