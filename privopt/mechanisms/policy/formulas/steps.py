"""One release at one belief, for any distortion: by a sparse program, by intervals of a line, or by the definition.

A release is private exactly when it is (1 - L) K(y | x) + L Q(y), where L = e^-epsilon, theta = 1 / (e^epsilon + 1), K has
the output distribution Q, and K(y | x) <= Q(y) / theta. Each algorithm gives a kernel and a price for each letter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import TypeAlias

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.exact import Number, ball_ceiling, integer_row
from privopt.core.highs import SOLVED
from privopt.errors import InvalidMechanism
from privopt.files.labels import Labels
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.formula import Formula, program_seconds
from privopt.mechanisms.policy.formulas.program import cheapest_row, solve_structure
from privopt.mechanisms.policy.setting import Setting
from privopt.models import JointDistribution

Stats: TypeAlias = dict[str, float | int | str]
Table: TypeAlias = Floats | list[list[Fraction]]

LARGEST = 40.0
"""Beyond, e^-epsilon is less than what floats keep of 1; what is private at a lower level is private, and costs 1e-17 more."""
EXACT = 8.0
"""Nats above which floats show too little of e^-epsilon, and small channels are made of rationals."""
EXACT_CELLS = 4096
MOST_EXACT = 120.0
"""The level of rational channels for larger budgets: they cost 1e-52 more."""
BITS = 80
"""Of the entries of K in rationals."""

FAINT = 1e-12
"""Letters of less probability are left out of the program and then go wherever is cheapest for them."""
NEGLIGIBLE = 1e-11
"""A column this small, relative to theta, is rounding rather than part of the answer."""
MAX_CELLS = 100_000
MOST = 20.0
"""The level at which larger budgets are solved: 1 / theta is a coefficient of the program, and the loss is 2e-9 a letter."""

PIECES = 8
"""Letters heavier than theta / PIECES are cut into equal parts, at most twice as many."""
ROUNDING = 1e-12
"""How far below theta, relatively, a group may weigh and still count: repair makes up for it."""
MAX_STEPS = 2e9
INTERVAL_STEP = 3e-9
"""Seconds of one of them."""
ONE_END = 5000
"""Steps that take as long as beginning with another end of a group."""

MAX_WRITTEN = 150
KEPT_CELLS = 4096
"""Kernels of more cells are not kept for the next time that a belief comes up."""


@dataclass(frozen=True, eq=False)
class Step:
    """One release of a letter, or a word, whose belief everybody knows.

    Parameters
    ----------
    p : array (n,)
        The belief divided by its exact sum.
    cost : array (n, m)
        Distortions.
    budget : float
        Nats.
    belief : sequence of float or Fraction
        As it is given.
    line : labels, optional
        The letters, where they are numbers and the distortion grows with their distance.
    """

    p: Floats
    cost: Floats
    budget: float
    belief: Sequence[Number]
    line: Labels = ()

    @classmethod
    def of(cls, setting: Setting, belief: Sequence[float]) -> Step:
        """The release of a setting at a belief over what is read."""
        near = setting.batch == 1 and setting.distortion in ("l1", "squared")
        p = JointDistribution.normalised([belief]).p_x
        return cls(p, setting.cost, setting.epsilon, belief, setting.letters if near else ())

    @property
    def support(self) -> Ints:
        """Positions of the letters of positive probability."""
        return np.flatnonzero(self.p > 0)

    @property
    def level(self) -> float:
        """The budget, or ``LARGEST`` where a finite budget is more."""
        return self.budget if self.budget == math.inf else min(self.budget, LARGEST)

    @property
    def exact_pays(self) -> bool:
        """Whether rationals are worth while: a large finite budget, and a small table."""
        return EXACT < self.budget < math.inf and self.cost.size <= EXACT_CELLS

    def in_rationals(self, kernel: Floats) -> list[list[Fraction]]:
        """(1 - L) K + L Q in rationals, with L the least rational at hand that is at least e^-epsilon."""
        unit = 2**BITS
        low = _least(min(self.budget, MOST_EXACT))
        exact = integer_row(self.belief)
        rows = []
        for row in kernel.tolist():
            whole = [n * unit // d for n, d in (k.as_integer_ratio() for k in row)]
            whole[int(np.argmax(row))] += unit - sum(whole)
            rows.append(whole)
        output = [sum(map(mul, exact.weights, column)) for column in zip(*rows, strict=True)]
        own, common = (low.denominator - low.numerator) * exact.total, low.denominator * unit * exact.total
        shared = [low.numerator * q for q in output]
        blind = [Fraction(q, unit * exact.total) for q in output]
        return [
            [Fraction(own * k + q, common) for k, q in zip(row, shared, strict=True)] if weight else blind
            for weight, row in zip(exact.weights, rows, strict=True)
        ]


def _least(nats: float) -> Fraction:
    """A rational of 64 bits that is at least e^-nats."""
    from flint import arb, ctx

    with ctx.workprec(64):
        scaled = (-arb(nats)).exp() * arb(2) ** int(nats / math.log(2))
        return Fraction(ball_ceiling(scaled)) / Fraction(2 ** int(nats / math.log(2)))


@dataclass(frozen=True, eq=False)
class Answer:
    """A kernel (n, m), in floats or rationals, and a price for each letter."""

    kernel: Table
    prices: Floats
    stats: Stats = field(default_factory=dict)


def all_or_nothing(step: Step, stats: Stats) -> Answer | None:
    """The constant release where nothing may leak, the best release of each letter where anything may, or nearly."""
    n, m = step.cost.shape
    if step.budget == 0:
        best = int(np.argmin(step.p @ step.cost))
        return Answer(np.tile(np.eye(m)[best], (n, 1)), np.zeros(n), stats)
    if step.budget == math.inf:
        return Answer(np.eye(m)[step.cost.argmin(axis=1)], step.cost.min(axis=1), stats)
    return _grouped(step, stats)


def _grouped(step: Step, stats: Stats) -> Answer | None:
    """The optimum for large budgets, in rationals, if every release is that of a group of mass theta or more.

    Each letter x goes to the release g(x) of least (1 - L) D(x, y) + L mean of D(., y), and that least number, over 1
    - L, is its price. Then (1 - L) (D(x, y) - price of x) >= -L mean of D(., y), so the bound is the mean of the
    prices times 1 - L, which is what K = g costs.
    """
    if not step.exact_pays:
        return None
    levels = Levels.of(min(step.budget, MOST_EXACT))
    worth = levels.room * step.cost + levels.low * (step.p @ step.cost)
    best = worth.argmin(axis=1)
    mass = np.bincount(best, weights=step.p, minlength=step.cost.shape[1])
    if (mass[mass > 0] < levels.theta * (1 + 1e-9)).any():
        return None
    kernel = np.eye(step.cost.shape[1])[best]
    true = Levels.of(step.budget)
    lam = (true.room * step.cost + true.low * (step.p @ step.cost)).min(axis=1) / true.room
    return Answer(step.in_rationals(kernel), lam, stats)


def refuse_structure(step: Step) -> str | None:
    """The sentence for a program that is too large."""
    if (cells := len(step.support) * step.cost.shape[1]) > MAX_CELLS:
        return f"its program has {cells} cells, more than {MAX_CELLS}"
    return None


def structure(step: Step, seconds: float) -> Answer | None:
    """The optimum by one sparse linear program in K and Q / theta; None if it is not solved in time."""
    known = all_or_nothing(step, {"iterations": 0, "stop": "all or nothing"})
    if known is not None:
        return known
    levels = Levels.of(min(step.level, MOST))
    unit = float(np.abs(step.cost).max()) or 1.0
    p, cost = step.p, step.cost / unit
    heavy = np.flatnonzero(p >= FAINT)
    solved = solve_structure(p[heavy], cost[heavy], levels, seconds)
    if solved is None:
        return None
    used = solved.marginal > NEGLIGIBLE * levels.theta
    tops = np.where(used, solved.marginal / levels.theta, 0.0)
    kernel, lam = np.zeros(cost.shape), np.zeros(len(p))
    kernel[heavy], lam[heavy] = np.where(used, solved.kernel, 0.0), solved.prices
    for x in np.flatnonzero(p < FAINT):
        kernel[x], lam[x] = cheapest_row(cost[x], tops)
    if step.budget > MOST:  # theta is 0 but for rounding: each letter may be priced alone
        lam = cost.min(axis=1)
    kernel /= kernel.sum(axis=1, keepdims=True)
    output = p @ kernel
    kernel[p == 0] = output
    stats: Stats = {"iterations": solved.iterations, "stop": SOLVED}
    return Answer(levels.room * kernel + levels.low * output, unit * lam, stats)


def refuse_intervals(step: Step) -> str | None:
    """The sentence for what is not a line, or is too long a one."""
    if not step.line:
        return 'it needs letters on a line: distortion "l1" or "squared"'
    if (count := interval_steps(step)) > MAX_STEPS:
        return f"it would take {count:.0e} steps, more than {MAX_STEPS:.0e}"
    return None


def interval_steps(step: Step) -> float:
    """Pairs of the beginning and the end of a group times releases, and what each end takes besides.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(range(200), range(200))) * 1.0
    >>> belief, letters = np.full(200, 1 / 200), tuple(range(200))
    >>> [f"{interval_steps(Step(belief, line, epsilon, belief.tolist(), letters)):.0e}" for epsilon in (1.0, 4.0, 8.0)]
    ['2e+06', '4e+06', '2e+07']
    """
    levels = Levels.of(min(step.level, LARGEST))
    _, mass = _atoms(step, levels.theta)
    first, last = _starts(mass, levels.theta * (1 - ROUNDING))
    return float(step.cost.shape[1] * (last - first).sum() + ONE_END * len(mass))


def intervals(step: Step, seconds: float) -> Answer:
    """The best groups of neighbours of mass at least theta, each with the release that is best for it."""
    known = all_or_nothing(step, {"iterations": 0, "groups": 1})
    if known is not None:
        return known
    levels, p = Levels.of(step.level), step.p
    atoms, mass = _atoms(step, levels.theta)
    means = p @ step.cost
    worth = mass[:, None] * (levels.room * step.cost[atoms] + levels.low * means)
    ends, outputs = _split(mass, worth, levels.theta * (1 - ROUNDING))
    kernel = np.zeros(step.cost.shape)
    begin = 0
    for end, output in zip(ends, outputs, strict=True):
        np.add.at(kernel[:, output], atoms[begin:end], mass[begin:end])
        begin = end
    kernel[p == 0] = kernel.sum(axis=0)
    kernel /= kernel.sum(axis=1, keepdims=True)
    matrix = levels.room * kernel + levels.low * (p @ kernel)
    lam = (kernel * step.cost).sum(axis=1) + levels.low / levels.room * (kernel @ means)
    return Answer(matrix, lam, {"iterations": len(atoms), "groups": len(ends)})


def _atoms(step: Step, theta: float) -> tuple[Ints, Floats]:
    """Letters in the order of the line, heavy ones repeated, and the mass of each part."""
    places = np.array(step.line, dtype=np.float64)[step.support]
    order = step.support[np.argsort(places, kind="stable")]
    p = step.p[order]
    parts = np.ceil(np.minimum(p / theta * PIECES, 2 * PIECES)).astype(np.int64).clip(1)
    return np.repeat(order, parts), np.repeat(p / parts, parts)


def _starts(mass: Floats, least: float) -> tuple[Ints, Ints]:
    """From which prefix to before which one the last group may begin, for each prefix; shape (atoms + 1,) each.

    A group that is two groups of at least ``least`` each, of the same release, costs as much as these: it is left out.
    """
    weights = np.concatenate([[0.0], np.cumsum(mass)])
    places = np.arange(len(weights))
    last = np.minimum(np.searchsorted(weights, weights - least, side="right"), places)
    shortest = np.searchsorted(last, places, side="right")
    return np.searchsorted(shortest, last), last


def _split(mass: Floats, worth: Floats, least: float) -> tuple[list[int], list[int]]:
    """Ends and releases of the cheapest groups of neighbours that weigh at least ``least``: a path over prefixes."""
    sums = np.vstack([np.zeros(worth.shape[1]), np.cumsum(worth, axis=0)])
    total = len(mass)
    best, came = np.full(total + 1, np.inf), np.zeros(total + 1, dtype=np.int64)
    best[0] = 0.0
    for end, (first, last) in enumerate(zip(*(part.tolist() for part in _starts(mass, least)), strict=True)):
        if last > 0:
            costs = best[first:last] + (sums[end] - sums[first:last]).min(axis=1)
            came[end] = first + int(np.argmin(costs))
            best[end] = costs[came[end] - first]
    ends: list[int] = []
    outputs: list[int] = []
    end = total
    while end > 0:
        ends.append(end)
        outputs.append(int(np.argmin(sums[end] - sums[came[end]])))
        end = int(came[end])
    return ends[::-1], outputs[::-1]


def refuse_definition(step: Step) -> str | None:
    """The sentence for more than a few letters, and for budgets that the numbers of the program do not hold."""
    if step.cost.size > MAX_WRITTEN:
        return f"it writes {step.cost.size} cells out, more than {MAX_WRITTEN}"
    if 12 < step.budget < math.inf:
        return "its tolerance is 1e-10, which is too coarse for budgets above 12 nats"
    return None


def definition(step: Step, seconds: float) -> Answer:
    """Min E[D] over P(y | x) with e^-epsilon P(y) <= P(y | x) <= e^epsilon P(y), written out pair by pair; no prices."""
    from scipy.optimize import linprog

    (n, m), p, low = step.cost.shape, step.p, math.exp(-step.budget)
    below = []
    for x in step.support:
        for y in range(m):
            mine, output = np.zeros((n, m)), np.zeros((n, m))
            mine[x, y], output[:, y] = 1.0, p
            below += [(low * output - mine).ravel(), (low * mine - output).ravel()]
    solved = linprog(
        (p[:, None] * step.cost).ravel(),
        A_ub=np.array(below),
        b_ub=np.zeros(len(below)),
        A_eq=np.kron(np.eye(n), np.ones(m)),
        b_eq=np.ones(n),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    matrix = np.clip(np.asarray(solved.x).reshape(n, m), 0.0, None)
    matrix *= p @ matrix > 1e-11
    lost = (p == 0) | (matrix.sum(axis=1) == 0)  # of hardly any probability: they answer as the others do
    matrix[lost] = p @ matrix
    matrix /= matrix.sum(axis=1, keepdims=True)
    return Answer(matrix, np.zeros(0), {"iterations": int(solved.nit), "stop": str(solved.message)})


@dataclass(frozen=True)
class StepFormula(Formula):
    """The kernel that an algorithm for one release finds at each belief, without a limit of time.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> setting = Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1, 0.5, "hamming")
    >>> STRUCTURE.propose(setting, np.array([[0.85, 0.15]])).round(4).tolist()
    [[[1.0, 0.0], [1.0, 0.0]]]
    """

    name: str
    refuse: Callable[[Step], str | None]
    solve: Callable[[Step, float], Answer | None]
    takes: Callable[[int, float], float] = program_seconds

    def seconds(self, cells: int, level: float) -> float:
        """About how long it looks for a kernel of so many cells at a level in nats."""
        return self.takes(cells, level)

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels (M, n, m) for beliefs (M, n).

        Raises
        ------
        InvalidMechanism
            If the algorithm refuses the step, with its sentence, or finds no kernel.
        """
        kernel = _kept if setting.cost.size <= KEPT_CELLS else _kernel
        return np.array([kernel(self, setting, tuple(row)) for row in beliefs.tolist()])


