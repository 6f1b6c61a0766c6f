"""Frames, drawings and small functions that the items on Bayesian privacy share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.papers.bayesian_oracle import chain
from privopt.benchmarks.papers.item import Finding, Reproduced
from privopt.benchmarks.papers.items import _bayesian_data
from privopt.benchmarks.papers.verdicts import substitute
from privopt.benchmarks.report.document import figure_style, svg
from privopt.measures.bayesian.gaussian import class_factor, published_factor
from privopt.models import MarkovChain
from privopt.plots.curves import COLOURS, MARKERS, new_figure
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy

if TYPE_CHECKING:
    import pandas as pd


EMPIRICAL = "measured"
"""Prefix of columns that are drawn as markers, in the colour of the curve named after it."""


def curves(
    frame: pd.DataFrame, columns: Sequence[str], labels: tuple[str, str], identifier: str, log: bool = True
) -> str:
    """Columns against the first one; "ours" drawn through, the others dashed, measured values as markers.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        return _drawn(frame, columns, labels, identifier, log)


def _drawn(
    frame: pd.DataFrame, columns: Sequence[str], labels: tuple[str, str], identifier: str, log: bool
) -> str:
    axis = str(frame.columns[0])
    figure, axes = new_figure(6.8, 4.0)
    for name in columns:
        place = _place(name, columns)
        values = frame[name].to_numpy(np.float64)
        kept = np.where(np.isfinite(values), values, np.nan)
        axes.plot(
            frame[axis],
            kept,
            color=COLOURS[place % len(COLOURS)],
            linestyle="-" if name.startswith("ours") else "--",
            linewidth=1.4,
            label=name,
        )
        measured = f"{EMPIRICAL}: {name}"
        if measured in frame:
            shown = np.where(np.isfinite(values), frame[measured].to_numpy(np.float64), np.nan)
            axes.plot(
                frame[axis],
                shown,
                MARKERS[place % len(MARKERS)],
                color=COLOURS[place % len(COLOURS)],
                markersize=4,
            )
    if log:
        axes.set_yscale("log")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.legend(frameon=False, fontsize=8, ncols=2 if len(columns) > 6 else 1)
    return svg(figure, identifier, f"{labels[1]} against {labels[0]}")


def _place(name: str, columns: Sequence[str]) -> int:
    """Colour and marker of a curve; "ours, x" has those of x where that is drawn.

    Examples
    --------
    >>> _place("ours, m = 3", ["m = 2", "m = 3", "ours, m = 3"]), _place("ours", ["m = 2", "ours"])
    (1, 1)
    """
    same = name.removeprefix("ours, ")
    return columns.index(same if same in columns else name)


SIZES = (2, 3, 5, 10, 50)
STAYS = (0.55, 0.6, 0.7, 0.8, 0.9)
LENGTH = 700


def table_three() -> pd.DataFrame:
    """Every number of Table 3, and ours from the records."""
    import pandas as pd

    return pd.DataFrame(list(_rows()), columns=["data set", "what", "printed", "ours", "from"])


def _rows() -> Iterator[tuple[str, str, float, float, str]]:
    for one in _bayesian_data.gaussian_sets():
        told = "records" if one.real else "seeded substitute"
        number = len(one.records) if one.name == "Galton" else one.records.size
        yield one.name, "n", one.count, number, told
        yield one.name, "m", one.m, one.records.shape[1], told
        yield one.name, "rho", one.rho, one.max_correlation, told
        yield (
            one.name,
            "sensitivity",
            254 if one.name == "Galton" else 120,
            one.width - (one.name == "Galton"),
            "clips",
        )
    for stream in _bayesian_data.markov_sets():
        told = "records" if stream.real else "seeded substitute"
        yield stream.name, "n", stream.count, len(stream.states), told
        yield (
            stream.name,
            "gamma",
            _bayesian_data.GAMMA[stream.name],
            _bayesian_data.gamma(stream.chain),
            told,
        )
        yield (
            stream.name,
            "gamma",
            _bayesian_data.GAMMA[stream.name],
            _bayesian_data.raw_gamma(stream.name),
            "printed matrix",
        )


def factors(quick: bool) -> pd.DataFrame:
    """Figure 1: factors by correlation, as published and for the same class of matrices."""
    import pandas as pd

    rho = np.linspace(0.0, 0.99, 12 if quick else 100)
    columns: dict[str, object] = {"ρ": rho}
    for m in SIZES:
        columns[f"m = {m}"] = [published_factor(m, float(r)) for r in rho]
    for m in SIZES:
        columns[f"ours, m = {m}"] = [min(class_factor(m, float(r)), float(m)) for r in rho]
    return pd.DataFrame(columns)


@cache
def lazy(stay: float) -> MarkovChain:
    """The symmetric chain that stays with this probability."""
    return MarkovChain.normalised([[stay, 1 - stay], [1 - stay, stay]])


