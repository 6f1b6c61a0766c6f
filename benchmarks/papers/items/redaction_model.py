"""Local redaction: definitions, Table I, Example 1 and the figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.papers import redaction_figures as drawings
from privopt.benchmarks.papers import redaction_figures as frames
from privopt.benchmarks.papers import redactions as instances
from privopt.benchmarks.papers.item import Claim, Exhibit, Finding, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _redaction
from privopt.benchmarks.papers.redactions import all_at_once
from privopt.benchmarks.papers.verdicts import compare, compared, holds, invariant, judge, substitute
from privopt.files.text import number
from privopt.measures import influence, redaction_leakage, regions
from privopt.mechanisms import RedactionMechanism
from privopt.models import MarkovChain
from privopt.problems.redaction.problem import Redaction

if TYPE_CHECKING:
    from pandas import DataFrame


_CHOICE = np.array([[1.0, 1.0], [0.125, 1.0]])
_DIGITS = 10
_AGAIN = "The paper's text prints none of the plotted values: the curves are recomputed from its formulas."
_LOST = "The plotted values are lost with the figure; the curve is computed again from its formulas."


@reproduces("R-D1")
def leakage(setting: Setting) -> Reproduced:
    """The recursion against the definition, output by output."""

    def check(rng: np.random.Generator) -> float:
        length = int(rng.integers(1, 6))
        chain, private = instances.any_chain(rng, 2, length), int(rng.integers(length))
        table = instances.table(rng, length, 2, private)
        ours, listed = redaction_leakage(chain, private, table), all_at_once(chain, private, table)
        return 0.0 if ours == listed else abs(ours - listed) / max(1.0, listed)

    return invariant(
        check, setting, setting.count(20, 300), "The recursion gives the largest ratio over all 3^n outputs."
    )


@reproduces("R-D2")
def utility(setting: Setting) -> Reproduced:
    """The largest utility is (n - 1) / n."""
    problem = Redaction(frames.example_chain(), 5, 2, math.inf)
    best = _redaction.utility(problem, "optimal")
    return holds(
        best == 0.8,
        f"at most {best:g} of 5 records",
        "The private record itself is always hidden, so n - 1 of n is the most there is.",
    )


@reproduces("R-D2b")
def distances(setting: Setting) -> Reproduced:
    """Hidden records as Hamming, L1 and L2 errors of one each."""

    def check(rng: np.random.Generator) -> float:
        length = int(rng.integers(2, 6))
        chain, table = instances.binary_chain(rng), instances.table(rng, length, 2, 0)
        problem = Redaction(chain, length, 0, 1.0)
        told = problem.evaluate(RedactionMechanism(table)).utility
        hidden = 0.0
        for word in itertools.product(range(2), repeat=length):
            p = float(chain.marginal(0)[word[0]])
            for x, y in itertools.pairwise(word):
                p *= float(chain.transition[x, y])
            hidden += p * sum(float(table[t, v]) for t, v in enumerate(word))
        return abs((1 - told) * length - hidden)

    why = "1 - utility is the mean number of erasures a record; on bits an erasure counts one in Hamming, L1 and L2 alike."
    return invariant(check, setting, setting.count(10, 200), why)


@reproduces("R-D3")
def influences(setting: Setting) -> Reproduced:
    """Regions from the influences, the private record in none."""

    def check(rng: np.random.Generator) -> float:
        one = _redaction.question(rng, longest=12)
        (p,) = one.private
        level = one.epsilon / 2
        ours = regions(one.chain, one.length, p, level, level)
        records = [t for t in range(one.length) if t != p]
        low = {t: float(influence(one.chain, p, t).min()) for t in records}
        high = {t: float(influence(one.chain, p, t).max()) for t in records}
        expected = (
            tuple(t for t in records if low[t] > level),
            tuple(t for t in records if low[t] <= level < high[t]),
            tuple(t for t in records if high[t] <= level),
        )
        return 0.0 if tuple(map(tuple, ours)) == expected else 1.0

    why = "The convention that the influence of p on itself is 0 would put p among the records always released; it is left out."
    return invariant(check, setting, setting.count(20, 200), why)


@reproduces("R-D4")
def quilt(setting: Setting) -> Reproduced:
    """What lies beyond a window leaks as much as the window's border."""

    def check(rng: np.random.Generator) -> float:
        chain = _redaction.chain(*_redaction.rates(rng))
        left, right = (int(d) for d in rng.integers(1, 4, 2))
        rows = [np.vstack([np.ones((d, 2)), np.zeros((k, 2))]) for d in (left, right) for k in (1, 3)]
        near = _redaction.both_sides(chain, rows[0], rows[2])
        far = _redaction.both_sides(chain, rows[1], rows[3])
        return abs(near - far)

    why = (
        "With a window hidden, releasing only its two borders leaks exactly what releasing all the rest leaks; the ranges of "
        "Definition 5 have to be read as the records between p and the border."
    )
    return invariant(check, setting, setting.count(20, 300), why)


