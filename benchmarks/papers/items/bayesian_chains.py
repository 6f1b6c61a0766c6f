"""Bayesian privacy of Markov chains: Section 6 and Figures 2 and 3."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.papers import bayesian_oracle as oracle
from privopt.benchmarks.papers.item import Exhibit, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _bayesian, _bayesian_data
from privopt.benchmarks.papers.verdicts import holds, invariant, refuted, substitute
from privopt.core.dispatch import solve
from privopt.measures.bayesian.markov import markov_published, markov_recursion
from privopt.measures.bayesian.tables import joint_table
from privopt.models import MarkovChain

_LOST = "The plotted values are lost with the figure"
_PRIOR = (
    "The parameters of the earlier mechanism are not in the text; instead randomised response is calibrated by the recursion, "
    "for any budget."
)


@reproduces("B-D61")
def chains(setting: Setting) -> Reproduced:
    """The joint distribution of a chain, word by word."""

    def check(rng: np.random.Generator) -> float:
        chain, n = _bayesian.positive_chain(rng, int(rng.integers(2, 4))), int(rng.integers(1, 5))
        return float(np.abs(joint_table(chain, n, 1000) - oracle.joint(chain, n)).max())

    return invariant(
        check,
        setting,
        setting.count(10, 100),
        "Products of the first distribution and of one matrix for all steps.",
        1e-12,
    )


@reproduces("B-TH62")
def markov_bound(setting: Setting) -> Reproduced:
    """No mechanism leaks more, and the bound is far off."""

    def check(rng: np.random.Generator) -> float:
        states = int(rng.integers(2, 4))
        n, tau = int(rng.integers(2, setting.count(3, 4) if states == 3 else 5)), _bayesian.level(rng)
        chain = _bayesian.positive_chain(rng, states)
        worst = oracle.worst_mechanism(oracle.joint(chain, n), tau)
        recursion = markov_recursion(chain, tau, n).value
        return max(worst - recursion, recursion - markov_published(chain, tau).value)

    verdict = invariant(check, setting, setting.count(3, 30), "", _bayesian.LP)
    rest = [
        markov_recursion(_bayesian_data.printed_chain(name), 25.0).value - 25
        for name in ("Activity", "Electricity 80")
    ]
    why = (
        "Sound on random chains of two and three states, against the worst of all mechanisms by linear programs. It is loose: for chains of any "
        f"length what is added to a large tau is {rest[0]:.4f} for Activity and {rest[1]:.4f} for Electricity 80, not 8.080 and 6.011."
    )
    return Reproduced(verdict.ours, verdict.finding, why)


@reproduces("B-TH62b")
def posterior_ratios(setting: Setting) -> Reproduced:
    """Ratios of the distributions of the unknown records for two values of the target."""

    def ratios(distribution_of: Floats, known: int | None) -> float:
        worst = 0.0
        for above, below in oracle.adversaries(distribution_of, known):
            worst = max(worst, _ratio(above, below))
        return worst

    def check(rng: np.random.Generator) -> float:
        chain, n = _bayesian.positive_chain(rng, 2), int(rng.integers(2, 6))
        gamma, joint = _bayesian_data.gamma(chain), oracle.joint(chain, n)
        any_known, none_known = ratios(joint, None), ratios(joint, 0)
        return max(any_known / gamma**4, none_known / gamma**3) - 1

    why = "At most the fourth power for every adversary, the third where nothing is known."
    return invariant(check, setting, setting.count(3, 40), why)


def _ratio(above: Floats, below: Floats) -> float:
    """Largest ratio of the distributions of the other records; the two distributions differ in the value of the target."""
    differ = [
        axis
        for axis in range(above.ndim)
        if np.count_nonzero(above.sum(axis=tuple(j for j in range(above.ndim) if j != axis))) == 1
    ]
    one, other = (table.sum(axis=tuple(differ)) for table in (above, below))
    seen = other > 0
    return float((one[seen] / other[seen]).max())


@reproduces("B-ERG")
def convergence(setting: Setting) -> Reproduced:
    """One stationary distribution, approached by a constant factor a step."""

    def check(rng: np.random.Generator) -> float:
        chain = _bayesian.positive_chain(rng, int(rng.integers(2, 6)))
        steps = chain.transition
        moduli = np.sort(np.abs(np.linalg.eigvals(steps)))
        shrink = max(0.5 * float(np.abs(a - b).sum()) for a in steps for b in steps)
        start, far = rng.dirichlet(np.ones(chain.k)), [0.0]
        far[0] = float(np.abs(start - chain.initial).sum())
        for _ in range(8):
            start = start @ steps
            far.append(float(np.abs(start - chain.initial).sum()))
        slower = max(after - before * shrink for before, after in pairwise(far))
        unique = moduli[-2] < 1 - 1e-12 and abs(moduli[-1] - 1) < 1e-9
        return max(slower, 0.0 if unique and shrink < 1 else 1.0)

    return invariant(
        check,
        setting,
        setting.count(30, 500),
        "The second eigenvalue is below 1, and every step shrinks the distance by the overlap of rows.",
    )


@reproduces("B-EQ5")
def against_general(setting: Setting) -> Reproduced:
    """Where tau + 4 ln gamma is below n tau."""

    def check(rng: np.random.Generator) -> float:
        chain, n, tau = _bayesian.positive_chain(rng, 2), int(rng.integers(2, 200)), _bayesian.level(rng)
        below = markov_published(chain, tau).value < n * tau
        return 0.0 if below == (_bayesian_data.gamma(chain) < math.exp((n - 1) / 4 * tau)) else 1.0

    return invariant(check, setting, setting.count(50, 1000), "On random chains, levels and lengths.")


def _of_ratio(gamma: float) -> MarkovChain:
    return MarkovChain.normalised([[gamma, 1.0], [1.0, gamma]])


@reproduces("B-EQ5a")
def many_records(setting: Setting) -> Reproduced:
    """80 records, gamma 10,000."""
    bound = markov_published(_of_ratio(1e4), 0.5).value
    return holds(
        bound < 80 * 0.5,
        f"{bound:.3f} < 40",
        f"With n = 80 and ε = .5 it is below the general bound up to gamma = {math.exp(79 * 0.5 / 4):.0f}.",
    )


@reproduces("B-EQ5b")
def few_records(setting: Setting) -> Reproduced:
    """20 records, gamma 100."""
    bound = markov_published(_of_ratio(100.0), 0.5).value
    switch = next(n for n in range(2, 1000) if bound < n * 0.5)
    return holds(
        bound > 20 * 0.5,
        f"{bound:.3f} > 10",
        f"With n = 20 it is below the general bound up to gamma = {math.exp(19 * 0.5 / 4):.2f}; with gamma = 100 from n = {switch} on.",
    )


@reproduces("B-MIN")
def least_budget(setting: Setting) -> Reproduced:
    """Certified noise far below the floor."""
    chain = _bayesian_data.printed_chain("Electricity 80")
    floor = 4 * math.log(_bayesian_data.gamma(chain))
    budgets = (0.01, 0.1, 1.0)
    solutions = [
        solve(_bayesian_data.counts(chain, epsilon, None), "markov-recursion") for epsilon in budgets
    ]
    levels = [one.mechanism.tau for one in solutions]
    return refuted(
        all(
            one.certified and one.mechanism.leakage <= epsilon
            for one, epsilon in zip(solutions, budgets, strict=True)
        ),
        f"levels {', '.join(f'{tau:.5f}' for tau in levels)} for ε = .01, .1, 1, far below {floor:.3f}",
        "It is the floor of the bound and not, as the text goes on to say, of the chain: for Electricity 80 of any length every ε is reached, "
        f"with {1 / levels[-1]:.2f} times the noise of independent records at ε = 1.",
    )


@reproduces("B-F2")
def figure_two(setting: Setting) -> Reproduced:
    """Errors on lazy symmetric chains."""
    frame = _bayesian.lazy_errors(setting.quick)
    draw = partial(
        _bayesian.curves,
        frame,
        [str(name) for name in frame.columns[1:] if str(name).endswith(("0.6", "0.9"))],
        ("ε (nats)", "5 % error of the count"),
        "bayesian2",
    )
    caption = (
        "Errors exceeded with probability .05 on 700 records that stay with the probability named: noise by the published bound (none up to 4 ln γ), ours by the "
        f"recursion, and randomised response by the recursion. Drawn for .6 and .9. {_LOST}, with its probabilities. {_PRIOR}"
    )
    at = frame[frame["ε"] == 1.0].iloc[0]
    return substitute(
        f"P_ss = .6, ε = 1: Laplace {at['ours, 0.6']:.2f}, randomised response {at['response, 0.6']:.1f}",
        f"{_LOST}, and so are its probabilities of staying and its budgets. {_PRIOR}",
        (Exhibit("Figure 2", caption, frame, draw),),
    )


@reproduces("B-O61")
def against_prior(setting: Setting) -> Reproduced:
    """Laplace noise by the published bound against randomised response, from just above the floor on."""
    floor = 4 * math.log(0.6 / 0.4)
    errors = {}
    for epsilon in (floor + 0.01, 2.0, 4.0, 8.0):
        laplace = _bayesian_data.error(
            _bayesian_data.published(_bayesian_data.counts(_bayesian.lazy(0.6), epsilon, _bayesian.LENGTH))
        )
        errors[epsilon] = laplace, _bayesian.response_error(0.6, epsilon)
    listed = "; ".join(
        f"{laplace:.3g} and {other:.3g} at ε = {epsilon:.3g}" for epsilon, (laplace, other) in errors.items()
    )
    return substitute(
        listed,
        f"{_PRIOR} Laplace noise errs less except next to the floor 4 ln gamma, where its error grows without bound; but one "
        "trusted curator adds it, while each person lies for himself in the other.",
    )


@reproduces("B-LAZY")
def lazy_chain(setting: Setting) -> Reproduced:
    """Gamma of symmetric chains."""

    def check(rng: np.random.Generator) -> float:
        stay = float(rng.uniform(0.5, 0.999))
        added = markov_published(_bayesian.lazy(stay), 1.0).value - 1.0
        return abs(added - 4 * math.log(stay / (1 - stay)))

    return invariant(check, setting, setting.count(20, 200), "What the published bound adds is 4 ln of it.")


@reproduces("B-C63")
def error_factor(setting: Setting) -> Reproduced:
    """Error of the solver's noise by that of plain noise."""

    def check(rng: np.random.Generator) -> float:
        chain = _bayesian.positive_chain(rng, 2)
        floor = 4 * math.log(_bayesian_data.gamma(chain))
        epsilon = floor + float(rng.uniform(0.05, 20))
        problem = _bayesian_data.counts(chain, epsilon, None)
        mechanism = _bayesian_data.published(problem)
        assert mechanism is not None
        ratio = mechanism.accuracy(0.05) / problem.answer(epsilon).accuracy(0.05)
        enough = markov_recursion(chain, mechanism.tau).value <= epsilon * (1 + 1e-9)
        return abs(ratio - epsilon / (epsilon - floor)) / ratio if enough else math.inf

    why = "For every ε above 4 ln gamma; at ε = 4 ln gamma, which the corollary allows, it divides by zero."
    return invariant(check, setting, setting.count(5, 100), why, 1e-8)