def _kernel(formula: StepFormula, setting: Setting, belief: tuple[float, ...]) -> Floats:
    step = Step.of(setting, belief)
    refusal = formula.refuse(step)
    if refusal is not None:
        raise InvalidMechanism(f"the rule {formula.name!r} cannot be used here: {refusal}")
    answer = formula.solve(step, math.inf)
    if answer is None:
        raise InvalidMechanism(f"the rule {formula.name!r} found no kernel for the belief {belief}")
    return Channel(answer.kernel).matrix


@lru_cache(maxsize=2048)
def _kept(formula: StepFormula, setting: Setting, belief: tuple[float, ...]) -> Floats:
    return _kernel(formula, setting, belief)


def _interval_seconds(cells: int, level: float) -> float:
    """As :func:`interval_steps` where letters are alike likely."""
    letters = math.isqrt(cells)
    atoms = min(2 * PIECES * letters, letters + PIECES / Levels.of(min(level, LARGEST)).theta)
    return 1e-3 + INTERVAL_STEP * atoms * (ONE_END + 2 * PIECES * letters)


STRUCTURE = StepFormula("structure-lp", refuse_structure, structure)
INTERVALS = StepFormula("interval", refuse_intervals, intervals, _interval_seconds)
DEFINITION = StepFormula("oracle", refuse_definition, definition)
