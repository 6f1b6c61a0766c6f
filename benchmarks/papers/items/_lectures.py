"""The lectures' table as printed, informations by their definitions, and the small functions that the items share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.papers.item import Finding, Reproduced
from privopt.benchmarks.papers.verdicts import EXACT
from privopt.benchmarks.report.document import figure_style, svg
from privopt.core.dispatch import solve
from privopt.core.problem import Problem
from privopt.core.solver import Solver
from privopt.files.text import number
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.models import JointDistribution
from privopt.plots.curves import draw_line, new_figure

Curves = dict[str, list[tuple[float, float]]]
BITS = math.log(2)
CELL = 0.5e-4
"""Half of the last digit of a cell of the printed table."""

PRINTED = (
    (0.0394, 0.0306, 0.0463, 0.0463, 0.0204, 0.0317, 0.0328, 0.0317, 0.0134),
    (0.0438, 0.0047, 0.0466, 0.0235, 0.0442, 0.0017, 0.0366, 0.0083, 0.0022),
    (0.0061, 0.0135, 0.0076, 0.0387, 0.0383, 0.0410, 0.0359, 0.0341, 0.0047),
    (0.0441, 0.0264, 0.0469, 0.0069, 0.0464, 0.0451, 0.0190, 0.0015, 0.0398),
)
"""The 4 x 9 joint table of the slides."""


def random_joint(rng: np.random.Generator, n_s: int, n_x: int) -> JointDistribution:
    """A table drawn from the flat distribution on the simplex."""
    return JointDistribution.normalised(rng.dirichlet(np.ones(n_s * n_x)).reshape(n_s, n_x))


def any_joint(rng: np.random.Generator, largest: int = 5) -> JointDistribution:
    """A table of random shape, 2 to ``largest`` each way."""
    n_s, n_x = (int(n) for n in rng.integers(2, largest + 1, 2))
    return random_joint(rng, n_s, n_x)


def any_channel(rng: np.random.Generator, joint: JointDistribution, outputs: int) -> Channel:
    """A channel that reads the useful symbols of a joint."""
    return Channel(rng.dirichlet(np.ones(outputs), len(joint.useful)), joint.useful)


def entropy(distribution: Floats) -> float:
    """Entropy by its definition, nats."""
    return -math.fsum(p * math.log(p) for p in distribution.ravel().tolist() if p > 0)


def information(distribution: Floats) -> float:
    """Mutual information as H + H - H, nats."""
    return entropy(distribution.sum(axis=0)) + entropy(distribution.sum(axis=1)) - entropy(distribution)


def informations(table: Floats, matrix: Floats) -> tuple[float, float]:
    """I(S;Y) and I(X;Y) of a release, nats."""
    return information(table @ matrix), information(table.sum(axis=0)[:, None] * matrix)


def block_matrix(size: int, blocks: Sequence[Sequence[int]]) -> Floats:
    """The 0-1 matrix of a merging of 1-based symbols; symbols not named stay alone, in their order, after the blocks."""
    named = {x for block in blocks for x in block}
    parts = [*blocks, *([x] for x in range(1, size + 1) if x not in named)]
    matrix = np.zeros((size, len(parts)))
    for y, part in enumerate(parts):
        matrix[np.array(part) - 1, y] = 1.0
    return matrix


@dataclass(frozen=True, eq=False)
class Release:
    """An answer, its two values and its objective (nats), and the objective's proved upper bound, inf if none."""

    release: Channel | Merging
    utility: float
    leakage: float
    objective: float
    bound: float

    @property
    def matrix(self) -> Floats:
        """Releases by symbol."""
        return np.asarray(self.release.matrix, dtype=np.float64)


def answer(
    problem: Problem[Any], solver: str | Solver[Any] | None = None, seed: int = 0, *, certify: bool = True
) -> Release:
    """The judged answer of a solver, which has 30 seconds.

    Raises
    ------
    ValueError
        If there is none.
    """
    solution = solve(problem, solver, time_limit=30, seed=seed, certify=certify)
    release = solution.answer
    if not solution.status.ok or not isinstance(release, Channel | Merging):
        raise ValueError(f"{solver} on {problem!r}: {solution.status.name}, {solution.reason}")
    read = problem.evaluate(release)
    bound = math.inf if solution.bound is None else solution.bound
    return Release(release, read.utility, read.leakage, read.objective, bound)


