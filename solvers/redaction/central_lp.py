"""An upper bound for small problems: the best mechanism that sees the whole sequence, by linear programming."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.dual import MAX_CELLS, MAX_MULTIPLIERS, Whole, central_bound, sizes, whole
from privopt.problems.redaction.problem import Redaction

LARGEST = 1e9
"""Multipliers are cut here."""
RAREST = 1e-100
"""Private values rarer than this leave the program without digits."""


@register
@dataclass(frozen=True)
class CentralLp(Solver[Redaction]):
    """Bounds what any redaction can reach by what a curator who sees all records could.

    The program maximises the utility over probabilities of (sequence, set of released records). Its
    multipliers prove the bound; its mechanism is not local, so the one proposed redacts everything.
    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", define
    the utility and the privacy that it keeps.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "central-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """For comparison: the bound is checked, the mechanism proposed is no answer."""

    def cost(self, problem: Redaction) -> float:
        """Linear in cells times constraints."""
        size = sizes(problem)
        return 0.02 if size is None else 0.02 + 1e-8 * size[0] * size[1]

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse what has too many sequences, sets of records or constraints."""
        if sizes(problem) is None:
            return (
                f"it enumerates sequences and sets of records: at most {MAX_CELLS} pairs of them "
                f"and {MAX_MULTIPLIERS} constraints"
            )
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose to redact everything, and the bound."""
        space = whole(problem)
        multipliers, stats = _multipliers(space, budget.remaining)
        dual = {"kind": "central", "multipliers": multipliers.tolist()}
        return Proposal(problem.safe(), central_bound(problem, multipliers.tolist())[1], dual, stats=stats)


def _multipliers(space: Whole, seconds: float) -> tuple[Floats, dict[str, float | int | str]]:
    """Those of the privacy constraints at the optimum; zeros, which bound too, if time runs out before."""
    from scipy.optimize import linprog

    zeros = np.zeros(len(space.pairs) * space.count)
    if not space.pairs or min(float(pair.my_probability) for pair in space.pairs) < RAREST:
        return zeros, {"status": "no program"}
    probabilities, gain = np.array(space.probabilities, float), np.array(space.gain, float)
    optimum = linprog(
        -np.tile(gain, len(probabilities)),
        A_ub=_privacy(space),
        b_ub=zeros,
        A_eq=_distributions(len(probabilities), len(gain)),
        b_eq=probabilities,
        method="highs-ipm",
        options={"time_limit": seconds},
    )
    stats: dict[str, float | int | str] = {
        "status": str(optimum.message),
        "iterations": int(optimum.nit),
        "columns": space.outputs.size,
    }
    marginals = optimum.ineqlin.marginals
    return zeros if marginals is None else np.clip(-marginals, 0.0, LARGEST), stats


def _privacy(space: Whole) -> Any:
    """Sparse; rows by pair, then by output; columns by sequence, then by set."""
    from scipy.sparse import coo_array

    columns = np.arange(space.outputs.size).reshape(space.outputs.shape)
    rows, places, values = [], [], []
    for i, pair in enumerate(space.pairs):
        for where, value in (
            (pair.mine, math.exp(-space.epsilon) / float(pair.my_probability)),
            (pair.theirs, -1 / float(pair.their_probability)),
        ):
            rows.append(i * space.count + space.outputs[where].ravel())
            places.append(columns[where].ravel())
            values.append(np.full(places[-1].size, value))
    shape = (len(space.pairs) * space.count, space.outputs.size)
    indices = (np.concatenate(rows), np.concatenate(places))
    return coo_array((np.concatenate(values), indices), shape=shape).tocsr()


def _distributions(sequences: int, sets: int) -> Any:
    """Sparse; one row a sequence: the probabilities of all sets sum to that of the sequence."""
    from scipy.sparse import coo_array

    cells = np.arange(sequences * sets)
    return coo_array((np.ones(cells.size), (cells // sets, cells)), shape=(sequences, cells.size)).tocsr()