@reproduces("R-M0")
def reversible(setting: Setting) -> Reproduced:
    """Two-state chains are reversible, chains of three states are not."""
    cycle = MarkovChain([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    gap = float(np.abs(cycle.reversed(1) - cycle.transition).max())

    def check(rng: np.random.Generator) -> float:
        chain = instances.binary_chain(rng)
        return float(np.abs(chain.reversed(1) - chain.transition).max())

    why = f"True of every two-state chain; a cycle of three states differs by {gap:.1f}, so it must not be used there."
    return invariant(check, setting, setting.count(50, 500), why, 1e-12)


@reproduces("R-F1")
def setting_drawing(setting: Setting) -> Reproduced:
    """A drawing of the setting."""
    return substitute(
        "nothing to compute",
        "A drawing without numbers: records, a local mechanism for each, and what is released.",
    )


@reproduces("R-T1")
def table_one(setting: Setting) -> Reproduced:
    """Four likelihood ratios."""
    frame = frames.table_one()
    ours = [float(value) for value in frame["computed"]]
    exhibit = Exhibit(
        "Table I",
        "Likelihood ratios of the second record, α = 0.25, β = 0.5: as printed, and computed from the chain.",
        frame,
    )
    printed = [1.5, 0.5, 2 / 3, 2.0]
    order = [float(Fraction(str(text))) for text in frame["printed"]]
    comparison = compared(order, ours, 0.0, "Ratios of two entries of the transition matrix.")
    if sorted(order) != sorted(printed):
        raise ValueError("the table of printed ratios was changed")
    return Reproduced(comparison.ours, comparison.finding, comparison.why, (exhibit,), tuple(_ratios(frame)))


def _ratios(frame: DataFrame) -> Iterator[Claim]:
    """Table I, number by number."""
    for row in frame.itertuples(index=False):
        printed, ours = str(row.printed), float(str(row.computed))
        what = f"Pr(X₂ = {row.x2} | X₁ = {row.x}) / Pr(X₂ = {row.x2} | X₁ = {1 - int(str(row.x))})"
        finding = compare(float(Fraction(printed)), ours)
        why = "A ratio of two entries of the matrix."
        yield Claim(what, "Table I", printed, number(ours, _DIGITS), finding, why)


@reproduces("R-E1a")
def example_influences(setting: Setting) -> Reproduced:
    """Influences of the two-record chain, and the best window."""
    told = influence(frames.example_chain(), 0, 1)
    none = _redaction.utility(Redaction(frames.example_chain(), 2, 0, 0.5), "windows")
    ours = [float(told.max()), float(told.min()), none]
    comparison = compared(
        [math.log(2), math.log(1.5), 0.0],
        ours,
        0.0,
        "Influences of 1 and of 0, and the best window's utility.",
    )
    claims = [
        Claim(
            f"influence on the first record of X₂ = {value}",
            "Example 1",
            printed,
            number(told[value], _DIGITS),
            compare(math.log(ratio), told[value]),
            "Logarithms are natural.",
        )
        for value, printed, ratio in ((0, "log(3/2)", 1.5), (1, "log(2)", 2.0))
    ]
    why = "Both values of the second record may be shown only if the larger influence fits."
    shown = number(none, _DIGITS)
    window = Claim("best data-independent utility", "Example 1", "0", shown, compare(0.0, none), why)
    return replace(comparison, claims=(*claims, window))


@reproduces("R-E1b")
def example_choice(setting: Setting) -> Reproduced:
    """The utility with q = 1/8, and the best q."""
    problem = Redaction(frames.example_chain(), 2, 0, 0.5)
    told = problem.evaluate(RedactionMechanism(_CHOICE))
    best = _redaction.utility(problem, "optimal")
    comparison = compared([7 / 24, 0.292], [told.utility, told.utility], 5e-4, "")
    why = f"Feasible (leakage {told.leakage:.7f}) with the printed utility, but not the best choice: the optimum is {best:.10f}."
    if not (told.feasible and best > told.utility):
        raise ValueError("1/8 is feasible and not optimal no more")
    exhibit = Exhibit(
        "Example 1",
        "Two records, the first private, ε = 0.5: mechanisms for the second record, which hide a one always and a zero "
        "with probability q₂. The paper's choice of 1/8 is private; the best one is smaller.",
        frames.example_one(),
    )
    return Reproduced(
        comparison.ours, Finding.ROUNDING, why, (exhibit,), tuple(_example(problem, told.utility))
    )


def _example(problem: Redaction, utility: float) -> Iterator[Claim]:
    best, solution = frames.proved(problem, "optimal")
    smaller = number(float(solution.mechanism.probabilities[1, 0]), _DIGITS)
    why = f"Right, but 1/8 is not the best choice: q₂ = {smaller} gives {number(best, _DIGITS)}."
    shown = number(utility, _DIGITS)
    yield Claim("utility with q₂ = 1/8", "Example 1", "7/24", shown, compare(7 / 24, utility), why)
    finding = compare(0.292, utility, 5e-4)
    yield Claim("the same as a decimal", "Example 1", "0.292", shown, finding, "Three digits of 7/24.")


@reproduces("R-E1c")
def example_condition(setting: Setting) -> Reproduced:
    """The ratio of hidden outputs."""
    ratio = (0.125 * 0.5 + 0.5) / (0.25 + 0.125 * 0.75)
    leaks = redaction_leakage(frames.example_chain(), 0, _CHOICE)
    outcome = holds(
        ratio <= math.exp(0.5) and abs(math.log(ratio) - leaks) < 1e-12,
        f"{ratio:.6f} <= {math.exp(0.5):.6f}",
        "The condition is the leakage of the mechanism; the display writes the record where its output is meant.",
    )
    claim = Claim(
        "q₂ = 1/8 is private at ε = 0.5",
        "Example 1",
        "stated",
        f"ratio {number(ratio)}, at most {number(math.exp(0.5))}; leakage {number(leaks, 7)}",
        judge(leaks <= 0.5),
        "The hidden output leaks most; the display writes X₂ where the output Y₂ is meant.",
    )
    return replace(outcome, claims=(claim,))


@reproduces("R-F2")
def figure_two(setting: Setting) -> Reproduced:
    """Influences by distance."""
    frame = frames.influences()
    chain = frames.example_chain()
    low, high = _redaction.told(chain, 1)
    mechanisms = frames.middle()
    exhibits = (
        Exhibit(
            "Figure 2",
            "Influence of each value on the private record against distance, α = 0.25, β = 0.5. The paper prints no ε; "
            f"here ε′ = ε/2 = {frames.LEVEL:g}, which shows all three regions. {_AGAIN}",
            frame,
            lambda: drawings.draw_influences(frame, frames.LEVEL, "figure2"),
        ),
        Exhibit(
            "Figure 2, as mechanisms",
            f"How often each record is hidden, by its value, on nine records of that chain with ε = {2 * frames.LEVEL:g}: the "
            "paper's 3R with ε/2 for each side and its closed form for q, and, ours, the best local mechanism. Not in the paper.",
            mechanisms,
            lambda: drawings.draw_bars(mechanisms, "distance from the private record", "figure2-mechanisms"),
        ),
    )
    falling = all(_redaction.largest(chain, d) > _redaction.largest(chain, d + 1) for d in range(1, 9))
    outcome = holds(
        falling and low < high,
        f"at distance 1: {low:.6f} of a zero, {high:.6f} of a one",
        f"Both curves fall with distance, ones tell more. {_LOST}",
        exhibits,
    )
    return replace(outcome, claims=())


@reproduces("R-F3")
def figure_three(setting: Setting) -> Reproduced:
    """Utilities by budget."""
    frame = frames.utilities(setting.quick)
    exhibit = Exhibit(
        "Figure 3",
        "Utility against ε, p = 1, n = 10, α = 0.01, β = 0.8. Curves of the paper: the bound of Theorem 2, 3R with the "
        "closed form, and 3R with the best constant in its regions, found by bisection instead of a grid. Beside them "
        "Algorithm 1 (MQ) and, ours, the relaxation with the regions searched, which coincides with the closed form "
        f"here, the best local mechanism, and a sequential one. {_AGAIN}",
        frame,
        lambda: drawings.draw_utilities(frame, "figure3"),
    )
    problem = frames.figure_problem(1.0)
    names = ("windows", "constant-closed-form", "optimal")
    window, relaxed, best = (_redaction.utility(problem, name) for name in names)
    outcome = holds(
        window < relaxed < best,
        f"at 1 nat: window {window:.6f}, relaxed 3R {relaxed:.6f}, optimum {best:.6f}",
        f"The order of the caption. {_LOST}",
        (exhibit,),
    )
    return replace(outcome, claims=())


@reproduces("R-F4")
def figure_four(setting: Setting) -> Reproduced:
    """Redaction probabilities by record."""
    frame = frames.probabilities()
    exhibit = Exhibit(
        "Figure 4",
        "Probability that a record is hidden when it is 0, ε = 1, same chain; in the sequential mechanism, given that no "
        f"nearer record was released. Ones are hidden wherever the bar is not 0. {_AGAIN}",
        frame,
        lambda: drawings.draw_bars(frame, "record", "figure4"),
    )
    large, medium, small = regions(frames.figure_problem(1.0).chain, 10, 0, 0.0, 1.0)
    outcome = holds(
        not large and tuple(medium) == (1, 2) and min(small) == 3,
        "records 2 and 3 are medium, all from 4 on are released",
        f"Regions of the chain of Figure 3 at 1 nat. {_LOST}",
        (exhibit,),
    )
    return replace(outcome, claims=())
