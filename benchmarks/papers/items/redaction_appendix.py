"""Local redaction: Appendices A to F."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from privopt.benchmarks.papers import redaction_figures as frames
from privopt.benchmarks.papers import redactions as instances
from privopt.benchmarks.papers.item import Claim, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _redaction
from privopt.benchmarks.papers.redactions import all_at_once
from privopt.benchmarks.papers.verdicts import claimed, holds, invariant, judge, refuted
from privopt.core.dispatch import solve
from privopt.files.text import number
from privopt.measures import influence, redaction_leakage
from privopt.measures.redaction.influence import BinaryChain
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.constant import ConstantClosedForm, ConstantSearch


@reproduces("R-EQ56")
def conditions(setting: Setting) -> Reproduced:
    """The exact conditions, as sums over subsets of the medium records."""

    def check(rng: np.random.Generator) -> float:
        chain, records = _redaction.chain(*_redaction.rates(rng, 1)), int(rng.integers(2, 5))
        budget = float(rng.uniform(0.1, 2))
        medium = _redaction.regions_of(chain, records, budget)[1]
        rows = _redaction.mechanism_side(chain, records, budget, rng.uniform(0.05, 1, medium))
        table = np.vstack([_redaction.ALWAYS, rows])
        return abs(all_at_once(chain, 0, table) - redaction_leakage(chain, 0, table))

    why = "The sums over all subsets of the medium records and the recursion over first releases are one number."
    return invariant(check, setting, setting.count(20, 300), why)


@reproduces("R-AX")
def bounding_step(setting: Setting) -> Reproduced:
    """The printed ratio of products is upside down."""
    products = (0.2 * 0.5, 0.9 * 0.7)
    printed, right = math.log(min(products) / max(products)), math.log(max(products) / min(products))
    return refuted(
        printed < 0 < right,
        f"as printed {printed:.4f}, the other way up {right:.4f}",
        "The logarithm of the smallest over the largest product is negative and bounds no leakage; the bound that follows "
        "from it in the paper is the right one.",
    )


def _alike(names: tuple[str, str], setting: Setting, why: str, least: int) -> Reproduced:
    def check(rng: np.random.Generator) -> float:
        n = int(rng.integers(3, 20))
        one = Redaction(
            _redaction.chain(*_redaction.rates(rng, 1)),
            n,
            int(rng.integers(least, n - least)),
            rng.uniform(0.1, 2),
        )
        ours, theirs = (_redaction.utility(one, name) for name in names)
        return abs(ours - theirs)

    return invariant(check, setting, setting.count(3, 30), why, 2e-5)


@reproduces("R-A2")
def convex_problem(setting: Setting) -> Reproduced:
    """The convex problem by isotonic regression and by a conic solver."""
    why = "Prefix constraints on logarithms make it an isotonic regression; an interior-point solver finds the same."
    return _alike(("relaxation", "conic-clarabel"), setting, why, 0)


@reproduces("R-A2b")
def split(setting: Setting) -> Reproduced:
    """Records on both sides: the same problem a side."""
    why = "The same problem on each side with the budget split between them; the split itself is searched."
    return _alike(("relaxation", "conic-clarabel"), setting, why, 1)


@reproduces("R-A3")
def closed_form(setting: Setting) -> Reproduced:
    """The closed form of the constant."""

    def check(rng: np.random.Generator) -> float:
        chain, records, budget = (
            _redaction.chain(*_redaction.rates(rng, 1)),
            int(rng.integers(2, 12)),
            rng.uniform(0.1, 2),
        )
        budgets = _redaction.prefix_budgets(chain, records, budget)
        if not len(budgets):
            return 0.0
        q = float(np.exp(-budgets / np.arange(1, len(budgets) + 1)).max())
        rows = _redaction.mechanism_side(chain, records, budget, np.full(len(budgets), q))
        one = Redaction(chain, records + 1, 0, budget)
        table = solve(one, ConstantClosedForm(share=0.0)).mechanism.probabilities[1:]
        return max(_redaction.one_side(chain, rows) - budget, float(np.abs(rows - table).max()))

    why = "The printed maximum is feasible and is what the solver of that name returns; epsilon means the budget of the side."
    return invariant(check, setting, setting.count(10, 200), why)


@reproduces("R-A4")
def grid_search(setting: Setting) -> Reproduced:
    """The constant found on the exact leakage, by bisection and on a grid."""
    problem = Redaction(_redaction.chain(0.01, 0.8), 10, 0, 1.0)
    bisected = _redaction.utility(problem, ConstantSearch(all_regions=False))
    rows = np.linspace(0, 1, setting.count(101, 2001))
    private = [q for q in rows.tolist() if _leaks(problem, q) <= 1.0]
    gridded = problem.evaluate(problem.answer(_table(problem, min(private)))).utility
    return holds(
        0 <= bisected - gridded < 1 / (len(rows) - 1),
        f"bisection {bisected:.6f}, grid of {len(rows)} {gridded:.6f}",
        "The leakage falls as q rises, so bisection finds what a grid approaches; the paper does not print its grid.",
    )


def _table(problem: Redaction, q: float) -> np.ndarray:
    medium = _redaction.regions_of(problem.chain, problem.length - 1, problem.epsilon)[1]
    rows = _redaction.mechanism_side(problem.chain, problem.length - 1, problem.epsilon, np.full(medium, q))
    return np.vstack([_redaction.ALWAYS, rows])


def _leaks(problem: Redaction, q: float) -> float:
    return redaction_leakage(problem.chain, 0, _table(problem, q))


@reproduces("R-A1")
def algorithm_one(setting: Setting) -> Reproduced:
    """The Markov quilt window is private, and too wide."""
    wider = []

    def check(rng: np.random.Generator) -> float:
        one = _redaction.question(rng)
        table = solve(one, "markov-quilt", certify=False).mechanism.probabilities
        best = solve(one, "windows", certify=False).mechanism.probabilities
        wider.append(round(float(table[:, 0].sum() - best[:, 0].sum())))
        return redaction_leakage(one.chain, one.private[0], table) - one.epsilon

    outcome = invariant(check, setting, setting.count(50, 1000), "")
    return Reproduced(
        outcome.ours,
        outcome.finding,
        f"Private in every run; it hides up to {max(wider)} records more than it has to.",
    )


@reproduces("R-MQ")
def quilt_bound(setting: Setting) -> Reproduced:
    """The lower bound on the utility of MQ."""

    def check(rng: np.random.Generator) -> float:
        one = _redaction.question(rng)
        (p,) = one.private
        n, far = one.length, _redaction.reach(one.chain, one.epsilon)
        r1, r2 = far + p, 2 * _redaction.reach(one.chain, one.epsilon / 2) - 1
        ends = [_redaction.largest(one.chain, d) if d else 0.0 for d in (p, n - 1 - p)]
        if one.epsilon < ends[1]:
            least = 0.0
        elif one.epsilon >= sum(ends):
            least = 1 - min(r1, r2) / n - 2 / n
        else:
            least = 1 - r1 / n - 1 / n
        return least - (solve(one, "markov-quilt", certify=False).utility or 0.0)

    return invariant(
        check, setting, setting.count(50, 1000), "The three printed cases, with the theorem's distances."
    )


@reproduces("R-MQ2")
def asymptotic(setting: Setting) -> Reproduced:
    """MQ against the best window as the chain grows."""
    chain, more = _redaction.chain(0.05, 0.2), []
    for n in (10, 100, 1000, setting.count(2000, 10_000)):
        one = Redaction(chain, n, n // 3, 1.0)
        quilt, best = (
            float(solve(one, name, certify=False).mechanism.probabilities[:, 0].sum())
            for name in ("markov-quilt", "windows")
        )
        more.append(round(quilt - best))
    outcome = holds(
        max(more) <= 4,
        f"{', '.join(map(str, more))} records more",
        "A bounded number of records, so the share of them tends to 0 as the chain grows.",
    )
    return replace(outcome, claims=(_within_two(),))


def _within_two() -> Claim:
    """MQ on the chain of Figure 4."""
    problem = frames.figure_problem(1.0)
    quilt, window = (frames.proved(problem, name)[0] for name in ("markov-quilt", "windows"))
    far = BinaryChain(0.01, 0.8).first_within(1.0)
    least = 1 - (far + 2) / 10
    return Claim(
        "MQ is within two records of the bound (chain of Figure 4)",
        "Appendix C",
        f"at least {number(least)}",
        f"MQ {number(quilt)}, best window {number(window)}",
        judge(quilt >= least - 1e-12),
        f"Algorithm 1 hides the record at distance {far} although it may be released.",
    )


@reproduces("R-MQ3")
def quilt_utility(setting: Setting) -> Reproduced:
    """The utility of MQ by its window."""

    def check(rng: np.random.Generator) -> float:
        one = _redaction.question(rng)
        solution = solve(one, "markov-quilt", certify=False)
        width = float(solution.mechanism.probabilities[:, 0].sum())
        return abs((solution.utility or 0.0) - (1 - width / one.length))

    return invariant(
        check, setting, setting.count(20, 300), "1 - (left + right + 1) / n, as long as the window fits."
    )


@reproduces("R-RM1")
def composition(setting: Setting) -> Reproduced:
    """Influences of two borders add."""
    odd = [0.0]

    def check(rng: np.random.Generator) -> float:
        chain = _redaction.chain(*_redaction.rates(rng))
        left, right = (int(d) for d in rng.integers(1, 6, 2))
        rows = [np.vstack([np.ones((d - 1, 2)), np.zeros((1, 2))]) for d in (left, right)]
        together = _redaction.both_sides(chain, *rows)
        alone = _redaction.largest(chain, left) + _redaction.largest(chain, right)
        if (left + right) % 2 == 0 or chain.transition[0, 0] > chain.transition[1, 0]:
            return abs(together - alone)
        odd[0] = max(odd[0], alone - together)
        return together - alone

    outcome = invariant(check, setting, setting.count(50, 1000), "")
    why = (
        "For a positive second eigenvalue they add whatever the parity; for a negative one and odd distances the sum is "
        f"larger by up to {odd[0]:.3f}."
    )
    return Reproduced(outcome.ours, outcome.finding, why)


@reproduces("R-C2")
def necessary(setting: Setting) -> Reproduced:
    """The necessary condition on the window."""

    def check(rng: np.random.Generator) -> float:
        one = _redaction.question(rng)
        (p,) = one.private
        table = solve(one, "windows", certify=False).mechanism.probabilities[:, 0]
        left = next((d for d in range(1, p + 1) if table[p - d] < 1), p + 1) - 1
        right = next((d for d in range(1, one.length - p) if table[p + d] < 1), one.length - p) - 1
        if (left + right) % 2 and left < p:
            return 0.0
        used = 0.0 if left == p else _redaction.largest(one.chain, left + 1)
        used += 0.0 if right == one.length - 1 - p else _redaction.largest(one.chain, right + 1)
        return used - one.epsilon

    return invariant(
        check,
        setting,
        setting.count(30, 500),
        "Checked on the best window, where its parity condition is met.",
    )


@reproduces("R-L1")
def lower_bound(setting: Setting) -> Reproduced:
    """Leakage is at least the influence of what can be released."""

    def check(rng: np.random.Generator) -> float:
        chain, n = _redaction.chain(*_redaction.rates(rng)), int(rng.integers(2, 7))
        table = instances.table(rng, n, 2, 0)
        leaks = redaction_leakage(chain, 0, table)
        shown = [float(_redaction.told(chain, t)[v]) for t in range(1, n) for v in (0, 1) if table[t, v] < 1]
        return max(shown, default=0.0) - leaks

    why = (
        "Holds, with equality for windows (see Definition 4); the last displays leave the logarithm out and compare a ratio "
        "with the logarithm of one."
    )
    return invariant(check, setting, setting.count(50, 1000), why)


@reproduces("R-JE")
def minimum_numbers(setting: Setting) -> Reproduced:
    """Equations (9) and (10)."""
    distribution, best = _redaction.chain(0.25, 0.5), Redaction(_redaction.chain(0.25, 0.5), 8, 3, 0.3)
    half = BinaryChain.of(distribution)
    least = 2 * (half.first_within(0.15) if half else 0) - 2
    hidden = frames.proved(best, "windows")[1].mechanism.probabilities[:, 0]
    return claimed(
        Claim(
            "records to hide beside the private one when both sides release (α = 0.25, β = 0.5, n = 8, p = 4, ε = 0.3)",
            "Equation (10)",
            f"at least {least}",
            f"{int(hidden.sum()) - 1} suffice",
            judge(int(hidden.sum()) - 1 >= least),
            "The even sum is at least 2 Δ*(ε/2) − 2, so the odd one, a record less, is at least 2 Δ*(ε/2) − 3.",
        )
    )


@reproduces("R-TP")
def threshold(setting: Setting) -> Reproduced:
    """One side or both: the printed threshold against the best window."""
    rng, wrong, total = setting.rng(), 0, setting.count(100, 1000)
    for _ in range(total):
        one = _redaction.question(rng, 1)
        (p,) = one.private
        ends = [_redaction.largest(one.chain, d) if d else 0.0 for d in (p, one.length - p)]
        if p == 0 or one.epsilon < sum(ends):
            continue
        sign = (
            p
            + 1
            + _redaction.reach(one.chain, one.epsilon)
            - 2 * _redaction.reach(one.chain, one.epsilon / 2)
        )
        table = solve(one, "windows", certify=False).mechanism.probabilities[:, 0]
        hidden = float(table.sum())
        one_sided = p + _redaction.reach(one.chain, one.epsilon)
        wrong += (sign < 0) != (hidden >= one_sided)
    return refuted(
        wrong > 0,
        f"decides otherwise than the best window in {wrong} of {total} random chains",
        "It rests on Equation (10), which is off by one: near the threshold two pointers decide, not its sign.",
    )


@reproduces("R-BA")
def balanced(setting: Setting) -> Reproduced:
    """Balanced radii."""
    one = Redaction(_redaction.chain(0.6, 0.99), 12, 5, 1.2)
    table = solve(one, "windows").mechanism.probabilities[:, 0]
    left = int(np.argmin(table[5::-1] == 1)) - 1
    right = int(np.argmin(table[5:] == 1)) - 1
    return refuted(
        abs(left - right) > 1,
        f"the best radii are ({left}, {right})",
        "With a negative second eigenvalue (alpha 0.6, beta 0.99, n 12, p 6, epsilon 1.2) far records of one parity tell less.",
    )


@reproduces("R-P1a")
def closed_forms(setting: Setting) -> Reproduced:
    """The closed forms of the influences."""

    def check(rng: np.random.Generator) -> float:
        alpha, beta = _redaction.rates(rng)
        d = int(rng.integers(1, 8))
        power = (1 - alpha - beta) ** d
        printed = [abs(math.log((1 + c * power) / (1 - power))) for c in (alpha / beta, beta / alpha)]
        matrix = np.linalg.matrix_power(np.array([[1 - alpha, alpha], [beta, 1 - beta]]), d)
        ours = np.abs(np.log(matrix[0] / matrix[1]))
        return float(np.abs(ours - printed).max())

    return invariant(
        check, setting, setting.count(50, 1000), "Equations (13) to (16) against powers of the matrix.", 1e-6
    )


@reproduces("R-P1b")
def convexity(setting: Setting) -> Reproduced:
    """Convexity of the influence in the distance."""
    told = [float(influence(_redaction.chain(0.9, 0.95), 0, d).max()) for d in range(1, 6)]
    second = np.diff(told, 2)
    return claimed(
        Claim(
            "the max-influence is convex in the distance (α = 0.9, β = 0.95)",
            "Proposition 1",
            "convex",
            f"second differences {', '.join(number(value, 3) for value in second.tolist())}",
            judge(bool((second >= 0).all())),
            "True for a second eigenvalue of at least 0; for a negative one only among distances of equal parity.",
        )
    )


@reproduces("R-P1c")
def product(setting: Setting) -> Reproduced:
    """(beta / alpha) |lambda| < 1 for a negative eigenvalue."""

    def check(rng: np.random.Generator) -> float:
        alpha, beta = _redaction.rates(rng, -1)
        value = beta / alpha * abs(1 - alpha - beta)
        identity = abs(value - (1 - (alpha + beta) * (1 - beta) / alpha))
        return max(value - 1, identity)

    return invariant(
        check, setting, setting.count(100, 1000), "With the identity 1 - (alpha + beta)(1 - beta) / alpha."
    )


@reproduces("R-DEC")
def decreasing(setting: Setting) -> Reproduced:
    """The influence falls with the distance."""

    def check(rng: np.random.Generator) -> float:
        chain = _redaction.chain(*_redaction.rates(rng))
        values = [_redaction.largest(chain, d) for d in range(1, 7)]
        return max(b - a for a, b in itertools.pairwise(values))

    return invariant(
        check,
        setting,
        setting.count(50, 1000),
        "For either sign of the second eigenvalue, if it is not 0.",
        0.0,
    )