def response_error(stay: float, epsilon: float) -> float:
    """Randomised response on 700 records with the largest level that the recursion allows: 5 % error, normal approximation."""
    problem = BayesianPrivacy(
        lazy(stay), ("count", 1), epsilon, length=LENGTH, mechanism="randomised_response"
    )
    mechanism = _bayesian_data.noisy(problem, "markov-recursion")
    if mechanism is None:
        return math.inf
    truth = 1 - mechanism.scale
    return 1.959964 * math.sqrt(LENGTH * truth * mechanism.scale) / (2 * truth - 1)


def lazy_errors(quick: bool) -> pd.DataFrame:
    """Figure 2: 5 % errors on lazy symmetric chains by budget."""
    import pandas as pd

    rows = []
    for epsilon in (1.0, 4.0) if quick else (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0):
        row = {"ε": epsilon}
        for stay in STAYS:
            problem = _bayesian_data.counts(lazy(stay), epsilon, LENGTH)
            row[f"published, {stay:g}"] = _bayesian_data.error(_bayesian_data.published(problem))
            row[f"ours, {stay:g}"] = _bayesian_data.error(_bayesian_data.noisy(problem, "markov-recursion"))
            row[f"response, {stay:g}"] = response_error(stay, epsilon)
        rows.append(row)
    return pd.DataFrame(rows)


def markov_factor(gamma: float, epsilon: float) -> float:
    """Corollary 6.3, inf where it gives none."""
    left = epsilon - 4 * math.log(gamma)
    return epsilon / left if left > 0 else math.inf


def markov_factors(quick: bool) -> pd.DataFrame:
    """Figure 3: factors by gamma, as published and for the symmetric chain of that gamma."""
    import pandas as pd

    gammas = np.linspace(1.0, 10.0, 4 if quick else 46)
    columns: dict[str, object] = {"γ": gammas}
    budgets = (1.0, 2.0, 5.0, 8.0, 10.0, 20.0)
    for epsilon in budgets:
        columns[f"ε = {epsilon:g}"] = [markov_factor(float(g), epsilon) for g in gammas]
    for epsilon in (1.0, 10.0):
        levels = [_bayesian_data.chain_level(lazy(float(g / (1 + g))), epsilon) for g in gammas]
        columns[f"ours, ε = {epsilon:g}"] = [epsilon / tau for tau in levels]
    return pd.DataFrame(columns)


def budgets(quick: bool) -> tuple[float, ...]:
    """Budgets of Figures 4 and 5."""
    return (1.0, 5.0, 10.0, 20.0) if quick else (0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)


@cache
def measured(one: _bayesian_data.Families | _bayesian_data.Stream, quick: bool) -> pd.DataFrame:
    """Figures 4 and 5: 5 % errors by budget, from theory, and the 95 % quantile of runs."""
    import pandas as pd

    rng, rows = np.random.default_rng([ord(letter) for letter in one.name]), []
    for epsilon in budgets(quick):
        row = {"ε": epsilon}
        if isinstance(one, _bayesian_data.Families):
            mechanisms = _bayesian_data.family_mechanisms(one, epsilon)
        else:
            mechanisms = _bayesian_data.stream_mechanisms(one, epsilon)
        for name, mechanism in mechanisms.items():
            row[name] = _bayesian_data.error(mechanism)
        for name, mechanism in mechanisms.items():
            if mechanism is not None:
                runs = _bayesian_data.errors(mechanism, _bayesian_data.answer(one), rng)
                row[f"{EMPIRICAL}: {name}"] = float(np.quantile(runs, 0.95))
                row[f"deviation: {name}"] = _bayesian_data.excess(runs, row[name])
        rows.append(row)
    return pd.DataFrame(rows)


LP = 1e-6
"""What the tolerance of linear programs may explain."""
SOME_BUDGETS = (0.1, 1.0, 5.0, 20.0)


def on(real: bool, verdict: Reproduced) -> Reproduced:
    """A verdict that needs the records: without them nothing is said of the paper."""
    if real or verdict.finding is Finding.NOT_REPRODUCIBLE:
        return verdict
    why = "The records are absent: computed on seeded records that follow the printed parameters."
    return substitute(verdict.ours, why, verdict.exhibits)


def level(rng: np.random.Generator) -> float:
    """A level of differential privacy."""
    return float(rng.uniform(0.05, 2.5))


def distribution(rng: np.random.Generator, records: int, zeros: bool = False) -> Floats:
    """A random joint distribution of binary records, with impossible words if asked."""
    weights = rng.dirichlet(np.full(2**records, 0.7))
    if zeros:
        weights = weights * (rng.random(2**records) > 0.25) + 1e-3 * (np.arange(2**records) == 0)
    table: Floats = (weights / weights.sum()).reshape((2,) * records)
    return table


