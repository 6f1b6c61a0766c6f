"""Gaze: what the paper shows for its eye-tracking set, on a public substitute and a coarser grid.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Section VI-B-2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.benchmarks.papers.item import Exhibit, Finding, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _sequence
from privopt.benchmarks.papers.items._sequence import (
    ABSENT,
    coded,
    fitted,
    gazes,
    grid_distance,
    listed,
    on_substitute,
    recognised,
    release,
    verdict,
)
from privopt.benchmarks.papers.items.sequence_synthetic import DOUBLE, PAIRS, PRINTED, RR, SINGLE
from privopt.benchmarks.papers.sequences import (
    Kernels,
    cheapest,
    in_words,
    optimum_at_once,
    printed,
    randomised_response,
)

if TYPE_CHECKING:
    import pandas as pd


PER_SECOND, RATE = 10.0, 30
"""Budget a second, as in the paper, and samples a second of the substitute."""
FINE, MIDDLE, SMALL = 10, 4, 3
"""Cells a side: for errors and recognition, for distances, for batches."""
TEMPORAL = "temporal RR(ε)"
NOTHING = "nothing hidden"


@dataclass(frozen=True, eq=False)
class Split:
    """Chains of all and of each person from first halves, and pieces of second halves with whose they are."""

    start: Floats
    public: Floats
    own: Floats
    pieces: Ints
    truth: Ints
    real: bool
    about: str


@cache
def split(cells: int, pieces: int, steps: int) -> Split:
    """Pieces of ``steps`` samples, evenly spaced in the second half of every recording."""
    recordings, real = gazes(cells)
    people = sorted(set(recordings.subjects))
    whose = np.array([people.index(s) for s in recordings.subjects])
    rows, n = recordings.streams.sequences, recordings.streams.letters
    halves = [row[: len(row) // 2] for row in rows]
    own = [fitted([h for h, w in zip(halves, whose, strict=True) if w == p], n) for p in range(len(people))]
    seen, truth = [], []
    for row, person in zip(rows, whose, strict=True):
        for at in np.linspace(len(row) // 2, len(row) - steps, pieces).astype(int):
            seen.append(row[at : at + steps])
            truth.append(int(person))
    about = recordings.streams.about if real else f"{ABSENT}: {recordings.streams.about}"
    start = np.full(n, 1.0 / n)
    return Split(start, fitted(halves, n), np.array(own), np.array(seen), np.array(truth), real, about)


def kinds(epsilon: float) -> dict[str, Kernels]:
    """Mechanisms of single cells."""
    return {
        SINGLE: lambda beliefs: optimum_at_once(beliefs, epsilon),
        PRINTED: printed(epsilon),
        RR: randomised_response(epsilon),
        DOUBLE: randomised_response(2 * epsilon),
    }


@cache
def recognition(quick: bool) -> pd.DataFrame:
    """Who is recognised from releases, by an observer of data only and by one who knows mechanism and chains."""
    import pandas as pd

    cells, pieces, steps = (6, 1, 20) if quick else (FINE, 4, 60)
    s, lines = split(cells, pieces, steps), []
    hamming = 1.0 - np.eye(cells * cells)
    raw = recognised(np.eye(cells * cells)[s.pieces], s.start, s.own, s.truth)
    lines.append((np.inf, NOTHING, raw, raw, 0.0, np.inf))
    for epsilon in (PER_SECOND / RATE, 1.0, 3.0):
        for name, kernels in kinds(epsilon).items():
            released = release(s.start, s.public, s.pieces, kernels, hamming, 0)
            data_only = recognised(np.eye(cells * cells)[released.releases], s.start, s.own, s.truth)
            aware = recognised(released.columns, s.start, s.own, s.truth)
            lines.append((epsilon, name, data_only, aware, released.cost, released.leakage))
    names = ["ε", "mechanism", "recognised, data only", "recognised, aware", "error", "leakage"]
    return pd.DataFrame(lines, columns=names)


def temporal(transition: Floats, data: Ints, epsilon: float, least: float, seed: int) -> Ints:
    """Randomised response among the cells that were seen to follow the true cell before: reads two raw letters."""
    rng, n = np.random.default_rng(seed), len(transition)
    out = np.empty_like(data)
    for user, row in enumerate(data):
        for step, x in enumerate(row):
            allowed = np.arange(n) if step == 0 else np.flatnonzero(transition[row[step - 1]] > least)
            weights = np.exp(np.where(allowed == x, 0.0, -epsilon))
            out[user, step] = rng.choice(allowed, p=weights / weights.sum())
    return out


@cache
def distances(quick: bool) -> pd.DataFrame:
    """Mean Euclidean distance, in cells, by mechanism: single cells, then batches on a smaller grid."""
    import pandas as pd

    s, d = split(MIDDLE, 1, 6 if quick else 20), grid_distance(MIDDLE)
    pieces = s.pieces[:: 6 if quick else 1]
    lines = []
    for epsilon in (PER_SECOND / RATE, 1.0):
        every = {**kinds(epsilon), "ours: least distance": cheapest(epsilon, d)}
        for name, kernels in every.items():
            released = release(s.start, s.public, pieces, kernels, d, 0)
            lines.append((f"{MIDDLE} x {MIDDLE}", epsilon, name, released.cost, released.leakage))
        for budget in (epsilon, 2 * epsilon):
            out = temporal(s.public, pieces, budget, 1.0 / len(d) ** 2, 0)
            label = TEMPORAL if budget == epsilon else TEMPORAL.replace("ε", "2ε")
            lines.append((f"{MIDDLE} x {MIDDLE}", epsilon, label, float(d[pieces, out].mean()), np.inf))
        lines += _batches(epsilon, quick)
    return pd.DataFrame(lines, columns=["grid", "ε", "mechanism", "distance", "leakage"])


def _batches(epsilon: float, quick: bool) -> list[tuple[str, float, str, float, float]]:
    s, d = split(SMALL, 1, 4 if quick else 10), grid_distance(SMALL)
    pieces, lines = s.pieces[:: 16 if quick else 4], []
    for size, name in ((1, "ours: least distance"), (2, PAIRS)):
        words = in_words(s.start, s.public, size, d)
        codes = coded(pieces, size, SMALL * SMALL)
        kernels = cheapest(size * epsilon, words.cost)
        released = release(words.initial, words.transition, codes, kernels, words.cost, 0)
        lines.append((f"{SMALL} x {SMALL}", epsilon, name, released.cost, released.leakage / size))
    return lines


def _at(frame: pd.DataFrame, name: str, column: str, epsilon: float, grid: str = "") -> float:
    rows = frame[(frame["mechanism"] == name) & np.isclose(frame["ε"], epsilon)]
    rows = rows[rows["grid"] == grid] if grid else rows
    return float(rows[column].iloc[0])


@reproduces("S-DAT")
def set_sizes(setting: Setting) -> Reproduced:
    """Subjects and rate."""
    recordings, real = gazes(MIDDLE)
    total = sum(map(len, recordings.streams.sequences))
    return Reproduced(
        f"{len(set(recordings.subjects))} people, {len(recordings.subjects)} recordings, {total} samples"
        + ("" if real else f" ({ABSENT})"),
        Finding.NOT_REPRODUCIBLE,
        "No public source of the paper's set was found; the substitute has 8 people at 30 Hz, cut to the same 100 x 100 grid and "
        "coarsened for the mechanisms.",
    )


@reproduces("S-F7")
def figure_7(setting: Setting) -> Reproduced:
    """What the four panels show, as mean distances."""
    frame, epsilon, grid = distances(setting.quick), PER_SECOND / RATE, f"{MIDDLE} x {MIDDLE}"
    shown = [_at(frame, name, "distance", epsilon, grid) for name in (RR, PRINTED, "ours: least distance")]
    return Reproduced(
        f"mean distance in cells of RR, conditional RR, optimum: {listed(shown)} at 10 nats a second",
        Finding.NOT_REPRODUCIBLE,
        f"Shown on {split(MIDDLE, 1, 6 if setting.quick else 20).about}. The caption says a total budget of 10, the text 10 a second; a batch of ten "
        "cells has more words than any program can hold.",
        (_apart(setting.quick),) if setting.figures else (),
    )


@reproduces("S-F8")
def figure_8(setting: Setting) -> Reproduced:
    """Recognition by likelihood in place of the paper's network."""
    frame = recognition(setting.quick)
    raw = _at(frame, NOTHING, "recognised, aware", np.inf)
    parts = [
        f"{name} {listed([_at(frame, name, c, 1.0) for c in ('recognised, data only', 'recognised, aware')])}"
        for name in (SINGLE, PRINTED, RR, DOUBLE)
    ]
    return Reproduced(
        f"raw {listed([raw])}; at ε = 1 a sample, data only and aware: {'; '.join(parts)}",
        Finding.NOT_REPRODUCIBLE,
        "The paper's network, its training and values are not printed; recognised here by the likelihood of each person's chain, "
        "with and without the mechanism.",
        (_recognised(setting.quick),) if setting.figures else (),
    )