def matrix_of(release: Mechanism | None) -> Floats:
    """The matrix of a proposed channel or merging.

    Raises
    ------
    TypeError
        If there is none.
    """
    if not isinstance(release, Channel | Merging):
        raise TypeError(f"no release with a matrix: {release!r}")
    return np.asarray(release.matrix, dtype=np.float64)


def program(
    cost: Floats | Sequence[float],
    equal: tuple[Floats, Floats],
    below: tuple[Floats, Floats] | None = None,
) -> tuple[float, Floats]:
    """The value and a vertex of a linear program over x >= 0, by HiGHS; matrices come with right sides.

    Raises
    ------
    ArithmeticError
        If it has none.
    """
    from scipy.optimize import linprog

    above, limits = (None, None) if below is None else below
    optimum = linprog(cost, A_ub=above, b_ub=limits, A_eq=equal[0], b_eq=equal[1], method="highs-ds")
    if optimum.fun is None:
        raise ArithmeticError(f"the linear program has no value: {optimum.message}")
    return float(optimum.fun), np.asarray(optimum.x, dtype=np.float64)


def as_printed(texts: Sequence[str], ours: Sequence[float], why: str, digits: int = 6) -> Reproduced:
    """Numbers against printed texts: equal, equal when rounded or cut to the printed digits, or off.

    Examples
    --------
    >>> as_printed(["2.17"], [2.176981], "Cut.").finding.value
    'rounding'
    """
    pairs = [(text, float(text), value) for text, value in zip(texts, ours, strict=True)]
    worst = max(abs(p - o) / max(1.0, abs(p)) for _, p, o in pairs)
    near = Finding.ROUNDING if all(_near(*pair) for pair in pairs) else Finding.OFF
    return Reproduced(
        ", ".join(number(value, digits) for value in ours), Finding.MATCHES if worst <= EXACT else near, why
    )


def _last_digit(text: str) -> float:
    return float(10.0 ** -len(text.partition(".")[2]))


def _near(text: str, printed: float, ours: float) -> bool:
    unit = _last_digit(text)
    return abs(printed - ours) <= 0.5 * unit * (1 + 1e-9) or 0 <= abs(ours) - abs(printed) < unit


def within(texts: Sequence[str], ranges: Sequence[tuple[float, float]], ours: str, why: str) -> Reproduced:
    """Rounding if every printed value, or a value that is cut to it, lies in the range that rounded inputs allow."""
    fits = []
    for text, (low, high) in zip(texts, ranges, strict=True):
        printed, unit = float(text), _last_digit(text)
        cut = (printed, printed + unit) if printed > 0 else (printed - unit, printed)
        fits.append(min(cut[0], printed - unit / 2) <= high and max(cut[1], printed + unit / 2) >= low)
    return Reproduced(ours, Finding.ROUNDING if all(fits) else Finding.OFF, why)


def log_lift_range(s: int, columns: Sequence[int]) -> tuple[float, float]:
    """Log-lifts of a block of 0-based columns that tables attain whose cells round to the printed ones.

    A lift depends on four sums: the cell, the rest of its row, the rest of its column, and all else; the ends are
    taken at corners of their ranges, so each value is that of a table.
    """
    table = np.array(PRINTED)
    inside = np.zeros(table.shape[1], dtype=bool)
    inside[list(columns)] = True
    row = np.zeros(table.shape[0], dtype=bool)
    row[s] = True
    masks = [np.outer(r, c) for r, c in itertools.product((row, ~row), (inside, ~inside))]
    sums = [float(table[mask].sum()) for mask in masks]
    slack = [CELL * int(mask.sum()) for mask in masks]
    log_lifts = []
    for signs in itertools.product((-1, 1), repeat=4):
        a, r, c, o = (t + sign * d for t, sign, d in zip(sums, signs, slack, strict=True))
        log_lifts.append(math.log(a * (a + r + c + o) / ((a + r) * (a + c))))
    return min(log_lifts), max(log_lifts)


def absolute(low: float, high: float) -> tuple[float, float]:
    """The range of the absolute value."""
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def plotted(curves: Curves, axes_names: tuple[str, str], identifier: str, title: str) -> str:
    """Curves through points, as SVG.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        figure, axes = new_figure(5.6, 3.4)
        for place, (name, points) in enumerate(curves.items()):
            draw_line(axes, points, name, place)
        axes.set_xlabel(axes_names[0])
        axes.set_ylabel(axes_names[1])
        axes.legend(frameon=False)
        return svg(figure, identifier, title)