@reproduces("B-F3")
def figure_three(setting: Setting) -> Reproduced:
    """Factors by gamma."""
    frame = _bayesian.markov_factors(setting.quick)
    columns = [str(name) for name in frame.columns[1:]]
    draw = partial(
        _bayesian.curves, frame, columns, ("γ", "error relative to differential privacy"), "bayesian3"
    )
    caption = (
        "Factor h by the largest ratio of transition probabilities: published (dashed; it ends where ε = 4 ln γ), and by the recursion for symmetric "
        f"chains of any length (ours). {_LOST}, with its budgets."
    )
    printed = frame[columns[:6]].to_numpy(np.float64)
    rising = bool((printed[1:] >= printed[:-1]).all() and (printed[:, 1:] <= printed[:, :-1]).all())
    at_five = [_bayesian.markov_factor(gamma, 5.0) for gamma in (1.1, 1.5, 2.0, 3.0)]
    return holds(
        rising,
        "h = " + ", ".join(f"{value:.3f}" for value in at_five) + " at ε = 5, γ = 1.1, 1.5, 2, 3",
        f"It rises with γ and falls with ε, as the text says. {_LOST}; the curves are computed again from their formula.",
        (Exhibit("Figure 3", caption, frame, draw),),
    )


@reproduces("B-F3a")
def similar_utility(setting: Setting) -> Reproduced:
    """The least factor where neither condition holds."""
    side = setting.count(20, 200)
    least = min(
        _bayesian.markov_factor(float(gamma), float(epsilon))
        for gamma in np.linspace(3, 50, side)
        for epsilon in np.linspace(0.05, 5, side)
    )
    not_enough = _bayesian.markov_factor(1.5, 2.0), _bayesian.markov_factor(8.0, 10.0)
    return holds(
        least > 8,
        f"at least {least:.3f} times the error for ε <= 5 and γ >= 3",
        f"Necessary, not sufficient: {not_enough[0]:.2f} at ε = 2, γ = 1.5 and {not_enough[1]:.2f} at ε = 10, γ = 8.",
    )