@reproduces("S-8a")
def recognisers(setting: Setting) -> Reproduced:
    """Data-only and aware observers."""
    frame = recognition(setting.quick)
    pairs = {
        n: [_at(frame, n, c, 1.0) for c in ("recognised, data only", "recognised, aware")]
        for n in (SINGLE, RR)
    }
    rise = {n: v[1] - v[0] for n, v in pairs.items()}
    first, second = pairs[RR][0] <= pairs[SINGLE][0], pairs[SINGLE][1] <= pairs[RR][1]
    return Reproduced(
        f"optimum {listed(pairs[SINGLE])}, RR(ε) {listed(pairs[RR])} (data only, aware) at ε = 1; rises {listed(rise.values())}",
        Finding.HOLDS if first and second else Finding.NOT_REPRODUCIBLE,
        f"On one substitute with another recogniser, the first part {'holds' if first else 'fails'}, the second "
        f"{'holds' if second else 'fails'}: at equal ε the optimum, which errs far less, lets an aware observer see "
        f"{'no more' if second else 'more'} than randomised response; 1/8 is chance.",
    )


@reproduces("S-F9")
def figure_9(setting: Setting) -> Reproduced:
    """Mean distances on the coarser grids."""
    frame, grid = distances(setting.quick), f"{SMALL} x {SMALL}"
    shown = [_at(frame, name, "distance", 1.0, grid) for name in ("ours: least distance", PAIRS)]
    return Reproduced(
        f"single and pairs on {grid} cells at ε = 1: {listed(shown)}",
        Finding.NOT_REPRODUCIBLE,
        "The set and the values are not public; batches of 5 and 10 on 10,000 cells have 10^20 words and more, so pairs on nine cells are shown.",
    )


