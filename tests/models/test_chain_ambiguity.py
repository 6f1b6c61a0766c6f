"""Sets of chains and of covariances: members, rows backward against corners, counts, files, refusals."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import privopt as po
from privopt.errors import InvalidModel
from privopt.models.ambiguity.stationary import backward_rows, irreducible, stationary_distributions
from privopt.models.ambiguity.visits import anytime_interval

THREE = [[F(1, 2), F(3, 10), F(1, 5)], [F(1, 10), F(3, 5), F(3, 10)], [F(2, 5), F(1, 10), F(1, 2)]]
SCHEMAS = Path(po.__file__).parent / "files" / "schemas"


def members(chain: po.MarkovChain, relative: float, count: int, seed: int = 0) -> list[po.MarkovChain]:
    """Stationary chains whose probabilities of leaving lie within a share of those of a chain."""
    rng, listed = np.random.default_rng(seed), []
    k = chain.k
    for _ in range(count):
        signs = rng.choice([-1, 1], size=(k, k)) if rng.random() < 0.5 else rng.uniform(-1, 1, (k, k))
        factors = [[1 + F(float(s)) * F(relative) * F(999, 1000) for s in row] for row in signs]
        rows = [
            [row.fraction(j) * factors[i][j] for j in range(k)] for i, row in enumerate(chain.exact_step(0))
        ]
        for i, row in enumerate(rows):
            row[i] = 1 - sum((v for j, v in enumerate(row) if j != i), F(0))
        listed.append(po.MarkovChain(rows, states=chain.states))
    return listed


@pytest.mark.parametrize("relative", [0.05, 0.2])
def test_intervals_hold_the_stationary_chains_within_them(relative: float) -> None:
    for chain in (po.MarkovChain([[0.9, 0.1], [0.3, 0.7]]), po.MarkovChain(THREE, states=["a", "b", "c"])):
        near = po.ChainAmbiguity.interval(chain, relative)
        assert near.nominal == chain
        assert all(near.contains(member) for member in members(chain, relative, 20))
        assert not near.contains(members(chain, 2 * relative, 1, seed=2)[0])


def test_rows_backward_and_stationary_distributions_are_those_of_the_corners() -> None:
    near = po.ChainAmbiguity.interval(po.MarkovChain(THREE), F(1, 10))
    rows, starts = [], []
    for signs in itertools.product((0.9, 1.1), repeat=6):
        step = np.array(THREE, dtype=float)
        step[~np.eye(3, dtype=bool)] *= signs
        np.fill_diagonal(step, 0)
        np.fill_diagonal(step, 1 - step.sum(axis=1))
        prior = np.linalg.solve(np.vstack([(step.T - np.eye(3))[:2], np.ones(3)]), [0, 0, 1])
        rows.append((prior[:, None] * step).T / prior[:, None])
        starts.append(prior)
    for sets, extremes in ((near.backward, np.array(rows)), ((near.initial,), np.array(starts)[:, None])):
        lower, upper = (
            np.array([getattr(row, name) for row in sets], dtype=float) for name in ("lower", "upper")
        )
        assert lower == pytest.approx(extremes.min(axis=0), abs=1e-12)
        assert upper == pytest.approx(extremes.max(axis=0), abs=1e-12)
        assert (lower <= extremes.min(axis=0)).all()
        assert (upper >= extremes.max(axis=0)).all()


def test_two_states_are_reversible() -> None:
    near = po.ChainAmbiguity.interval(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), F(1, 2))
    assert near.backward == near.forward
    assert near.initial.lower == (
        F(2, 5),
        F(1, 7),
    )  # b / (a + b) at a = 3/8, b = 1/4; a / (a + b) at 1/8, 3/4


def test_what_may_be_reducible_says_nothing_backward() -> None:
    sets = [po.RowSet.interval([0, 0, 0], [1, 1, 1])] * 3
    assert not irreducible(sets)
    assert {row.kind for row in backward_rows(sets)} == {"all"}
    assert stationary_distributions(sets).kind == "all"


def test_a_chain_that_starts_elsewhere_keeps_its_start() -> None:
    chain = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], initial=[0.5, 0.5])
    near = po.ChainAmbiguity.interval(chain, 0.05)
    assert near.initial.is_point
    assert {row.kind for row in near.backward} == {"all"}
    assert near.contains(chain)
    steps = po.MarkovChain([[[0.8, 0.2], [0.3, 0.7]], [[0.79, 0.21], [0.3, 0.7]]], initial=[0.5, 0.5])
    assert near.contains(steps)
    assert not near.contains(
        po.MarkovChain([[[0.8, 0.2], [0.3, 0.7]], [[0.7, 0.3], [0.3, 0.7]]], initial=[0.5, 0.5])
    )


def test_bounds_of_counts_at_any_time_hold_at_random_times() -> None:
    miss, p, rng = F(1, 5), 0.3, np.random.default_rng(5)
    held = 0
    for _ in range(100):
        draws = rng.random(400) < p
        held += all(
            (ends := anytime_interval(int(draws[:n].sum()), n, miss))[0] <= p <= ends[1]
            for n in range(1, 401, 7)
        )
    assert held >= 80
    assert anytime_interval(0, 0, miss) == (F(0), F(1))
    assert anytime_interval(0, 9, miss)[0] == 0
    assert anytime_interval(9, 9, miss)[1] == 1
    low, high = anytime_interval(30, 100, F(1, 20))
    for end in (low, high):  # exactly: 101 C(100, 30) p^30 (1 - p)^70 is hardly below 1/20
        likely = 101 * math.comb(100, 30) * end**30 * (1 - end) ** 70
        assert float(likely) == pytest.approx(0.05, rel=1e-6)
        assert likely <= F(1, 20)


@pytest.mark.parametrize(
    "rows", [[[0.8, 0.2], [0.3, 0.7]], [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]]]
)
def test_sets_of_counts_hold_the_population_as_often_as_they_say(rows: list[list[float]]) -> None:
    chain = po.MarkovChain.normalised(rows)
    rng, held = np.random.default_rng(7), 0
    for _ in range(40):
        states = [int(rng.choice(chain.k, p=chain.initial))]
        for _ in range(400):
            states.append(int(rng.choice(chain.k, p=chain.transition[states[-1]])))
        fitted = po.MarkovChain.fit([states], states=range(chain.k))
        held += po.ChainAmbiguity.from_counts(fitted, 0.8).contains(chain)
    assert held >= 32


def test_files_and_notebooks(tmp_path: Path) -> None:
    defs = Resource.from_contents(json.loads((SCHEMAS / "defs.json").read_text()))
    schema = json.loads((SCHEMAS / "model.json").read_text())
    validator = Draft202012Validator(schema, registry=Registry().with_resource("defs.json", defs))
    chain = po.MarkovChain.fit(list("abbabbaababbab"))
    point = [po.RowSet.total_variation([0.5, 0.5], F(1, 10))] * 2
    sets: list[po.ChainAmbiguity | po.CovarianceAmbiguity] = [
        po.ChainAmbiguity.interval(po.MarkovChain(THREE), F(1, 10)),
        po.ChainAmbiguity.from_counts(chain),
        po.ChainAmbiguity(point, point, [0.5, 0.5], nominal=po.MarkovChain([[0.5, 0.5], [0.5, 0.5]])),
        po.CovarianceAmbiguity([[0.5, 0], [0, 1]], [[2, 1], [1, 2]], nominal=[[1, 0.5], [0.5, 1]]),
    ]
    for near in sets:
        path = tmp_path / "set.json"
        path.write_text(json.dumps(near.to_dict()))
        validator.validate(json.loads(path.read_text()))
        assert po.load_model(path) == near
        assert hash(po.load_model(path)) == hash(near)
        assert "<table" in near._repr_html_()
    assert "confidence 0.95" in repr(sets[1])
    assert sets[1].nominal.states == ("a", "b")  # type: ignore[union-attr]


def test_refusals() -> None:
    chain, half = po.MarkovChain([[0.5, 0.5], [0.5, 0.5]]), po.RowSet.total_variation([0.5, 0.5], 0)
    with pytest.raises(InvalidModel, match="its row forward of state 0"):
        po.ChainAmbiguity(
            [po.RowSet.total_variation([1, 0], 0.1), half], [half] * 2, [0.5, 0.5], nominal=chain
        )
    with pytest.raises(InvalidModel, match="its row backward of state 1"):
        po.ChainAmbiguity(
            [half] * 2, [half, po.RowSet.total_variation([1, 0], 0.1)], [0.5, 0.5], nominal=chain
        )
    with pytest.raises(InvalidModel, match="its distribution of record 0"):
        po.ChainAmbiguity([half] * 2, [half] * 2, [0.4, 0.6], nominal=chain)
    with pytest.raises(InvalidModel, match="forward is no list of 2 RowSet"):
        po.ChainAmbiguity([half], [half] * 2, [0.5, 0.5], nominal=chain)
    with pytest.raises(InvalidModel, match="a set of 3 values"):
        po.ChainAmbiguity([po.RowSet.all(3)] * 2, [half] * 2, [0.5, 0.5], nominal=chain)
    with pytest.raises(InvalidModel, match=r"relative\[0\] is -0.1"):
        po.ChainAmbiguity.interval(chain, -0.1)
    with pytest.raises(InvalidModel, match="one matrix for all steps"):
        po.ChainAmbiguity.interval(po.MarkovChain([[[0.5, 0.5], [0.5, 0.5]]], initial=[0.5, 0.5]))
    with pytest.raises(InvalidModel, match="not counted"):
        po.ChainAmbiguity.from_counts(chain)
    with pytest.raises(InvalidModel, match="no counts"):
        po.ChainAmbiguity.from_counts([[1.5, 2], [1, 1]])
    with pytest.raises(InvalidModel, match="between 0 and 1"):
        po.ChainAmbiguity.from_counts([[1, 2], [1, 1]], 1.5)
    with pytest.raises(InvalidModel, match=r"lower\[0, 1\] is above upper\[0, 1\]"):
        po.CovarianceAmbiguity([[1, 0.5], [0.5, 1]], [[1, 0.4], [0.4, 1]], nominal=[[1, 0.5], [0.5, 1]])
    with pytest.raises(InvalidModel, match=r"nominal covariance\[0, 1\] = 0.5"):
        po.CovarianceAmbiguity([[1, 0.1], [0.1, 1]], [[1, 0.4], [0.4, 1]], nominal=[[1, 0.5], [0.5, 1]])
    with pytest.raises(InvalidModel, match="variances are positive"):
        po.CovarianceAmbiguity([[0, 0.1], [0.1, 1]], [[1, 0.4], [0.4, 1]], nominal=[[1, 0.3], [0.3, 1]])
    with pytest.raises(InvalidModel, match="symmetric"):
        po.CovarianceAmbiguity([[1, 0.1], [0.2, 1]], [[1, 0.4], [0.4, 1]], nominal=[[1, 0.3], [0.3, 1]])
