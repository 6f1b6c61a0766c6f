"""The paper on sequences computed again: against enumeration, public values, and the judge of the library."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po
from privopt.benchmarks.papers.item import (
    Finding,
    Item,
    PaperReport,
    Reproduced,
    Setting,
    chosen,
    claims_of,
    find_paper,
    reproduce,
    reproduces,
)
from privopt.benchmarks.papers.items import sequence_clicks as clicks
from privopt.benchmarks.papers.items import sequence_gaze as gaze
from privopt.benchmarks.papers.items import sequence_synthetic as synthetic
from privopt.benchmarks.papers.items._sequence import ABSENT, few_letters, gazes, likelihoods, release, walks
from privopt.benchmarks.papers.items._sequence import clicks as source
from privopt.benchmarks.papers.items.sequence_noise import Example
from privopt.benchmarks.papers.page import paper_page
from privopt.benchmarks.papers.sequences import (
    cheapest,
    enumerate_releases,
    in_words,
    leakages,
    mended,
    optimum,
    optimum_at_once,
    printed,
    random_chain,
    randomised_response,
)
from privopt.benchmarks.timings.measurements.sequence import plain, value
from privopt.measures.sequence.adversary import hmm_reidentify
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy

OFF = {
    "S-TH2b",
    "S-MIS",
    "S-TH4",
    "S-TH4b",
    "S-KKT",
    "S-EQ62",
    "S-L1",
    "S-GRD",
    "S-NOE",
    "S-5d",
    "S-C1",
    "S-A1",
    "S-E1d",
}
HOLD = {
    "S-TH1",
    "S-TH2a",
    "S-EQ35",
    "S-EQ36",
    "S-TH3",
    "S-MIP",
    "S-LDPC",
    "S-K3",
    "S-TH5",
    "S-E1e",
    "S-5c",
    "S-5f",
    "S-EQ30",
}
RIGHT = {"S-E1", "S-E1b", "S-INT"}


@pytest.fixture(autouse=True)
def substitutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No data of the user's: what is shown are the seeded substitutes."""
    monkeypatch.delenv("PRIVOPT_DATA", raising=False)
    for cached in (
        source,
        gazes,
        clicks.released,
        clicks.in_batches,
        gaze.split,
        gaze.recognition,
        gaze.distances,
    ):
        cached.cache_clear()


# every printed item


def test_an_item_is_computed_by_one_function() -> None:
    computed("S-TH1")  # all items are registered before another one takes the name
    with pytest.raises(ValueError, match="'S-TH1' is registered twice"):
        reproduces("S-TH1")(lambda setting: Reproduced("", Finding.OPEN, ""))


def computed(name: str) -> tuple[Item, Reproduced]:
    [pair] = reproduce(chosen(name), Setting(quick=True, figures=False))
    return pair


@pytest.mark.parametrize("name", sorted(OFF | HOLD | RIGHT))
def test_verdicts(name: str) -> None:
    wanted = {Finding.OFF: OFF, Finding.HOLDS: HOLD, Finding.MATCHES: RIGHT}
    [claim] = claims_of(*computed(name))
    assert name in wanted[claim.finding], claim
    assert claim.where.endswith(f"[{name}]")
    assert claim.ours
    assert claim.sentence.endswith(".")


@pytest.mark.parametrize("name", ["S-F6", "S-DAT", "S-K0"])
def test_absent_data_are_said_to_be_absent(name: str) -> None:
    reproduced = computed(name)[1]
    assert reproduced.finding is Finding.NOT_REPRODUCIBLE
    assert "not available" in reproduced.ours + reproduced.why


def test_the_page_of_some_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [claim for name in ("S-TH4b", "S-TH1", "S-TOP") for claim in claims_of(*computed(name))]
    report = PaperReport("sequence", "T", "A", ("about",), tuple(few), (), 1.0)
    text = paper_page(report, "today", "privopt bench paper sequence", {})
    assert text.count('<tr data-verdict="off"') == sum(claim.finding is Finding.OFF for claim in few)
    assert text.count("<tr data-verdict=") == len(few)


@pytest.mark.long
def test_the_whole_paper_again() -> None:
    report = find_paper("sequence")(quick=True)
    assert len(report.claims) == 70
    assert {e.name.partition(",")[0] for e in report.exhibits} >= {f"Figure {i}" for i in (3, 4, 6, 8)}
    for name in ("Figure 5 (a)", "Figure 5 (b)"):
        frame = report[name].frame
        assert (frame[synthetic.SINGLE] <= frame[synthetic.RR]).all()
        assert (frame[synthetic.TRIPLES] <= frame[synthetic.SINGLE] + 1e-9).all()


# kernels, walks, enumeration


@pytest.mark.parametrize("seed", range(6))
def test_kernels_at_once_are_those_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, epsilon = int(rng.integers(2, 8)), float(rng.uniform(0.1, 3))
    beliefs = rng.dirichlet(np.full(n, 0.7), 20)
    both = optimum(epsilon)(beliefs), optimum_at_once(beliefs, epsilon)
    assert both[0] == pytest.approx(both[1], abs=1e-12)
    assert leakages(beliefs, both[1]).max() <= epsilon + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_cheapest_kernels_cost_what_highs_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, epsilon = int(rng.integers(2, 7)), int(rng.integers(2, 7)), float(rng.uniform(0.2, 2))
    p, cost = rng.dirichlet(np.ones(n)), rng.random((n, m))
    kernels = cheapest(epsilon, cost)(p[None, :])
    theirs = plain(p, cost, epsilon)
    assert theirs is not None
    assert value(p, cost, kernels[0]) == pytest.approx(value(p, cost, theirs), abs=1e-7)
    assert leakages(p[None, :], kernels)[0] <= epsilon + 1e-9