@reproduces("S-9a")
def better_than_double(setting: Setting) -> Reproduced:
    """Single release against temporal RR at twice the budget; pairs against single."""
    frame, epsilon = distances(setting.quick), PER_SECOND / RATE
    grid, small, label = f"{MIDDLE} x {MIDDLE}", f"{SMALL} x {SMALL}", TEMPORAL.replace("ε", "2ε")
    ours, theirs = (_at(frame, n, "distance", epsilon, grid) for n in ("ours: least distance", label))
    one, two = (_at(frame, n, "distance", epsilon, small) for n in ("ours: least distance", PAIRS))
    return Reproduced(
        f"distance {listed((ours, theirs))} (single, temporal RR(2ε)), {listed((one, two))} (single, pairs) at ε = 1/3",
        on_substitute(ours < theirs and two <= one + 1e-9),
        f"On {split(MIDDLE, 1, 6 if setting.quick else 20).about}, and {small} cells for pairs.",
    )


@reproduces("S-TLDP")
def temporal_leaks(setting: Setting) -> Reproduced:
    """A support that depends on the data gives away the data."""
    ring = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    distributions = []
    for row in ring:
        kernel = np.where(row > 0, np.exp(-1.0 * (1 - np.eye(3))), 0.0)
        distributions.append(row @ (kernel / kernel.sum(axis=1, keepdims=True)))
    table = np.array(distributions)
    with np.errstate(divide="ignore"):
        level = float(np.log(table.max(axis=0) / table.min(axis=0)).max())
    return Reproduced(
        f"LDP of a release about the letter before is {level} on three letters in a ring, ε = 1",
        verdict(level <= 2),
        "Randomised response among reachable letters is LDP only if all letters can follow each letter; otherwise a release may exclude "
        "letters for certain.",
    )


def _recognised(quick: bool) -> Exhibit:
    """Figure 8."""
    frame = recognition(quick)
    return Exhibit(
        "Figure 8",
        "Share of pieces whose person is recognised by the likelihood of his chain, by an observer who takes releases for data and by one "
        f"who knows the mechanism; 1/8 is chance. On {split(6 if quick else FINE, *((1, 20) if quick else (4, 60))).about}. "
        "Every mechanism has the same ε a sample; leakage is per step, at the beliefs that were met.",
        frame,
        partial(
            _sequence.pairs,
            frame,
            ("recognised, data only", "recognised, aware"),
            "sequence-recognition",
            "Who is recognised",
        ),
    )


def _apart(quick: bool) -> Exhibit:
    """Figures 7 and 9."""
    apart = distances(quick)
    return Exhibit(
        "Figures 7 and 9",
        "Mean Euclidean distance between true and released cell, in cells, at 10 nats a second (1/3 a sample) and at 1 a sample. "
        "Grids are coarser than the paper's 100 x 100; temporal RR reads the cell before and is LDP on no full alphabet.",
        apart,
        partial(_sequence.pairs, apart, ("distance",), "sequence-distances", "Mean distances by mechanism"),
    )
