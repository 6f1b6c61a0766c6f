"""A horizon without end: policies, their cost and their bounds against long horizons, value iteration on a grid, and streams."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.mechanisms.policy.formulas.look_ahead import grid
from privopt.mechanisms.policy.lasting import Lattice, felt
from privopt.problems.sequence_information_privacy.long_run import machine_of
from privopt.problems.sequence_information_privacy.steps import invariant

WEATHER = [[0.8, 0.2], [0.3, 0.7]]
STAYS = [[0.9, 0.1], [0.1, 0.9]]
ZEROS = [[0.5, 0.5], [1.0, 0.0]]
NEAR = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]]
CHAINS = {"weather": WEATHER, "stays": STAYS, "zeros": ZEROS, "near": NEAR}


def ask(moves: Any, epsilon: float, horizon: float = math.inf, initial: Any = None, **more: Any) -> Ask:
    return Ask(po.MarkovChain(moves, initial), epsilon, horizon=horizon, **more)


def hilbert(one: Floats, other: Floats) -> float:
    """Between two positive vectors."""
    return float(np.ptp(np.log(one / other)))


@pytest.mark.parametrize("letters", [2, 3, 5])
@pytest.mark.parametrize("steps", [1, 7, 300, 65536])
def test_rounded_beliefs_are_within_the_radius_and_stay_where_they_are(letters: int, steps: int) -> None:
    rng, lattice = np.random.default_rng(steps), Lattice(steps)
    beliefs = rng.dirichlet(np.full(letters, 0.4), 300)
    beliefs[:9, 0] = 0.0
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    near = lattice.nearest(beliefs)
    assert ((near > 0) == (beliefs > 0)).all()
    assert near.sum(axis=1) == pytest.approx(1.0)
    for before, after in zip(beliefs, near, strict=True):
        assert hilbert(before[before > 0], after[before > 0]) <= lattice.radius
    assert (lattice.nearest(near) == near).all()


@pytest.mark.parametrize("name", CHAINS)
def test_errors_of_single_releases_add_up_to_less_than_is_said(name: str) -> None:
    """Two courses of beliefs under the same releases, one of them pushed away at every step as far as is allowed."""
    chain, epsilon, push = po.MarkovChain(CHAINS[name]), 0.7, 0.01
    count = felt(chain, epsilon)
    assert count is not None
    rng, n = np.random.default_rng(3), chain.k
    worst = 0.0
    for _ in range(20):
        true = computed = np.full(n, 1 / n)
        for _ in range(60):
            column = np.exp(rng.choice([-epsilon, epsilon], n))
            true, computed = (p * column @ chain.step(0) / (p * column).sum() for p in (true, computed))
            computed = computed * np.exp(rng.choice([0.0, push], n))
            computed /= computed.sum()
            worst = max(worst, hilbert(true, computed))
    assert push < worst <= push * count


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("epsilon", few((0.5, 2.0), 1))
def test_no_release_of_a_lasting_policy_leaks_more_than_its_budget_at_the_true_belief(
    name: str, epsilon: float
) -> None:
    """The exact posterior beside the belief that is kept, along simulated courses."""
    problem = ask(CHAINS[name], epsilon)
    policy = problem.answer("closed-form")
    assert policy.limit == math.inf
    rng, state, true = np.random.default_rng(0), policy.start(), np.array(problem.chain.initial)
    for _ in range(150):
        kernel = policy.kernel(state.belief).matrix
        output = true @ kernel
        seen = output > 0
        assert np.abs(np.log(kernel[:, seen] / output[seen])).max() <= epsilon * (1 + 1e-12)
        release = int(rng.choice(np.flatnonzero(seen), p=output[seen] / output[seen].sum()))
        true = true * kernel[:, release] @ problem.chain.step(0)
        true /= true.sum()
        state = policy.advance(state, release)
    assert len(set(policy.release(problem.chain.states * 4, rng))) <= problem.chain.k


def simulated(problem: Ask, policy: po.SequencePolicy, letters: int, seed: int) -> tuple[float, float]:
    """Mean Hamming distortion of one long simulated sequence and its standard error by blocks."""
    rng, chain = np.random.default_rng(seed), problem.chain
    data = np.zeros((64, letters), dtype=np.int64)
    moves = np.cumsum(chain.step(0), axis=1)
    for t in range(1, letters):
        data[:, t] = (moves[data[:, t - 1]] < rng.random(64)[:, None]).sum(axis=1).clip(0, chain.k - 1)
    shares = (np.asarray(policy.release(data, rng)) != data)[:, 50:].mean(axis=1)
    return float(shares.mean()), float(shares.std(ddof=1) / 8)


@pytest.mark.parametrize("name", CHAINS)
def test_the_cost_in_the_long_run_is_that_of_long_simulated_sequences(name: str) -> None:
    problem = ask(CHAINS[name], 1.0)
    policy = problem.answer("closed-form")
    read, certificate = problem.evaluate(policy), problem.certify(policy)
    assert read.exact
    assert read.feasible
    assert certificate.ok
    assert certificate.utility[0] <= read.utility <= certificate.utility[1] < certificate.utility[0] + 1e-8
    mean, error = simulated(problem, policy, 500, 1)
    assert -read.utility == pytest.approx(mean, abs=5 * error)


def test_the_cost_of_few_beliefs_is_that_of_their_stationary_distribution() -> None:
    """By solving for the invariant distribution of all pairs of a belief and a state."""
    policy = po.SequencePolicy(po.MarkovChain(WEATHER), 1.0, limit=math.inf, rounding=16)
    problem, machine = ask(WEATHER, 1.0), machine_of(policy, 1000)
    assert machine is not None
    count = len(machine.beliefs)
    moves, cost = np.zeros((count, 2, count, 2)), np.zeros((count, 2))
    for v, x, y in np.ndindex(count, 2, 2):
        chance = machine.weights[v, x, y] / 2.0**52
        cost[v, x] += chance * (x != y)
        moves[v, x, machine.following[v, y]] += chance * np.array(WEATHER[x])
    flat = moves.reshape(2 * count, 2 * count)
    system = np.vstack([flat.T - np.eye(2 * count), np.ones(2 * count)])
    shares = np.linalg.lstsq(system, np.append(np.zeros(2 * count), 1.0), rcond=None)[0]
    low, high = problem.certify(policy).utility
    assert low <= -float(shares @ cost.ravel()) + 1e-12
    assert -float(shares @ cost.ravel()) <= high + 1e-12


def iterated(moves: Any, epsilon: float, points: int, rounds: int) -> float:
    """The least cost in the long run for two letters, nearly: value iteration with costs on the line between points of a grid.

    All pairs of a posterior below the belief and one above it are searched, the ends of the intervals among them, each for one
    of the two releases.
    """
    step, z = np.array(moves), np.linspace(0, 1, points)
    belief = step[0, 1] + z * (step[1, 1] - step[0, 1])
    low = np.maximum(belief * math.exp(-epsilon), 1 - math.exp(epsilon) * (1 - belief))
    high = np.minimum(belief * math.exp(epsilon), 1 - math.exp(-epsilon) * (1 - belief))
    h = np.zeros(points)
    gain = h
    for _ in range(rounds):
        least = np.minimum(belief, 1 - belief) + np.interp(belief, z, h)
        for i in np.flatnonzero(high > low):
            below = np.append(z[(z >= low[i]) & (z < belief[i])], low[i])
            above = np.append(z[(z <= high[i]) & (z > belief[i])], high[i])
            share = (belief[i] - below[:, None]) / (above - below[:, None])
            for one, other in ((below, 1 - above), (1 - below, above)):
                under, over = one + np.interp(below, z, h), other + np.interp(above, z, h)
                least[i] = min(least[i], float(((1 - share) * under[:, None] + share * over).min()))
        gain = least - h
        h = least - least.min()
    return float(0.5 * (gain.max() + gain.min()))


@pytest.mark.parametrize(("name", "epsilon"), [("weather", 1.0), ("stays", 0.6), ("zeros", 1.5)])
def test_value_iteration_on_a_grid_finds_what_bound_and_policy_enclose(name: str, epsilon: float) -> None:
    problem = ask(CHAINS[name], epsilon)
    policy = problem.evaluate(problem.answer("look-ahead"))
    best = iterated(CHAINS[name], epsilon, 81, 40)
    proved = problem.prove_bound(dual(65, 300))
    assert proved is not None
    assert policy.utility <= proved[1]
    assert -proved[1] <= best * (1 + 2e-3)
    assert -policy.utility == pytest.approx(best, rel=5e-3)
    assert proved[1] - policy.utility <= 0.01 * best


def dual(points: int, steps: int) -> dict[str, object]:
    return {"kind": "beliefs", "posteriors": grid(points).tolist(), "steps": steps}


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("weather", 0.3), pytest.param("zeros", 2.0, marks=pytest.mark.long)],
)
def test_the_bound_in_the_long_run_is_the_limit_of_those_of_long_horizons(name: str, epsilon: float) -> None:
    bounds = []
    for horizon in (100, 1000, math.inf):
        proved = ask(CHAINS[name], epsilon, horizon).prove_bound(dual(65, 300))
        assert proved is not None
        bounds.append(proved[1])
    assert abs(bounds[1] - bounds[2]) <= 0.11 * abs(bounds[0] - bounds[2]) + 1e-6


@pytest.mark.parametrize("name", ["weather", "near"])
def test_prices_in_the_long_run_prove_the_limit_of_what_they_prove_of_long_horizons(name: str) -> None:
    n = len(CHAINS[name])
    prices = {"kind": "sequence", "lam": [[0.1] * n], "revealed": [[0.02] * n] * n}
    bounds = []
    for horizon in (100, 1000, math.inf):
        proved = ask(CHAINS[name], 1.0, horizon).prove_bound(prices)
        assert proved is not None
        bounds.append(proved[1])
    assert abs(bounds[1] - bounds[2]) <= 0.11 * abs(bounds[0] - bounds[2]) + 1e-9


@pytest.mark.parametrize("moves", [[[0.6, 0.4]] * 2, [[0.5, 0.3, 0.2]] * 3, [[0.7, 0.3, 0.0]] * 3])
@pytest.mark.parametrize("epsilon", [0.3, 1.2])
def test_independent_letters_cost_as_much_as_one(moves: Any, epsilon: float) -> None:
    initial = moves[0]
    forever, once = (po.solve(ask(moves, epsilon, n, initial)) for n in (math.inf, 1))
    assert forever.status.name == "OPTIMAL"
    assert forever.certified
    assert forever.utility == pytest.approx(once.utility, abs=1e-7)
    assert forever.mechanism.limit == math.inf


@pytest.mark.long
@pytest.mark.parametrize("distortion", ["hamming", "l1"])
def test_bounds_of_prices_are_above_every_policy(distortion: str) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        problem = ask(rng.dirichlet(np.ones(3), 3), 0.8, distortion=distortion)
        rule = "closed-form" if distortion == "hamming" else "interval"
        solved = po.solve(problem, rule, time_limit=60)
        assert solved.certified
        assert solved.utility is not None
        assert solved.bound is not None
        assert solved.utility <= solved.bound
        long = po.solve(ask(problem.chain.transition, 0.8, 1000, distortion=distortion), rule, time_limit=60)
        assert solved.bound == pytest.approx(long.bound, abs=0.01)


@pytest.mark.long
def test_the_potential_of_three_letters_is_a_bound_in_the_long_run() -> None:
    problem = ask([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]], 1.0)
    solved = po.solve(problem, "potential", time_limit=60)
    plain = po.solve(problem, "closed-form", time_limit=60)
    assert solved.certified
    assert plain.utility is not None
    assert plain.bound is not None
    assert solved.bound is not None
    assert plain.utility <= solved.bound < plain.bound
    assert isinstance(solved.dual, dict)
    assert problem.prove_bound({**solved.dual, "curvature": 0.0}) is None
    raised = [[u + 0.5 * (x == 0) for x, u in enumerate(row)] for row in solved.dual["pieces"]]
    other = problem.prove_bound({**solved.dual, "pieces": raised})
    assert other is None or other[1] >= plain.utility


def test_nothing_and_everything() -> None:
    nothing, everything = (po.solve(ask(WEATHER, epsilon)) for epsilon in (0.0, math.inf))
    assert nothing.utility == pytest.approx(-0.4, abs=1e-9)
    assert everything.utility == 0.0
    assert nothing.status.name == everything.status.name == "OPTIMAL"


def test_a_larger_budget_never_costs_utility_and_the_beginning_does_not_matter() -> None:
    utilities = [
        ask(WEATHER, e).evaluate(ask(WEATHER, e).answer("closed-form")).utility for e in (0.2, 0.6, 1.5, 3)
    ]
    assert utilities == sorted(set(utilities))
    begun = ask(WEATHER, 0.6, initial=[0.0, 1.0])
    assert begun.evaluate(begun.answer("closed-form")).utility == pytest.approx(utilities[1], rel=1e-3)


def test_invariant_distributions_are_within_their_error() -> None:
    for moves in CHAINS.values():
        distribution, error = invariant(po.MarkovChain(moves, [1.0] + [0.0] * (len(moves) - 1)))
        exact = np.array(po.MarkovChain(moves).initial)
        assert np.abs(distribution / exact - 1).max() <= error < 1e-9


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"horizon": math.inf, "batch": 2}, "single letters"),
        ({"horizon": -math.inf}, "an integer >= 1, or inf"),
        ({"horizon": math.nan}, "an integer >= 1, or inf"),
        ({"horizon": 2.5}, "an integer >= 1, or inf"),
        ({"horizon": 2**21}, "inf for the long run"),
    ],
)
def test_what_is_no_horizon_is_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidProblem, match=sentence):
        Ask(po.MarkovChain(WEATHER), 1.0, **arguments)


@pytest.mark.parametrize("moves", [[[0, 1], [1, 0]], [[1, 0], [0.5, 0.5]], [WEATHER, WEATHER]])
def test_chains_that_alternate_or_end_are_refused(moves: Any) -> None:
    with pytest.raises(InvalidProblem, match="equal steps"):
        ask(moves, 1.0, initial=[0.5, 0.5])


def test_sets_of_chains_policies_with_an_end_and_baselines_are_refused() -> None:
    near = po.ChainAmbiguity.interval(po.MarkovChain(WEATHER), 0.05)
    with pytest.raises(InvalidProblem, match="not for a set"):
        Ask(near, 1.0, horizon=math.inf)
    problem = ask(WEATHER, 1.0)
    with pytest.raises(InvalidMechanism, match="has no end"):
        problem.evaluate(po.SequencePolicy(problem.chain, 1.0))
    for name in ("randomised-response", "oracle", "potential", "restricted-outputs"):
        assert po.solve(problem, name).status.name == "REFUSED"
    rounded = problem.answer("closed-form")
    with pytest.raises(InvalidMechanism, match="rounds beliefs"):
        po.measures.sequence_leakage(problem.chain, rounded, 4)
    for limit, rounding, batch in ((2**20, 8, 1), (math.inf, -1, 1), (math.inf, 0, 2)):
        with pytest.raises(InvalidMechanism):
            po.SequencePolicy(problem.chain, 1.0, batch, limit=limit, rounding=rounding)


def test_a_policy_without_rounding_is_simulated_and_never_called_optimal() -> None:
    problem = ask(WEATHER, 1.0)
    policy = po.SequencePolicy(problem.chain, 1.0, limit=math.inf)
    read, certificate = problem.evaluate(policy), problem.certify(policy)
    assert not read.exact
    assert certificate.ok
    rounded = problem.evaluate(problem.answer("closed-form"))
    assert read.utility == pytest.approx(rounded.utility, abs=5 * read.standard_error)


def test_files_say_inf_and_come_back(tmp_path: Path) -> None:
    problem = ask(WEATHER, 0.8)
    fields = json.loads(json.dumps(problem.to_dict()))
    assert fields["horizon"] == "inf"
    assert Ask.from_dict(fields) == problem
    assert "inf" in repr(problem)
    policy = problem.answer("closed-form")
    written = json.loads(json.dumps(policy.to_dict()))
    assert written["limit"] == "inf"
    again = po.SequencePolicy.from_dict(written)
    assert again == policy
    assert again.fingerprint == policy.fingerprint
    assert (
        again.kernels(np.array([again.start().belief]))[0]
        == policy.kernels(np.array([policy.start().belief]))[0]
    ).all()
    place = tmp_path / "journal.json"
    first = list(policy.release(iter([0, 1, 1]), state=policy.state(place)))
    journal = again.state(place)
    assert (journal.step, journal.last) == (3, first[-1])


def test_what_a_certificate_says_of_the_long_run() -> None:
    problem = ask(WEATHER, 1.0)
    policy = problem.answer("closed-form")
    certificate = problem.certify(policy)
    assert certificate.leakage[1] <= 1.0
    assert "everything" in " ".join(certificate.uncovered)
    assert problem.quantity().name == "distortion per letter in the long run"
    worse = po.SequencePolicy(problem.chain, 1.5, limit=math.inf, rounding=policy.rounding)
    assert not problem.certify(worse).ok
