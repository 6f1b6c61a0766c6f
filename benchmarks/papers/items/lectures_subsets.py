"""The lectures: merging of subsets for the privacy funnel, and the heart data."""

from __future__ import annotations

from functools import cache, partial
from itertools import combinations
from itertools import pairwise as neighbours

import numpy as np

from privopt.benchmarks.data.joints import heart
from privopt.benchmarks.papers.item import Exhibit, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _lectures
from privopt.benchmarks.papers.verdicts import holds, invariant, substitute
from privopt.core.solver import Budget
from privopt.models import JointDistribution
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.trade_off.mergings import MergingTable, merging_table, numbered
from privopt.solvers.trade_off.pairwise import Greedy
from privopt.solvers.trade_off.subsets import SubsetMerge, sub_sup, tabulated

_FIGURE = "The figure is lost, and which of the heart data was used is not said"


@reproduces("F-TH1")
def difference(setting: Setting) -> Reproduced:
    """The weighed objective of every merged set against (1 - weight) f - g."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng, 6)
        n, weight = len(joint.useful), float(rng.uniform(0, 1))
        question = SubsetMerge(merging_table(PrivacyFunnel(joint, trade_off=weight)), weight)
        start = _lectures.informations(joint.table, np.eye(n))
        off = 0.0
        for chosen in _subsets(n):
            ends = _lectures.informations(joint.table, _lectures.block_matrix(n, [[x + 1 for x in chosen]]))
            direct = ends[0] - start[0] - weight * (ends[1] - start[1])
            f, g = _f(joint, chosen), _g(joint, chosen)
            ours = question.change(np.array(chosen, dtype=np.int64))
            off = max(off, abs(direct - ours), abs(direct - ((1 - weight) * f - g)))
        return off

    return invariant(
        check,
        setting,
        setting.count(5, 60),
        "The constant is I(S;X) - weight H(X); every subset of up to 6 symbols.",
    )


def _subsets(n: int) -> list[tuple[int, ...]]:
    return [chosen for k in range(1, n + 1) for chosen in combinations(range(n), k)]


def _f(joint: JointDistribution, chosen: tuple[int, ...]) -> float:
    p = joint.p_x[list(chosen)]
    return float((p * np.log(p / p.sum())).sum()) if chosen else 0.0


def _g(joint: JointDistribution, chosen: tuple[int, ...]) -> float:
    p = joint.table[:, list(chosen)]
    return float((p * np.log(p / p.sum(axis=1, keepdims=True))).sum()) if chosen else 0.0


@reproduces("F-TH1b")
def submodular(setting: Setting) -> Reproduced:
    """Every pair of additions to every set."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.random_joint(rng, int(rng.integers(2, 5)), int(rng.integers(3, 7)))
        n, worst = len(joint.useful), -1.0
        for value in (_f, _g):
            of = {frozenset(chosen): value(joint, chosen) for chosen in [(), *_subsets(n)]}
            for inside, now in of.items():
                rest = [x for x in range(n) if x not in inside]
                worst = max([worst, *(of[inside | {x}] - now for x in rest)])
                for x, y in combinations(rest, 2):
                    worst = max(worst, of[inside | {x, y}] + now - of[inside | {x}] - of[inside | {y}])
        return worst

    why = "f and g are submodular, never grow, and are 0 on the empty set and on single symbols."
    return invariant(check, setting, setting.count(5, 60), why)


@reproduces("F-A3")
def subset_step(setting: Setting) -> Reproduced:
    """The set of one step against the best of all sets."""
    rng, shares, above = setting.rng(), [], 0.0
    for _ in range(setting.count(10, 100)):
        joint = _lectures.random_joint(rng, int(rng.integers(2, 9)), int(rng.integers(6, 12)))
        weight = float(rng.choice([0.05, 0.15, 0.3]))
        question = SubsetMerge(merging_table(PrivacyFunnel(joint, trade_off=weight)), weight)
        best = question.change(tabulated(question, Budget()))
        ours = question.change(sub_sup(question, Budget()))
        above = max(above, best - ours)
        shares += [1.0 if best == 0 else ours / best]
    why = (
        "The share of the largest possible fall of the objective that one polynomial step finds, all 2^|X| sets tried for "
        "comparison; suboptimal, as is said."
    )
    return holds(
        min(shares) > 0.5 and above < 1e-12 and float(np.mean(shares)) > 0.9,
        f"mean share {np.mean(shares):.4f}, worst {min(shares):.4f} of {len(shares)}",
        why,
    )


@reproduces("F-CL1")
def against_pairs(setting: Setting) -> Reproduced:
    """Merging of subsets against pairwise merging, at equal floor and at equal price."""
    rng, tally = setting.rng(), np.zeros((2, 2), dtype=int)
    tables = setting.count(8, 60)
    for _ in range(tables):
        joint = _lectures.random_joint(rng, 8, 12)
        weight = float(rng.choice([0.05, 0.15, 0.3]))
        subset = _lectures.answer(PrivacyFunnel(joint, trade_off=weight, form="merging"), "submodular")
        pair = _lectures.answer(PrivacyFunnel(joint, min_utility=subset.utility, form="merging"), Greedy())
        price = _lectures.answer(PrivacyFunnel(joint, trade_off=weight, form="merging"), Greedy())
        for row, gain in enumerate((pair.leakage - subset.leakage, subset.objective - price.objective)):
            tally[row] += (gain > 1e-9, gain < -1e-9)
    why = (
        "True against pairs with the largest fall of I(S;Y) at the same floor; pairs with the largest fall of the same weighed "
        "objective do better more often than not."
    )
    (won, lost), (better, worse) = tally.tolist()
    told = f"of {tables} tables: less leakage at the same floor in {won}, more in {lost}; better weighed objective in {better}, worse in {worse}"
    return holds(won > 0, told, why)


