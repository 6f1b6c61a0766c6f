"""Sequence policies keep their budget exactly, whatever a rule proposes; beliefs and draws against exact fractions."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from instances.few import few
from numpy.typing import NDArray
from oracles.policy import BROKEN, GREEDY, Greedy, Path, random_chain
from scipy.stats import chisquare

import privopt as po
from privopt.errors import InvalidMechanism, UnsuitableSolver
from privopt.files.json import check_schema
from privopt.mechanisms import PolicyState, mechanism_from_dict
from privopt.mechanisms.policy.kernel import draw
from privopt.mechanisms.policy.rules import Setting

PLAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5], ["home", "away"])
BUDGETS = (0.0, 1e-9, 0.1, 1.0, 3.0, 40.0)
ORDER2 = po.MarkovChain.fit([np.random.default_rng(3).integers(0, 2, 200).tolist()], order=2, smoothing=0.5)


@pytest.mark.parametrize("seed", few(range(8), 4))
@pytest.mark.parametrize("rule", ["closed-form", GREEDY.name, BROKEN.name])
def test_every_release_keeps_the_budget_at_the_exact_belief(seed: int, rule: str) -> None:
    chain, rng = random_chain(seed, zeros=seed % 2 == 1), np.random.default_rng(seed)
    for epsilon in BUDGETS:
        path = Path(po.SequencePolicy(chain, epsilon, rule=rule))
        for _ in range(4):
            path.check_and_move(rng)


@pytest.mark.parametrize(
    ("chain", "batch"),
    [(ORDER2, 1), (ORDER2, 2), (random_chain(0, largest=3), 2), (random_chain(1, zeros=True, largest=3), 3)],
)
def test_words_and_higher_orders_keep_the_budget(chain: po.MarkovChain, batch: int) -> None:
    for rule in ("closed-form", GREEDY.name) if batch == 1 else (GREEDY.name, BROKEN.name):
        for epsilon in (0.2, 1.5):
            path, rng = Path(po.SequencePolicy(chain, epsilon, batch, rule=rule)), np.random.default_rng(1)
            for _ in range(4):
                path.check_and_move(rng)


def test_the_belief_stays_within_its_proved_distance_over_200_steps() -> None:
    for seed, zeros in ((3, False), (5, True)):
        policy = po.SequencePolicy(random_chain(seed, zeros=zeros), 1.0)
        path, rng = Path(policy), np.random.default_rng(seed)
        bound = policy.part(1).filter.distance
        for step in range(200):
            assert path.distance() <= bound(step)
            path.check_and_move(rng)
        assert bound(200) < 1e-12


def test_a_belief_below_the_range_of_floats_stays_possible() -> None:
    """A slow walk up a ladder of 40 letters: exact beliefs far below 1e-308 are neither 0 nor lost."""
    policy = po.SequencePolicy(po.MarkovChain([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]), math.inf)
    first = policy.advance(policy.start(), 0)
    assert first.belief == (1.0, 0.0)
    ladder = np.zeros((40, 40))
    ladder[np.arange(40), (np.arange(40) + 1) % 40] = 1 - 1e-12
    ladder[np.arange(40), np.arange(40)] = 1e-12
    slow = po.SequencePolicy(po.MarkovChain.normalised(ladder, np.eye(40)[0]), 0.5)
    path, rng = Path(slow), np.random.default_rng(0)
    for _ in range(39):
        path.check_and_move(rng)
    assert min(p for p in path.belief if p) < Fraction(1, 10**400)
    assert all((b > 0) == (p > 0) for b, p in zip(path.state.belief, path.belief, strict=True))


@pytest.mark.parametrize("rule", ["closed-form", GREEDY.name])
def test_the_whole_sequence_leaks_at_most_the_sum(rule: str) -> None:
    chain = random_chain(7, largest=3)
    policy, length, n = po.SequencePolicy(chain, 0.6, rule=rule), 4, chain.k
    words = list(itertools.product(range(n), repeat=length))
    odds = np.array(
        [
            chain.initial[w[0]] * np.prod([chain.transition[a, b] for a, b in itertools.pairwise(w)])
            for w in words
        ]
    )
    for path in words:
        likelihood, state = np.ones(len(words)), policy.start()
        for t, y in enumerate(path):
            kernel = policy.kernel(state.belief).matrix
            likelihood *= kernel[[w[t] for w in words], y]
            if kernel[:, y].max() == 0:
                break
            state = policy.advance(state, y)
        if likelihood.max() > 0:
            assert np.abs(np.log(likelihood / (odds @ likelihood))).max() <= length * 0.6 + 1e-12


@pytest.mark.parametrize(
    ("belief", "epsilon", "error"),
    [
        ((0.6, 0.4), 0.5, 0.29113471666206403),
        ((0.85, 0.15), 1.0, 0.15),
        ((0.45, 0.35, 0.2), 0.4, 0.4615127867272829),
        ((0.3, 0.25, 0.2, 0.15, 0.1), 1.0, 0.38448138875788973),
        ((0.5, 0.2, 0.12, 0.1, 0.05, 0.03), 1.2, 0.31891779687814914),
    ],
)
def test_the_price_of_certainty_is_tiny(belief: tuple[float, ...], epsilon: float, error: float) -> None:
    n = len(belief)
    policy = po.SequencePolicy(po.MarkovChain(np.full((n, n), 1 / n), belief), epsilon)
    policy_error = 1 - np.array(belief) @ np.diag(policy.kernel(belief).matrix)
    assert error - 1e-12 <= policy_error <= error + 1e-6


def test_many_beliefs_at_once_are_as_one_by_one() -> None:
    chain = random_chain(11)
    policy = po.SequencePolicy(chain, 1.1)
    beliefs = np.random.default_rng(0).dirichlet(np.ones(chain.k), 50)
    weights, total = policy.kernels(beliefs)
    assert (weights.sum(axis=2) == total).all()
    releases = weights.sum(axis=1).argmax(axis=1)
    after = policy.predict(beliefs, weights, releases)
    for i in range(50):
        kernel = policy.kernel(beliefs[i])
        assert kernel.matrix == pytest.approx(weights[i] / total, abs=1e-12)
        posterior = beliefs[i] * kernel.matrix[:, releases[i]]
        assert after[i] == pytest.approx(posterior / posterior.sum() @ chain.transition, abs=1e-12)
        state = PolicyState(3, tuple(beliefs[i].tolist()))
        assert policy.advance(state, int(releases[i])).belief == pytest.approx(after[i], abs=1e-12)


def test_draws_follow_the_integer_weights() -> None:
    rng = np.random.default_rng(5)
    policy = po.SequencePolicy(random_chain(2), 0.9)
    row = policy.kernels(np.array([policy.start().belief]))[0][0, 1]
    drawn = draw(np.tile(row, (20_000, 1)), rng)
    used = row > 0
    assert set(np.unique(drawn)) <= set(np.flatnonzero(used))
    seen = np.bincount(drawn, minlength=len(row))[used]
    assert chisquare(seen, 20_000 * (row[used] / 2**52)).pvalue > 1e-9
    assert draw(np.array([[0, 2**52, 0]] * 100), None).tolist() == [1] * 100


def test_simulations_and_releases_follow_the_same_distribution() -> None:
    chain, users = random_chain(4, largest=3), 4000
    letters = np.zeros((users, 3), dtype=np.int64)
    policy = po.SequencePolicy(chain, 1.0)
    twin = po.SequencePolicy(
        chain, 1.0, rule="closed-form", prepared=[(chain.initial, policy.kernel(chain.initial))]
    )
    rng = np.random.default_rng(0)
    counts = []
    for one in (policy, twin):  # the second has no short cut
        codes = one.release(letters, rng).astype(int) @ chain.k ** np.arange(3)
        counts.append(np.bincount(codes, minlength=chain.k**3))
    both = np.array(counts)[:, np.sum(counts, axis=0) > 20]
    expected = both.sum(axis=0) / 2
    statistic = ((both - expected) ** 2 / expected).sum()
    assert statistic < 2 * both.shape[1] + 20


def test_no_budget_releases_one_letter_and_endless_budget_the_data() -> None:
    assert set(po.SequencePolicy(PLAIN, 0.0).release(["home", "away"] * 20)) in ({"home"}, {"away"})
    data = ["home", "away", "away"] * 10
    assert po.SequencePolicy(PLAIN, math.inf).release(data).tolist() == data


def test_a_policy_that_is_not_enforced_uses_what_is_proposed_and_only_simulates() -> None:
    policy = po.SequencePolicy(PLAIN, 0.1, rule=GREEDY.name, enforced=False)
    assert policy.kernel(PLAIN.initial).matrix.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert "not enforced" in repr(policy)
    with pytest.raises(InvalidMechanism, match="not enforced"):
        policy.release(["home"])
    with pytest.raises(InvalidMechanism, match="not enforced"):
        policy.step(policy.start(), "home")
    assert policy.release(["home", "away"], np.random.default_rng(0)).tolist() == ["home", "away"]
    strict = policy.with_enforcement()
    assert strict.enforced
    assert not strict.simulation_only
    assert strict.kernel(PLAIN.initial).matrix.min() > 0.4


def test_prepared_kernels_are_used_where_they_belong_and_checked() -> None:
    setting = po.SequencePolicy(PLAIN, 1.0, rule=GREEDY.name).setting
    mild = po.Channel([[0.6, 0.4], [0.4, 0.6]], setting.inputs, setting.outputs)
    policy = po.SequencePolicy(PLAIN, 1.0, rule=GREEDY.name, prepared=[([0.5, 0.5], mild)])
    assert policy.kernel([0.5, 0.5]).matrix == pytest.approx(mild.matrix, abs=1e-15)
    assert policy.kernel([0.4, 0.6]).matrix != pytest.approx(mild.matrix, abs=0.01)
    tight = po.SequencePolicy(PLAIN, 0.05, rule=GREEDY.name, prepared=[([0.5, 0.5], mild)])
    matrix = tight.kernel([0.5, 0.5]).matrix
    assert np.abs(np.log(matrix / matrix.mean(axis=0))).max() <= 0.05


def test_policies_travel() -> None:
    mild = po.Channel([[0.6, 0.4], [0.4, 0.6]], PLAIN.letters, PLAIN.letters)
    for policy in (
        po.SequencePolicy(PLAIN, 1.0),
        po.SequencePolicy(PLAIN, math.inf, limit=10, simulation_only=True),
        po.SequencePolicy(PLAIN, 0.5, 3, [[0, 1, 0.5], [1, 0, 0.5]], GREEDY.name),
        po.SequencePolicy(PLAIN, 0.5, rule=GREEDY.name, enforced=False, prepared=[([0.5, 0.5], mild)]),
    ):
        fields = json.loads(json.dumps(policy.to_dict(), allow_nan=False))
        check_schema(fields, "mechanism-sequence_policy")
        for twin in (mechanism_from_dict(fields), pickle.loads(pickle.dumps(policy)), policy.quantised()):
            assert twin == policy
            assert hash(twin) == hash(policy)
            assert twin.fingerprint == policy.fingerprint
        assert policy.validated(True).simulation_only
    assert po.SequencePolicy(PLAIN, 1.0) != po.SequencePolicy(PLAIN, 1.0, limit=5)
    row = po.SequencePolicy(PLAIN, 1.0).exact()[0]
    assert row.total == 2**52 == sum(row.weights)


def test_proposals_of_another_shape_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(GREEDY), "propose", lambda rule, setting, beliefs: np.ones((1, 3, 3)))
    with pytest.raises(InvalidMechanism, match="rule 'test-greedy' proposed kernels of shape"):
        po.SequencePolicy(PLAIN, 1.0, rule=GREEDY.name).kernel([0.5, 0.5])


def test_policies_show_themselves() -> None:
    policy = po.SequencePolicy(PLAIN, 1.0, 2, rule=GREEDY.name)
    assert (
        repr(policy)
        == "SequencePolicy(2 letters, epsilon=1, batch=2, distortion='hamming', rule='test-greedy')"
    )
    assert "away" in policy._repr_html_()


def test_a_margin_that_leaves_nothing_releases_a_constant() -> None:
    policy = po.SequencePolicy(PLAIN, 1e-7, limit=2**40)
    assert policy.kernel([0.3, 0.7]).matrix.tolist() == [[0.0, 1.0], [0.0, 1.0]]


BAD = [
    ({"epsilon": -1.0}, "epsilon"),
    ({"epsilon": math.nan}, "epsilon"),
    ({"batch": 0}, "batch"),
    ({"batch": 2}, "closed-form"),
    ({"limit": 0}, "limit"),
    ({"distortion": "hamm"}, "distortion"),
    ({"distortion": "l1"}, "numbers"),
    ({"distortion": [[0, 1]]}, "row for each"),
    ({"distortion": [[0, 1], [math.inf, 0]]}, "finite"),
    ({"prepared": [([1.0], po.Channel([[1.0]]))]}, r"prepared\[0\]"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidMechanism, match=message):
        po.SequencePolicy(PLAIN, **{"epsilon": 1.0, **arguments})  # type: ignore[arg-type]


def test_unknown_rules_and_fields_are_refused() -> None:
    with pytest.raises(UnsuitableSolver, match="no rule is called 'nobody'"):
        po.SequencePolicy(PLAIN, 1.0, rule="nobody")
    fields = po.SequencePolicy(PLAIN, 1.0).to_dict()
    for change in (
        {"extra": 1},
        {"chain": None},
        {"epsilon": "x"},
        {"rule": 3},
        {"batch": 1.5},
        {"prepared": 3},
    ):
        with pytest.raises(InvalidMechanism):
            mechanism_from_dict({**fields, **change})
    with pytest.raises(InvalidMechanism, match="belief must be 2 probabilities"):
        po.SequencePolicy(PLAIN, 1.0).kernel([0.5, 0.4])


def test_a_rule_is_asked_once_about_a_belief(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    propose = type(GREEDY).propose

    def counted(rule: Greedy, setting: Setting, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
        calls.append(len(beliefs))
        return propose(rule, setting, beliefs)

    monkeypatch.setattr(type(GREEDY), "propose", counted)
    policy = po.SequencePolicy(PLAIN, 1.0, rule=GREEDY.name)
    beliefs = np.array([[0.5, 0.5], [0.3, 0.7], [0.5, 0.5], [0.1, 0.9]])
    first = policy.kernels(beliefs)[0]
    assert calls == [3]
    assert (policy.kernels(beliefs[::-1])[0] == first[::-1]).all()
    assert calls == [3]
    for i, belief in enumerate(beliefs):
        assert (po.SequencePolicy(PLAIN, 1.0, rule=GREEDY.name).kernels(belief[None])[0][0] == first[i]).all()
