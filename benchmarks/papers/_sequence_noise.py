"""What the paper prints about Example 1, Figures 3 and 4."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks._papers import Finding
from privopt.benchmarks.papers._sequence_example import (
    Example,
    printed_correlation,
    printed_noise,
    printed_posteriors,
    printed_second,
)
from privopt.benchmarks.papers._sequence_items import Answer, answers, law, listed

if TYPE_CHECKING:
    import pandas as pd

POINTS = ((0.5, 2.0), (0.5, 3.0), (0.95, 3.0))
"""P1 and epsilon; the paper prints no epsilon."""


def random_examples(count: int) -> list[Example]:
    """Examples with P1, phi and both budgets drawn at random."""
    rng = np.random.default_rng(16)
    draw = rng.uniform((0.05, 0.02, 0.3, 0.3), (0.95, 0.98, 3.0, 3.0), (count, 4))
    return [Example(*map(float, row)) for row in draw]


def grid(p1: float, epsilon: float, points: int) -> list[Example]:
    """Examples with phi from 0 to 1/2."""
    return [Example(p1, float(phi), epsilon, epsilon) for phi in np.linspace(0, 0.5, points)]


def curves(p1: float, epsilon: float, points: int = 41) -> pd.DataFrame:
    """The panels of Figures 3 and 4, a row a phi."""
    import pandas as pd

    found = grid(p1, epsilon, points)
    return pd.DataFrame(
        {
            "φ": [e.phi for e in found],
            "correlation of the data": [e.data for e in found],
            "correlation of the noise": [e.noise for e in found],
            "mutual information of the noise": [e.information for e in found],
            "noise at time 2": [e.noise2 for e in found],
            "leakage of step 2": [e.leakage for e in found],
            "private": [e.private for e in found],
        }
    )


@answers("S-E1")
def data_correlation(quick: bool) -> Answer:
    """Equation (16) against enumeration."""
    gap = max(abs(printed_correlation(e.p1, e.phi) - e.data) for e in random_examples(100))
    ends = [printed_correlation(0.5, phi) for phi in (0.0, 0.2, 0.5, 1.0)]
    return Answer(
        f"within {gap:.1g} of enumeration; {listed(ends)} at φ = 0, .2, 1/2, 1 (P₁ = .5)",
        Finding.MATCHES if gap < 1e-12 else Finding.OFF,
        "The formula and its three limits are right.",
    )


@answers("S-E1b")
def posteriors(quick: bool) -> Answer:
    """Equations (49) to (52) against enumeration."""
    gap = 0.0
    for e in random_examples(100):
        given = e.law[:, :, 1].sum(axis=2)
        gap = max(gap, float(np.abs(printed_posteriors(e.p1, e.phi, e.e1) - given / given.sum()).max()))
    return Answer(
        f"within {gap:.1g} of enumeration",
        Finding.MATCHES if gap < 1e-12 else Finding.OFF,
        "Right with ε₁ in (49), which prints ε; the general line's denominator needs its own summation index.",
    )


@answers("S-E1c")
def second_step(quick: bool) -> Answer:
    """The entries of Appendix D are the printed kernel, which is not always private."""
    gap = 0.0
    for e in random_examples(100):
        mine = np.array([e.second[1, 0, 1], e.second[1, 1, 0], e.second[0, 0, 1], e.second[0, 1, 0]])
        gap = max(gap, float(np.abs(printed_second(e.p1, e.phi, e.e1, e.e2) - mine).max()))
    near = [Example(0.5, 0.0, e, e).leakage for e in (2.0, 3.0)]
    least = math.log(1 / 0.05 - 1)
    return Answer(
        f"formulas within {gap:.1g}; leakage {listed(near)} at φ = 0 for ε = 2, 3 (P₁ = .5)",
        law(near[0] <= 2 and near[1] <= 3),
        "The entries are those of Theorem 4 on the second belief, which break the budget near φ = 0; at P₁ = .95 already "
        f"the first step does below ε = {least:.3f}.",
    )


@answers("S-E1d")
def noise_formulas(quick: bool) -> Answer:
    """Equations (54) to (56), and the standard deviations without a root."""
    gap = max(abs(printed_noise(e)[0] - e.wrong[1, 1] / e.noise1) for e in random_examples(100))
    rootless = max(printed_noise(e)[1] for p1, epsilon in POINTS for e in grid(p1, epsilon, 41))
    return Answer(
        f"(54) to (56) within {gap:.1g}; without the root “correlations” reach {listed([rootless])}",
        law(rootless <= 1),
        "The standard deviation of a binary variable is the root of Pr(1) Pr(0); the appendix leaves the root out.",
    )


def _figure(p1: float, epsilon: float) -> str:
    shown = [Example(p1, phi, epsilon, epsilon) for phi in (0.0, 0.1, 0.3, 0.5)]
    return (
        f"ρ_X {listed(e.data for e in shown)}: ρ_N {listed(e.noise for e in shown)}, noise at time 2 "
        f"{listed(e.noise2 for e in shown)}"
    )


@answers("S-F3")
def figure_3(quick: bool) -> Answer:
    """Panels for P1 = .5."""
    return Answer(
        _figure(0.5, 2.0),
        Finding.NOT_REPRODUCIBLE,
        "No ε is printed and the panels are lost; drawn here for ε = 2 and 3. The points near |ρ_X| = 1 are not private.",
    )


@answers("S-F4")
def figure_4(quick: bool) -> Answer:
    """Panels for P1 = .95."""
    return Answer(
        _figure(0.95, 3.0),
        Finding.NOT_REPRODUCIBLE,
        "No ε is printed and the panels are lost; drawn here for ε = 3. The points near |ρ_X| = 1 are not private.",
    )


@answers("S-E1e")
def falls(quick: bool) -> Answer:
    """Noise correlation decreases as the data correlation goes to 0."""
    held, independent = True, 0.0
    for p1, epsilon in POINTS:
        found = grid(p1, epsilon, 11 if quick else 101)
        held &= bool((np.diff([e.noise for e in found]) < 1e-12).all())
        independent = max(independent, found[-1].information)
    return Answer(
        f"decreasing on each grid: {'yes' if held else 'no'}; information at φ = 1/2 {independent:.1g}",
        law(held and independent < 1e-12),
        "Checked for P₁ = .5 (ε = 2, 3) and .95 (ε = 3).",
    )


@answers("S-E1f")
def less_noise(quick: bool) -> Answer:
    """Noise at time 2 against correlation."""
    found = {point: [e.noise2 for e in grid(*point, 11 if quick else 101)] for point in POINTS}
    held = all((np.diff(values) > -1e-12).all() for values in found.values())
    shown = "; ".join(f"P₁ = {p1:g}, ε = {e:g}: {listed((v[0], v[-1]))}" for (p1, e), v in found.items())
    return Answer(
        f"from φ = 0 to 1/2: {shown}", law(held), "Increasing in φ; but near φ = 0 the kernel is not private."
    )


@answers("S-E1g")
def unchanged(quick: bool) -> Answer:
    """The marginal of the second letter is uniform."""
    gap = max(abs(float(e.law.sum(axis=(0, 2, 3))[1]) - 0.5) for e in grid(0.5, 2.0, 11))
    return Answer(
        f"Pr(X₂ = 1) within {gap:.1g} of 1/2",
        law(gap < 1e-12),
        "Independent noise depends on the marginal alone.",
    )


@answers("S-E1h")
def intercepts(quick: bool) -> Answer:
    """Figure 4 starts above Figure 3."""
    tops = [Example(p1, 0.0, 3.0, 3.0) for p1 in (0.95, 0.5)]
    skewed = Example(0.95, 0.1, 3.0, 3.0)
    even = Example(0.5, (1 - skewed.data) / 2, 3.0, 3.0)
    return Answer(
        f"{listed(e.noise for e in tops)} at φ = 0, ε = 3, neither private; {listed((skewed.noise, even.noise))} at ρ_X = {listed([even.data])}",
        law(tops[0].noise > tops[1].noise and skewed.noise > even.noise),
        "It holds with the printed formulas and at equal correlation of the data where both are private; at equal φ = .1 it is "
        f"reversed ({listed((skewed.noise, Example(0.5, 0.1, 3.0, 3.0).noise))}).",
    )


def _least_budget(p1: float, phi: float, e1: float, bound: float, correlated: bool) -> float:
    """The smallest second budget that brings the noise at time 2 to the bound."""
    low, high = 1e-6, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        example = Example(p1, phi if correlated else 0.5, e1, middle)
        low, high = (middle, high) if example.noise2 > bound else (low, middle)
    return high


@answers("S-E1i")
def lower_total(quick: bool) -> Answer:
    """Total leakage for bounded noise at time 2."""
    budgets = (0.5, 1.0, 2.0)
    with_data = [e1 + _least_budget(0.5, 0.1, e1, 0.05, True) for e1 in budgets]
    without = [e1 + _least_budget(0.5, 0.1, e1, 0.05, False) for e1 in budgets]
    zero = _least_budget(0.5, 0.1, 0.0, 0.05, True)
    return Answer(
        f"{listed(with_data)} against {listed(without)} (ε₁ = .5, 1, 2; bound .05, φ = .1, P₁ = .5)",
        law(all(a < b for a, b in zip(with_data, without, strict=True))),
        f"It holds at fixed ε₁; with ε₁ free and only the noise at time 2 bounded, ε₁ = 0 is best ({listed([zero])}) and "
        "correlation gains nothing: the panel needs a second constraint, which the text does not give.",
    )