@cache
def _patients() -> tuple[JointDistribution, str]:
    """Age and sex as the secret, sex and cholesterol as what is useful."""
    cleveland = heart()
    if cleveland is not None:
        return cleveland, "Computed on the Cleveland data"
    import pandas as pd

    rng = np.random.default_rng(0)
    columns = {"age": rng.normal(54, 9, 303), "sex": rng.random(303) < 0.68, "chol": rng.normal(246, 52, 303)}
    frame = pd.DataFrame({name: np.rint(values).astype(int) for name, values in columns.items()})
    return JointDistribution.from_frame(
        frame, ["age", "sex"], ["sex", "chol"]
    ), "Computed on 303 patients drawn at random"


@cache
def _convergence(weight: float) -> tuple[tuple[float, float], ...]:
    """Both informations after each step of subset merging, bits."""
    now: MergingTable = merging_table(PrivacyFunnel(_patients()[0], trade_off=weight))
    levels = [now.informations]
    while now.size > 1 and len(chosen := sub_sup(SubsetMerge(now, weight), Budget())) > 1:
        to = np.arange(now.size)
        to[chosen] = chosen[0]
        now = now.merged(numbered(to))
        levels.append(now.informations)
    return tuple((a / _lectures.BITS, b / _lectures.BITS) for a, b in levels)


@reproduces("F-F1")
def convergence(setting: Setting) -> Reproduced:
    """The weighed objective by step."""
    import pandas as pd

    joint, source = _patients()
    values = [secret - 0.8 * useful for secret, useful in _convergence(0.8)]
    pairs = (
        -_lectures.answer(PrivacyFunnel(joint, trade_off=0.8, form="merging"), Greedy()).objective
        / _lectures.BITS
    )
    frame = pd.DataFrame({"step": range(len(values)), "I(S;Y) - 0.8 I(X;Y), bits": values})
    curve = {"subset merging": list(zip(map(float, frame["step"]), values, strict=True))}
    draw = partial(
        _lectures.plotted, curve, ("step", "I(S;Y) − 0.8 I(X;Y) (bits)"), "lf1", "Weighed objective by step"
    )
    if any(b >= a for a, b in neighbours(values)):
        raise ValueError("the weighed objective does not fall at each step")
    told = f"{values[0]:.4f} at Y = X, {values[-1]:.4f} after {len(values) - 1} steps; pairs at the same price {pairs:.4f} (bits)"
    why = f"{_FIGURE}. {source}: the objective falls at each step."
    return substitute(told, why, [Exhibit("Convergence at 0.8", why, frame, draw)])


@reproduces("F-F2")
def both_by_step(setting: Setting) -> Reproduced:
    """Both informations by step."""
    import pandas as pd

    levels = _convergence(0.8)
    frame = pd.DataFrame(levels, columns=["I(S;Y), bits", "I(X;Y), bits"])
    frame.insert(0, "step", range(len(levels)))
    curves = {
        name: [(float(t), row[k]) for t, row in enumerate(levels)]
        for k, name in enumerate(("I(S;Y)", "I(X;Y)"))
    }
    draw = partial(_lectures.plotted, curves, ("step", "bits"), "lf2", "Both informations by step")
    told = f"I(S;Y) {levels[0][0]:.4f} to {levels[-1][0]:.4f}, I(X;Y) {levels[0][1]:.4f} to {levels[-1][1]:.4f} bits"
    why = f"Nothing but the parameters of this panel survives. {_patients()[1]}: both informations at each step."
    return substitute(told, why, [Exhibit("Informations at 0.8", why, frame, draw)])


@reproduces("F-F3")
def trade_off(setting: Setting) -> Reproduced:
    """Both informations by price, subset merging and two kinds of pairs."""
    import pandas as pd

    joint, source = _patients()
    rows = []
    for weight in np.linspace(0, 1, setting.count(3, 11)).tolist():
        problem = PrivacyFunnel(joint, trade_off=weight, form="merging")
        subset, price = _lectures.answer(problem, "submodular"), _lectures.answer(problem, Greedy())
        same = PrivacyFunnel(joint, min_utility=subset.utility, form="merging")
        pairs = _lectures.answer(same, Greedy())
        for name, one in (("subsets", subset), ("pairs, same price", price), ("pairs, same floor", pairs)):
            rows.append(
                (weight, name, one.utility / _lectures.BITS, one.leakage / _lectures.BITS, -one.objective)
            )
    frame = pd.DataFrame(rows, columns=["weight", "merging", "I(X;Y), bits", "I(S;Y), bits", "objective"])
    names = ("subsets", "pairs, same price", "pairs, same floor")
    curves = {name: [(row[2], row[3]) for row in rows if row[1] == name] for name in names}
    draw = partial(
        _lectures.plotted, curves, ("I(X;Y) (bits)", "I(S;Y) (bits)"), "lf3", "Leakage against utility"
    )
    groups = [rows[k : k + 3] for k in range(0, len(rows), 3)]
    told = (
        f"of {len(groups)} weights, subsets leak less than pairs at the same floor in "
        f"{sum(g[0][3] < g[2][3] - 1e-9 for g in groups)}, more in {sum(g[0][3] > g[2][3] + 1e-9 for g in groups)}; "
        f"their weighed objective is better than that of pairs in {sum(g[0][4] < g[1][4] - 1e-9 for g in groups)}, "
        f"worse in {sum(g[0][4] > g[1][4] + 1e-9 for g in groups)}"
    )
    why = f"{_FIGURE}. {source}, a point a weight; 'better' depends on the pairwise rule it is compared with."
    kept = frame.drop(columns="objective")
    return substitute(told, why, [Exhibit("Trade-off by weight", why, kept, draw)])
