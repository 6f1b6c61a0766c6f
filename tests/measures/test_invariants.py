"""Laws of the leakage measures on random joints: data processing, linkage, orders, relabelling, implications."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from instances.few import few

from privopt import errors
from privopt import measures as m
from privopt.arrays import Floats
from privopt.measures.report.implications import Key

Measure = Callable[[Floats], float]
EDGES = [(0, 1), (1, 2)]
SLACK = 1e-12


def channel(joint: Floats) -> Floats:
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def ordered(name: str, alpha: float) -> Measure:
    function = getattr(m, name)

    def read(joint: Floats) -> float:
        return float(function(joint, alpha, normalise=True))

    return read


def maximal(alpha: float) -> Measure:
    return lambda joint: m.maximal_alpha_leakage(channel(joint), alpha, joint.sum(axis=1), normalise=True)[1]


# (name, order, connected, value at a joint with three secrets)
MEASURES: list[tuple[str, float | None, bool | None, Measure]] = [
    ("mutual_information", None, None, lambda t: m.mutual_information(t, normalise=True)),
    ("local_information_privacy", None, None, lambda t: m.local_information_privacy(t, normalise=True).upper),
    (
        "local_information_privacy",
        None,
        None,
        lambda t: -m.local_information_privacy(t, normalise=True).lower,
    ),
    (
        "local_information_privacy",
        None,
        None,
        lambda t: m.local_information_privacy(t, normalise=True).symmetric,
    ),
    ("local_differential_privacy", None, None, lambda t: m.local_differential_privacy(channel(t))),
    ("differential_privacy", None, True, lambda t: m.differential_privacy(channel(t), EDGES)),
    ("differential_privacy", None, None, lambda t: m.differential_privacy(channel(t), EDGES[:1])),
    ("delta_at", None, None, lambda t: m.delta_at(channel(t), 0.4)),
    ("capacity", None, None, lambda t: m.capacity(channel(t))[1]),
    ("maximal_leakage", None, None, lambda t: m.maximal_leakage(channel(t))),
    ("min_entropy_leakage", None, None, lambda t: m.min_entropy_leakage(t, normalise=True)),
    *(
        (name, a, None, ordered(name, a))
        for name in ("alpha_leakage", "alpha_lift")
        for a in (1, 1.5, 4, math.inf)
    ),
    *(
        ("sibson_mutual_information", a, None, ordered("sibson_mutual_information", a))
        for a in (0, 0.5, 1, 3, math.inf)
    ),
    *(("maximal_alpha_leakage", a, None, maximal(a)) for a in (1.5, 4, math.inf)),
]
by_measure = pytest.mark.parametrize(
    ("name", "alpha", "connected", "value"),
    MEASURES,
    ids=[f"{n}-{a}-{i}" for i, (n, a, _, _) in enumerate(MEASURES)],
)


def joints(count: int, seed: int = 0) -> list[Floats]:
    rng = np.random.default_rng(seed)
    return [
        rng.dirichlet(np.ones(12) * rng.choice([0.3, 1.0, 5.0])).reshape(3, 4) + 1e-6 for _ in range(count)
    ]


def tolerance(name: str) -> float:
    return 3e-9 if name in ("capacity", "maximal_alpha_leakage") else SLACK


@by_measure
def test_post_processing_never_leaks_more(
    name: str, alpha: float | None, connected: bool | None, value: Measure
) -> None:
    assert m.axioms(name, alpha=alpha, connected=connected).post_processing
    rng = np.random.default_rng(1)
    for joint in joints(40):
        later = rng.dirichlet(np.ones(3) * 0.5, size=4)
        assert value(joint @ later) <= value(joint) + tolerance(name)


@by_measure
def test_linkage_holds_exactly_where_it_is_claimed(
    name: str, alpha: float | None, connected: bool | None, value: Measure
) -> None:
    claimed = m.axioms(name, alpha=alpha, connected=connected).linkage
    rng = np.random.default_rng(2)
    broken = 0
    cases = [(joint, rng.dirichlet(np.ones(3) * 0.4, size=3)) for joint in joints(60, 3)]
    if name != "differential_privacy":
        cases.append((np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[0, 1], [2 / 3, 1 / 3]])))
        # Splitting the common secret makes the rare one weigh more at every order above 1.
        cases.append((np.array([[0.98, 0.01], [0.0, 0.01]]), np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])))
    for joint, behind in cases:
        linked = behind.T @ joint
        broken += value(linked[linked.any(axis=1)]) > value(joint) + tolerance(name)
    assert (broken == 0) == claimed


@by_measure
def test_independence_and_only_it_leaks_nothing(
    name: str, alpha: float | None, connected: bool | None, value: Measure
) -> None:
    rng = np.random.default_rng(4)
    product = np.outer(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4)))
    assert value(product) == pytest.approx(0, abs=tolerance(name))
    rows = np.array([[0.3, 0.7], [0.3, 0.7], [0.6, 0.4]])  # neighbours 0 and 1 are told apart by nothing
    hidden = [
        np.array([[8.0, 6.0], [1, 1], [1, 2]]) / 19,
        rows / 3,
        np.array([[5.0, 4], [5, 5], [4, 5]]) / 28,
    ]
    silent = any(value(joint) <= tolerance(name) for joint in hidden)
    assert silent != m.axioms(name, alpha=alpha, connected=connected).zero_only_if_independent


@by_measure
def test_symmetry(name: str, alpha: float | None, connected: bool | None, value: Measure) -> None:
    claimed = m.axioms(name, alpha=alpha, connected=connected).symmetric
    cases = [joint[:, :3] for joint in joints(20, 5)]
    cases.append(np.array([[0.1, 0.2, 0.0], [0.0, 0.3, 0.1], [0.2, 0.0, 0.1]]))
    differ = [abs(value(joint) - value(joint.T)) > tolerance(name) for joint in cases]
    assert any(differ) != claimed


@by_measure
def test_relabelling_changes_nothing(
    name: str, alpha: float | None, connected: bool | None, value: Measure
) -> None:
    rng = np.random.default_rng(6)
    for joint in joints(10, 7):
        rows = np.arange(3) if name == "differential_privacy" else rng.permutation(3)
        shuffled = joint[rows][:, rng.permutation(4)]
        assert value(shuffled) == pytest.approx(value(joint), rel=1e-12, abs=tolerance(name))


@pytest.mark.long
def test_sibson_and_maximal_alpha_leakage_never_fall_with_the_order() -> None:
    orders = [1, 1 + 1e-9, 1.01, 1.3, 2, 5, 20, 200, math.inf]
    for joint in joints(15, 8):
        sibson = [m.sibson_mutual_information(joint, a, normalise=True) for a in (0, 0.2, 0.7, *orders)]
        assert (np.diff(sibson) >= -SLACK).all()
        lifts = [m.alpha_lift(joint, a, normalise=True) for a in orders]
        assert (np.diff(lifts) >= -SLACK).all()
        largest = [
            m.maximal_alpha_leakage(channel(joint), a, joint.sum(axis=1) / joint.sum())[1] for a in orders
        ]
        assert (np.diff(largest) >= -3e-9).all()
        low, high = m.capacity(channel(joint))
        assert low <= largest[1] + 1e-9
        assert largest[1] <= high + 1e-8


def test_alpha_leakage_falls_somewhere_for_most_joints() -> None:
    orders = [1, 1.2, 1.5, 2, 3, 5, 10, 30, math.inf]
    rng = np.random.default_rng(9)
    tables = [rng.dirichlet(np.ones(6)).reshape(3, 2) for _ in range(100)]
    falls = [min(np.diff([m.alpha_leakage(t, a) for a in orders])) < -1e-9 for t in tables]
    assert sum(falls) > 90


def test_the_links_between_the_orders() -> None:
    for joint in joints(20, 10):
        law = joint / joint.sum()
        for a in (1.1, 2.0, 7.0):
            tilted = law.sum(axis=1) ** a
            at_tilted = (tilted / tilted.sum())[:, None] * channel(law)
            assert m.alpha_leakage(law, a) == pytest.approx(
                m.sibson_mutual_information(at_tilted, a), rel=1e-11
            )
            with_y, without = m.expected_alpha_loss(law, a)
            reward = [1 - (a - 1) / a * loss for loss in (with_y, without)]
            growth = a / (a - 1) * math.log(reward[0] / reward[1])
            assert m.alpha_leakage(law, a) == pytest.approx(growth, abs=1e-13)
        told = m.expected_alpha_loss(law, 1)
        assert m.mutual_information(law) == pytest.approx(told[1] - told[0], abs=1e-14)


def test_axioms_of_the_counter_example() -> None:
    counts = np.array([[1.0, 0.0], [1.0, 2.0]])
    behind = np.array([[0.0, 1.0], [2 / 3, 1 / 3]])
    assert m.min_entropy_leakage(counts, normalise=True) == 0
    leaked = m.min_entropy_leakage(behind.T @ counts, normalise=True)
    assert leaked == pytest.approx(math.log(4 / 3), rel=1e-14)
    assert not m.axioms(m.min_entropy_leakage).linkage
    assert not m.axioms(m.alpha_leakage).zero_only_if_independent
    assert m.axioms(m.alpha_leakage, alpha=2).zero_only_if_independent
    with pytest.raises(errors.InvalidProblem, match="not a leakage measure"):
        m.axioms("entropy")


def test_linkage_of_differential_privacy_fails_for_the_or_of_two_bits() -> None:
    q, r, s = 0.2, 0.4, 0.6  # Pr(Y=1 | 00), Pr(Y=1 | 01 or 10), Pr(Y=1 | 11), neighbours differ in one bit
    rows = [[1 - p, p] for p in (q, r, r, s)]
    level = m.differential_privacy(rows, [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert level == pytest.approx(0.693147, abs=5e-7)
    assert m.differential_privacy([rows[0], rows[3]], [(0, 1)]) == pytest.approx(1.098612, abs=5e-7)


def known_values(joint: Floats) -> dict[Key, float]:
    law = joint / joint.sum()
    upper, lower, symmetric = m.local_information_privacy(law)
    values: dict[Key, float] = {
        "upper": upper,
        "lower": lower,
        "symmetric": symmetric,
        "local_differential_privacy": m.local_differential_privacy(channel(law)),
        "differential_privacy": m.differential_privacy(channel(law), EDGES),
        "mutual_information": m.mutual_information(law),
        "min_entropy_leakage": m.min_entropy_leakage(law),
        "maximal_leakage": m.maximal_leakage(channel(law)),
        "capacity": m.capacity(channel(law))[1],
        ("delta_at", 0.3): m.delta_at(channel(law), 0.3),
        ("delta_at_neighbours", 0.3): m.delta_at(channel(law), 0.3, neighbours=EDGES),
    }
    for a in (1.2, 2.0, 9.0):
        values["sibson_mutual_information", a] = m.sibson_mutual_information(law, a)
        values["alpha_leakage", a] = m.alpha_leakage(law, a)
        values["alpha_lift", a] = m.alpha_lift(law, a)
        values["maximal_alpha_leakage", a] = m.maximal_alpha_leakage(channel(law), a)[1]
    return values


@pytest.mark.parametrize("seed", few(range(60), 15))
@pytest.mark.parametrize("with_prior", [False, True])
def test_every_implied_bound_holds(seed: int, with_prior: bool) -> None:
    joint = joints(60, 11)[seed]
    values = known_values(joint)
    smallest = float((joint.sum(axis=1) / joint.sum()).min()) if with_prior else None
    for key, value in values.items():
        rest = {other: math.inf for other in values if other != key}
        bounds = m.implied_bounds({**rest, key: value}, smallest_prior=smallest, orders=(1.2, 2, 9))
        for name, bound in bounds.items():
            assert values[name] <= bound * (1 + 1e-12) + 3e-9, (key, name)
            assert name == key or bound.since
    together = m.implied_bounds(values, smallest_prior=smallest)
    assert all(values[name] <= bound + 3e-9 for name, bound in together.items())


def test_implied_bounds_are_attained_where_they_are_called_best() -> None:
    e = 0.9
    for p in (0.5, 0.1):
        # Randomised response of two secrets with priors p and 1-p.
        x = math.exp(e) / (1 + math.exp(e))
        law = np.array([[p * x, p * (1 - x)], [(1 - p) * (1 - x), (1 - p) * x]])
        bounds = m.implied_bounds({"local_differential_privacy": e}, smallest_prior=p)
        upper, lower, _ = m.local_information_privacy(law)
        assert bounds["upper"] == pytest.approx(upper, rel=1e-12)
        assert bounds["lower"] == pytest.approx(-lower, rel=1e-12)
        assert m.implied_bounds({"upper": upper, "lower": lower})[
            "local_differential_privacy"
        ] == pytest.approx(upper - lower, rel=1e-15)
        delta = m.implied_bounds({"local_differential_privacy": e, ("delta_at", 0.3): math.inf})[
            "delta_at", 0.3
        ]
        assert delta == pytest.approx(m.delta_at([[x, 1 - x], [1 - x, x]], 0.3), rel=1e-12)


def test_alpha_leakage_is_bounded_by_the_largest_lift_at_every_order() -> None:
    bounds = m.implied_bounds({"upper": 0.2}, orders=(1.0001, 2, 50))
    assert bounds["alpha_leakage", 1.0001] == 0.2
    assert bounds["mutual_information"] == 0.2
    assert bounds["alpha_lift", 2.0] == pytest.approx(0.1)
    assert "local_differential_privacy" not in bounds
    assert set(m.implied_bounds({"differential_privacy": 0.5})) == {"differential_privacy"}


def test_implied_bounds_chain_and_remember() -> None:
    bounds = m.implied_bounds({("alpha_lift", 2.0): 0.1, "symmetric": 3.0})
    assert bounds["sibson_mutual_information", 2.0] == pytest.approx(0.2)
    assert bounds["mutual_information"].since == (("sibson_mutual_information", 2.0),)
    again = pickle.loads(pickle.dumps(bounds))
    assert again["mutual_information"].why == bounds["mutual_information"].why
    assert m.implied_bounds({("alpha_leakage", 1): 0.1})["mutual_information"] == 0.1
    assert m.implied_bounds({("sibson_mutual_information", math.inf): 0.1})["maximal_leakage"] == 0.1


@pytest.mark.parametrize(
    ("known", "smallest"),
    [({"lift": 0.1}, None), ({"upper": -0.1}, None), ({"upper": math.nan}, None), ({("alpha_lift", 0.5): 1.0}, None),
     ({"upper": 0.1}, 0.6), ({"upper": 0.1}, 0.0)],
)  # fmt: skip
def test_implied_bounds_refuse_what_they_cannot_read(known: dict[Key, float], smallest: float | None) -> None:
    with pytest.raises(errors.InvalidProblem):
        m.implied_bounds(known, smallest_prior=smallest)