@reproduces("B-NIND")
def lengths(setting: Setting) -> Reproduced:
    """The bounds by length."""
    chain, tau = _bayesian_data.printed_chain("Electricity 80"), 1.0
    sizes = (10, 100, 1000, setting.count(2000, 100_000))
    exact = [markov_recursion(chain, tau, n).value for n in sizes]
    general = [
        _bayesian_data.error(_bayesian_data.noisy(_bayesian_data.counts(chain, 8.0, n), "general"))
        for n in sizes[:2]
    ]
    published = [
        _bayesian_data.error(_bayesian_data.published(_bayesian_data.counts(chain, 8.0, n)))
        for n in sizes[1:]
    ]
    return holds(
        abs(general[1] / general[0] - 10) < 1e-6 and np.ptp(published) < 1e-9 and exact[-1] - exact[1] < 1e-9,
        ", ".join(f"{value:.6f}" for value in exact)
        + f" exactly at tau = 1, n = {', '.join(map(str, sizes))}",
        "Ten times the records give ten times the general bound's noise and the same published noise; the exact leakage settles too.",
    )


@reproduces("B-CH")
def symmetry(setting: Setting) -> Reproduced:
    """None of the matrices is symmetric."""
    apart = {name: abs(rows[0][0] - rows[1][1]) for name, rows in _bayesian_data.PRINTED.items()}
    fitted = [
        float(abs(one.chain.transition[0, 0] - one.chain.transition[1, 1]))
        for one in _bayesian_data.markov_sets()
        if one.real
    ]
    return holds(
        min([*apart.values(), *fitted]) > 0.04,
        ", ".join(f"{name} {value:.3f}" for name, value in apart.items()),
        "The two probabilities of staying differ by this much in the printed matrices"
        + (f", by at least {min(fitted):.3f} in the records." if fitted else "."),
    )


@reproduces("B-AC")
def prior_response(setting: Setting) -> Reproduced:
    """Randomised response by the recursion."""
    values = {
        (stay, epsilon): _bayesian.response_error(stay, epsilon)
        for stay in (0.6, 0.9)
        for epsilon in (1.0, 4.0)
    }
    listed = "; ".join(
        f"{value:.1f} at P_ss = {stay:g}, ε = {epsilon:g}" for (stay, epsilon), value in values.items()
    )
    return substitute(
        listed, f"{_PRIOR} 5 % errors of the count of 700 records, by the normal approximation."
    )
