"""Definitions and drawings of the paper, as far as something can be computed about them.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Section II, Figures 1 and 2.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from privopt.benchmarks._papers import Finding
from privopt.benchmarks.papers._sequence_items import Answer, answers, law, listed
from privopt.benchmarks.papers.sequences import enumerate_releases, random_chain, randomised_response
from privopt.measures.sequence_leakage import sequence_leakage
from privopt.mechanisms._hamming_cases import Floats
from privopt.models import MarkovChain


def _always(kernel: Floats, beliefs: Floats) -> Floats:
    return np.tile(kernel, (len(beliefs), 1, 1))


@answers("S-D1")
def sequence_notion(quick: bool) -> Answer:
    """Leakage of sequences by enumeration against the library's measure."""
    rng, gap = np.random.default_rng(1), 0.0
    for _ in range(5 if quick else 50):
        n = int(rng.integers(2, 4))
        start, transition = random_chain(rng, n)
        kernel = rng.dirichlet(np.ones(n), n)
        found = enumerate_releases(start, transition, partial(_always, kernel), 4)
        measured = sequence_leakage(MarkovChain.normalised(transition, initial=start), kernel, 4)
        gap = max(gap, abs(found.sequence_leakage - measured) / measured)
    return Answer(
        f"enumeration and the library's walk agree within {gap:.1g}, relatively",
        law(gap < 1e-9),
        "“Pr(leakage > ε) ≤ δ” is read as a statement about the joint law of data and releases; the maximum of the definition is "
        "no random event.",
    )


@answers("S-D4")
def other_notions(quick: bool) -> Answer:
    """One mechanism under each notion."""
    found = enumerate_releases(
        np.full(2, 0.5), np.array([[0.8, 0.2], [0.3, 0.7]]), randomised_response(0.7), 1
    )
    given = found.joints[0] / found.joints[0].sum(axis=0)
    local = float(np.log(given.max(axis=1) / given.min(axis=1)).max())
    logs, chance = found.logs()
    values = [local, found.sequence_leakage, float(chance @ logs)]
    return Answer(
        f"randomised response at .7 on a fair bit: LDP {listed(values[:1])}, sequence information {listed(values[1:2])}, mutual information {listed(values[2:])}",
        law(values[0] >= values[1] >= values[2] and math.isclose(values[0], 0.7)),
        "Definitions; on one letter with a known prior the notions are ordered as shown.",
    )


def _drawing(what: str) -> Answer:
    return Answer("nothing to compute", Finding.NOT_REPRODUCIBLE, what)


@answers("S-F1")
def figure_1(quick: bool) -> Answer:
    """A drawing."""
    return _drawing("A drawing of the two settings; only its caption is known.")


@answers("S-F2")
def figure_2(quick: bool) -> Answer:
    """A drawing."""
    return _drawing("A drawing of conditional randomised response; only its caption is known.")


@answers("S-FUT")
def future(quick: bool) -> Answer:
    """Plans."""
    return _drawing(
        "Plans for later work; batches of up to 4096 words are released here with a bound on what is lost."
    )