def independent(rng: np.random.Generator, records: int) -> Floats:
    """A joint distribution of independent binary records."""
    joint = np.ones(())
    for share in rng.uniform(0.05, 0.95, records):
        joint = np.multiply.outer(joint, np.array([1 - share, share]))
    return joint


def grouped(rng: np.random.Generator, sizes: tuple[int, ...]) -> Floats:
    """Independent groups of binary records that depend on each other in any way."""
    joint = np.ones(())
    for size in sizes:
        joint = np.multiply.outer(joint, distribution(rng, size))
    return joint


def positive_chain(rng: np.random.Generator, states: int) -> MarkovChain:
    """A stationary chain with positive transition probabilities."""
    return chain(rng, states, positive=True)


def limited(rng: np.random.Generator, m: int) -> tuple[Floats, float]:
    """A correlation matrix, and its largest correlation rho, with rho (m - 2) < 1."""
    while True:
        rho = float(rng.uniform(0.01, min(0.95, 0.99 / max(1, m - 2))))
        signs = rng.choice([-1.0, 1.0], size=(m, m)) if rng.random() < 0.5 else np.ones((m, m))
        entries = rho * signs * (rng.random((m, m)) if rng.random() < 0.5 else 1.0)
        upper = np.triu(entries, 1)
        matrix: Floats = upper + upper.T + np.eye(m)
        if np.linalg.eigvalsh(matrix).min() > 1e-6:
            return matrix, float(np.abs(upper).max()) if m > 1 else 0.0


def threshold(m: int) -> float:
    """Equation (4).

    Examples
    --------
    >>> [round(threshold(m), 6) for m in (2, 3, 4, 5)]
    [1.0, 0.470588, 0.3, 0.219178]
    """
    return (m - 1) / (1.25 * m * m - 3 * m + 2)


def two_bits(r: int) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Table 2, a row a value of the first bit."""
    first = (Fraction(1, r**2), Fraction(1, r**3))
    second = (Fraction(r - 1, r**2), Fraction(r**3 - r**2 - 1, r**3))
    return first, second


def squared_correlation(table: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]) -> Fraction:
    """Square of the Pearson coefficient of two bits."""
    p, q = sum(table[1], Fraction()), table[0][1] + table[1][1]
    covariance = table[1][1] - p * q
    return covariance**2 / (p * (1 - p) * q * (1 - q))


def floats(table: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]) -> Floats:
    """A table of fractions as an array."""
    return np.array([[float(cell) for cell in row] for row in table])


def clipped_moment(mean: float, sd: float, clip: tuple[float, float], rate: float) -> float:
    """E[exp(rate (c(V) - high))] of a clipped Gaussian V.

    Examples
    --------
    >>> round(clipped_moment(0.0, 1.0, (-1.0, 1.0), 0.0), 12)
    1.0
    """
    from scipy.integrate import quad
    from scipy.stats import norm

    low, high = clip
    distribution = norm(mean, sd)
    near = [point for point in (mean - 5 * sd, mean, mean + 5 * sd) if low < point < high]
    inside = quad(
        lambda v: math.exp(rate * (v - high)) * distribution.pdf(v), low, high, points=near or None, limit=200
    )
    return float(inside[0] + math.exp(rate * (low - high)) * distribution.cdf(low) + distribution.sf(high))


def clipped_tail(x: float, other: float, rho: float, clip: tuple[float, float] = (40.0, 160.0)) -> float:
    """What a very large output of the clipped Laplace sum of level 1 reveals about one of two records of mean 100 and sd 15."""
    rate, sd = 1 / (clip[1] - clip[0]), 15 * math.sqrt(1 - rho * rho)
    own = [min(max(value, clip[0]), clip[1]) for value in (x, other)]
    means = [100 + rho * (value - 100) for value in (x, other)]
    told = [math.log(clipped_moment(mean, sd, clip, rate)) for mean in means]
    return rate * (own[0] - own[1]) + told[0] - told[1]


def floors() -> tuple[float, ...]:
    """4 ln gamma of the printed matrices, in the order of Table 3."""
    return tuple(4 * math.log(_bayesian_data.raw_gamma(name)) for name in _bayesian_data.PRINTED)


def integer_counts(
    matrix: tuple[tuple[float, float], tuple[float, float]], total: int
) -> Iterator[tuple[int, ...]]:
    """Counts of the four transitions of a sequence that give a printed matrix of three digits."""
    (_, up), (down, _) = matrix
    for zeros in range(1, total):
        for ups in {round(zeros * up) + d for d in (-1, 0, 1)}:
            ones = total - zeros
            for downs in (ups - 1, ups, ups + 1):
                if abs(ups / zeros - up) <= 5e-4 and abs(downs / ones - down) <= 5e-4:
                    yield zeros - ups, ups, downs, ones - downs