def test_public_values_of_the_synthetic_chains() -> None:
    case = [synthetic.walked("case 2", synthetic.SINGLE, e).cost for e in (0.25, 0.5, 1.0)]
    assert case == pytest.approx([0.3164, 0.2601, 0.1611], abs=5e-5)
    theirs = [synthetic.walked("case 2", synthetic.PRINTED, e) for e in (0.25, 0.5, 1.0)]
    assert [w.cost for w in theirs] == pytest.approx([0.3119, 0.2145, 0.1020], abs=5e-5)
    assert [w.worst for w in theirs] == pytest.approx([1.10, 1.51, 1.90], abs=6e-3)
    words = in_words(np.full(2, 0.5), np.array([[0.8, 0.2], [0.3, 0.7]]), 3, 1 - np.eye(2))
    kernels = cheapest(2.0, words.cost)(words.initial[None, :])
    assert float((words.initial[:, None] * kernels[0] * words.cost).sum()) == pytest.approx(
        0.09449394617421311, abs=1e-9
    )


def test_the_walk_reads_what_the_judge_reads() -> None:
    chain = po.MarkovChain([[0.9, 0.1], [0.1, 0.9]], [0.1, 0.9])
    policy = SequencePolicy(chain, 1.0)
    reading = SequenceInformationPrivacy(chain, 1.0, horizon=12).evaluate(policy)
    mine = synthetic.walked("case 2", synthetic.SINGLE, 1.0)
    assert mine.cost == pytest.approx(-reading.utility, abs=1e-6)  # the policy keeps a margin for rounding
    assert mine.worst == pytest.approx(reading.leakage, abs=1e-6)


def test_leakage_of_sequences_is_that_of_the_library() -> None:
    start, transition = np.full(2, 0.5), np.array([[0.8, 0.2], [0.3, 0.7]])
    enumeration = enumerate_releases(start, transition, randomised_response(0.7), 6)
    assert enumeration.sequence_leakage == pytest.approx(3.068908686917074, abs=1e-9)
    chain = po.MarkovChain(transition, start)
    again = enumerate_releases(start, transition, lambda b: optimum_at_once(b, 0.6), 5)
    assert again.sequence_leakage == pytest.approx(
        po.measures.sequence_leakage(chain, SequencePolicy(chain, 0.6), 5), abs=1e-5
    )


def test_example_one_has_its_public_values() -> None:
    example = Example(0.5, 0.2, 2.0, 2.0)
    assert example.noise == pytest.approx(0.0488030, abs=5e-8)
    assert example.information == pytest.approx(0.00098982, abs=5e-9)
    assert example.private
    assert not Example(0.5, 0.0, 2.0, 2.0).private


def test_mending_is_the_public_weight() -> None:
    kernel = np.array([[0.9, 0.1], [0.2, 0.8]])
    weight = 0.5761257734743934
    distribution = np.array([0.5, 0.5]) @ kernel
    assert mended(kernel, np.array([0.5, 0.5]), 0.4) == pytest.approx(
        (1 - weight) * kernel + weight * distribution
    )


# streams


def test_released_streams_follow_the_policy() -> None:
    rng = np.random.default_rng(3)
    start, transition = random_chain(rng, 3)
    data = np.array(walks(transition, 4, 6, 0))
    streams = release(start, transition, data, lambda b: optimum_at_once(b, 0.8), 1.0 - np.eye(3), 1)
    policy = SequencePolicy(po.MarkovChain.normalised(transition, initial=start), 0.8)
    for row, columns in zip(streams.releases, streams.columns, strict=True):
        state = policy.start()
        for y, column in zip(row.tolist(), columns, strict=True):
            kernel = policy.kernel(state.belief).matrix
            assert kernel[:, y] == pytest.approx(column, abs=1e-5)
            state = policy.advance(state, y)
    assert streams.leakage <= 0.8 + 1e-9


def test_recognition_is_that_of_the_library() -> None:
    rng = np.random.default_rng(5)
    start, own = np.full(3, 1 / 3), rng.dirichlet(np.ones(3), (2, 3))
    response = randomised_response(1.0)(start[None, :])[0]
    data = np.array(walks(own[0], 3, 8, 2))
    streams = release(start, own.mean(axis=0), data, randomised_response(1.0), 1.0 - np.eye(3), 4)
    logs = likelihoods(streams.columns, start, own)
    chains = {i: po.MarkovChain.normalised(table, initial=start) for i, table in enumerate(own)}
    for row, log in zip(streams.releases, logs, strict=True):
        theirs = hmm_reidentify(chains, po.Channel(response), row.tolist())
        odds = np.exp(log - log.max())
        assert list(theirs.values()) == pytest.approx((odds / odds.sum()).tolist(), abs=1e-9)


def test_few_letters_keep_the_frequent_ones() -> None:
    whole = source("msnbc")
    few = few_letters(whole, 4)
    counts = np.bincount(np.concatenate(whole.streams.sequences), minlength=17)
    kept = np.bincount(np.concatenate(few.streams.sequences), minlength=4)
    assert kept[:3].tolist() == np.sort(counts)[::-1][:3].tolist()
    assert kept.sum() == counts.sum()
    assert whole.about.startswith(ABSENT)


def test_printed_response_is_private_where_letters_are_heavy() -> None:
    belief = np.array([[0.4, 0.3, 0.3]])
    epsilon = math.log(1 / 0.3 - 1)
    assert leakages(belief, printed(epsilon)(belief))[0] == pytest.approx(epsilon)
    assert leakages(belief, printed(epsilon - 0.1)(belief))[0] > epsilon - 0.06
