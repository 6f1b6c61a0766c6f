"""Proofs about noise on dependent records: the kinds of file that checker_chain_noise.py and checker_gaussian_noise.py check."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidModel, InvalidProblem
from privopt.mechanisms import NoisyQuery
from privopt.mechanisms.noise.statistics import spacing
from privopt.models import GaussianModel, MarkovChain
from privopt.models.markov.parts import stationary_distribution
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData
from privopt.problems.bayesian_privacy.levels import judged_model
from privopt.proof import checker, checker_chain_noise, checker_gaussian_noise
from privopt.proof.draft import Draft, Line, Solved
from privopt.proof.rationals import GUARD, PRECISIONS, floor, levels, rows_written, written

SHORT, DEEPEST = 64, 2000
"""Records of a side up to which all of them are followed, and up to which they are until what is known evens out."""

EVEN = 48
"""Bits to which what is known evens out."""

SLACKS = (44, 42, 40, 36, 32, 28, 24, 20)
"""Bits of the share by which a bound on all later records is wider than the last table."""

SUBSETS, RECORDS = 8, 24
"""Gaussian records of which all subsets are tried, and of which a covariance is inverted exactly."""

WIDER = 2.0**-40
"""Share by which columns are raised, so that their rounding is covered."""


def bayesian(data: BayesianPrivacyData, solution: Solved) -> Draft:
    """Noise, its level, and what it leaks about one record of a chain, a group or Gaussian ones.

    Raises
    ------
    InvalidProblem
        If the records vary in a set, the data are not read, or nothing of the kinds covered proves the level.
    """
    if data.ambiguity is not None:
        raise InvalidProblem(
            "noise for a set of chains or of covariances is not covered by proof files: give .nominal"
        )
    noise, model = solution.mechanism, judged_model(data)
    if not isinstance(noise, NoisyQuery) or not 0 < noise.scale < math.inf:
        raise InvalidProblem("the answer does not read the data, so there is no level to prove")
    problem: Line = {"sensitivity": written(data.sensitivity)}
    draft = Draft("gaussian_noise", problem, {"noise": noise.noise, "scale": written(noise.scale)}, {}, GUARD)
    draft.at(levels({"noise": noise.tau, "leak": data.epsilon}, PRECISIONS[0]))
    draft.left_out.append("how far the answers are from the truth, and how little noise any could have")
    lines = _chain(draft, data, model) if isinstance(model, MarkovChain) else _records(draft, data)
    check = checker_chain_noise.check if draft.kind == "chain_noise" else checker_gaussian_noise.check
    reason = "no method applies"
    for line in lines:
        try:
            check(draft.problem, draft.mechanism, {}, [line], draft.bits)
        except ValueError as cause:
            reason = str(cause)
            continue
        draft.proofs.append(line)
        return draft
    raise InvalidProblem(
        f"the leakage of this noise is not proved by a kind of file that is covered: {reason}"
    )


def _chain(draft: Draft, data: BayesianPrivacyData, chain: MarkovChain) -> list[Line]:
    """The chain, and how far its sides may have to be followed."""
    if not chain.homogeneous or not 2 <= chain.k <= 3:
        raise InvalidProblem(
            "proof files cover noise on chains of two or three states with one matrix of steps"
        )
    try:
        stationary = stationary_distribution(chain.exact_step(0), chain.states).weights
    except InvalidModel as cause:
        raise InvalidProblem(
            f"proof files cover chains that visit all states again and again: {cause}"
        ) from cause
    draft.kind = "chain_noise"
    draft.problem["transition"] = [list(row.weights) for row in chain.exact_step(0)]
    draft.problem["initial"] = list(chain.exact_initial.weights)
    if data.length is not None:
        draft.problem["length"] = data.length
    line: Line = {"method": "chain", "stationary": list(stationary), "slack": 0}
    if data.length is not None and data.length - 1 <= SHORT:
        return [{**line, "depth": data.length - 1}]
    return [{**line, **found} for found in _settled(draft, line)]


def _settled(draft: Draft, line: Line) -> Iterator[Line]:
    """After how many records what is known evens out, and how much wider a bound on all later ones is."""
    rows, back, first = checker_chain_noise.kernels(draft.problem, line)
    sizes = sorted(np.abs(np.linalg.eigvals(np.array([[float(v) for v in row] for row in rows]))).tolist())
    slowest = min(max(sizes[-2], 1e-3), 1.0)
    depth = math.ceil(EVEN / -math.log2(slowest)) + 4 if slowest < 1 else DEEPEST + 1
    if depth > DEEPEST:
        raise InvalidProblem(
            "the chain forgets too slowly for proof files, or never does: give a shorter length="
        )
    growth = checker.levels(draft.problem["levels"], draft.bits)[1]["noise"]
    sides = [
        (k, checker_chain_noise.side(k, start, growth, depth))
        for k, start in ((rows, [Fraction(1)] * len(rows)), (back, first))
    ]
    for bits in SLACKS:
        slack = Fraction(1, 2**bits)
        try:
            for kernel, (tables, fronts) in sides:
                checker_chain_noise.beyond(kernel, tables, fronts, growth, slack)
        except ValueError:
            continue
        yield {"depth": depth, "slack": written(slack)}
        return


def _records(draft: Draft, data: BayesianPrivacyData) -> list[Line]:
    """The ways to bound what Gaussian records, or any, say of each other."""
    model = data.model
    size = max(map(len, model.blocks)) if isinstance(model, GaussianModel) else data.sizes[0]
    draft.problem["size"] = size if data.length is None else min(size, data.length)
    found: list[Line] = [{"method": "group"}]
    gaussian = isinstance(judged_model(data), GaussianModel) and data.scope != "all_reals"
    if not isinstance(model, GaussianModel) or not gaussian or data.query not in ("sum", "mean"):
        return found
    apart, grid = spacing(data.query, data.clip, data.length)
    draft.problem.update(apart=written(apart), grid=written(grid))
    draft.problem["covariance"] = rows_written(model.covariance.tolist())
    draft.problem["sensitivity"] = written(math.ceil(apart / grid) * grid)
    found.append({"method": "column"})
    if len(model.covariance) <= RECORDS and (columns := _columns(model.covariance)) is not None:
        found.append({"method": "h-matrix", "columns": columns})
    if len(model.covariance) <= SUBSETS:
        found.append({"method": "subsets"})
    return found


def _columns(covariance: Floats) -> list[list[int | str]] | None:
    """A vector that shows the comparison matrix of the inverse to be an M-matrix, and its inverse column by column."""
    try:
        inverse = np.linalg.inv(covariance)
        comparison = -np.abs(inverse)
        np.fill_diagonal(comparison, np.diag(inverse))
        columns = np.linalg.inv(comparison)
    except np.linalg.LinAlgError:
        return None
    total = columns.sum(axis=1)
    if not np.isfinite(columns).all() or not (total > 0).all():
        return None
    raised = np.maximum(columns, 0.0).T + WIDER * np.outer(np.diag(columns) / total, total)
    return [[written(floor(v, 64)) for v in row] for row in [total.tolist(), *raised.tolist()]]
