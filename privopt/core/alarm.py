"""The alarm: a certified answer above a checked bound, so that one of two proofs is wrong."""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from privopt.core.judge import contradicts
from privopt.core.problem import M, Problem
from privopt.core.solution import Solution, Status
from privopt.core.solver import Guarantee
from privopt.errors import ContradictionWarning, PrivoptError


def raise_alarm(problem: Problem[M], reached: Solution[M], bounded: Solution[Any]) -> Solution[M]:
    """The answer without any bound, with the contradiction as its reason; both answers and the problem are written down.

    Nothing else is concluded from either: the answer keeps its own certificate, and is never called optimal.
    """
    told = (
        f"CONTRADICTION: {reached.solver} reaches {reached.objective!r}, above the bound {bounded.bound!r} that the dual of "
        f"{bounded.solver} proves; one of the two is wrong. {_written(problem, reached, bounded)}"
    )
    warnings.warn(told, ContradictionWarning, stacklevel=2)
    return replace(
        reached,
        reason=told,
        bound=None,
        gap=None,
        dual=None,
        status=Status.FEASIBLE,
        guarantee=Guarantee.FEASIBLE,
        stats={**reached.stats, "contradiction": told},
    )


def contradictions(
    problem: Problem[Any], solutions: Sequence[Solution[Any]]
) -> list[tuple[Solution[Any], Solution[Any]]]:
    """Every pair (reached, bounded) of certified answers of which one is above the other's checked bound."""
    return [
        (a, b)
        for a, b in itertools.permutations(solutions, 2)
        if a.status.ok and a.certified and b.bound is not None and contradicts(problem, a, b.bound)
    ]


def _written(problem: Problem[Any], reached: Solution[Any], bounded: Solution[Any]) -> str:
    folder = Path(tempfile.mkdtemp(prefix="privopt-contradiction-"))
    try:
        from privopt.files.json import write_json

        write_json(folder / "problem.json", problem.to_dict())
        replace(reached, problem=problem.fingerprint).save(folder / "reached.json")
        replace(bounded, problem=problem.fingerprint).save(folder / "bounded.json")
    except (PrivoptError, TypeError, ValueError) as cause:
        return f"They cannot be written to files: {cause}"
    return f"Please report the files problem.json, reached.json and bounded.json in {folder}"
