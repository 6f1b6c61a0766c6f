"""Figures 3 to 9 of the paper on sequences, as far as its text allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from privopt.benchmarks._papers import Exhibit
from privopt.benchmarks.papers import _sequence_clicks as clicks
from privopt.benchmarks.papers import _sequence_drawings as drawings
from privopt.benchmarks.papers import _sequence_gaze as gaze
from privopt.benchmarks.papers import _sequence_noise as noise
from privopt.benchmarks.papers import _sequence_synthetic as synthetic
from privopt.benchmarks.papers._sequence_data import clicks as source
from privopt.benchmarks.papers._sequence_data import few_letters
from privopt.errors import MissingExtra

_CURVES = (synthetic.SINGLE, synthetic.PRINTED, synthetic.RR, synthetic.DOUBLE)
_ALL = (*_CURVES, synthetic.PAIRS, synthetic.TRIPLES)
_EXACT = "Errors over twelve letters are exact: every belief that can be reached was followed."


def exhibits(quick: bool) -> Iterator[Exhibit]:
    """Every figure in the order of the paper."""
    yield from _noise(quick)
    yield from _synthetic(quick)
    yield from _clicks(quick)
    yield from _gaze(quick)


def _noise(quick: bool) -> Iterator[Exhibit]:
    columns = ("correlation of the noise", "mutual information of the noise", "noise at time 2")
    for name, p1, epsilon in (("Figure 3", 0.5, 2.0), ("Figure 3, ε = 3", 0.5, 3.0), ("Figure 4", 0.95, 3.0)):
        frame = noise.curves(p1, epsilon, 11 if quick else 41)
        identifier = f"sequence-noise-{p1:g}-{epsilon:g}".replace(".", "")
        yield Exhibit(
            name,
            f"Example 1 with P₁ = {p1:g}, ε₁ = ε₂ = {epsilon:g} (the paper prints no ε): correlation and mutual information of the noise, and "
            "noise at time 2, against the correlation of the data, with standard deviations that have their root. Hollow "
            "points break the budget. The fourth panel, least leakage for bounded noise, needs a constraint the text does not give.",
            frame,
            _drawn(
                partial(
                    drawings.panels,
                    frame,
                    "correlation of the data",
                    columns,
                    identifier,
                    "Noise of Example 1",
                )
            ),
        )


def _synthetic(quick: bool) -> Iterator[Exhibit]:
    for name, case in (("Figure 5 (a)", "case 1"), ("Figure 5 (b)", "case 2")):
        frame = synthetic.curves(case, quick)
        p1, stay = synthetic.CASES[case]
        identifier = f"sequence-{case.replace(' ', '')}"
        yield Exhibit(
            name,
            f"Share of wrong letters, P₁ = {p1:g}, letters stay with probability {stay:g}. {_EXACT} Conditional RR is the paper's mechanism: the "
            "last column is what a step of it leaks, which is to be at most ε. Batches have budget ε a letter.",
            frame,
            _drawn(
                partial(drawings.lines, frame, _ALL, "share of wrong letters", identifier, "Errors by budget")
            ),
        )


def _clicks(quick: bool) -> Iterator[Exhibit]:
    for name in clicks.NAMES:
        frame = clicks.curves(name, quick)
        yield Exhibit(
            f"Figure 6, {name}",
            f"Share of wrong clicks on {source(name).about}. The paper draws an absolute distance of category numbers, which have no order. "
            "The last column is what conditional RR leaks in a step.",
            frame,
            _drawn(
                partial(
                    drawings.lines,
                    frame,
                    _CURVES,
                    "share of wrong clicks",
                    f"sequence-{name}",
                    "Errors on clicks by budget",
                )
            ),
        )
    frame = clicks.batch_curves(quick)
    yield Exhibit(
        "Figure 6, batches",
        f"Share of wrong clicks with batches, on {few_letters(source('msnbc'), clicks.KEPT).about}.",
        frame,
        _drawn(
            partial(
                drawings.lines,
                frame,
                [str(c) for c in frame.columns[1:]],
                "share of wrong clicks",
                "sequence-batches",
                "Errors of batches",
            )
        ),
    )


def _gaze(quick: bool) -> Iterator[Exhibit]:
    frame = gaze.recognition(quick)
    yield Exhibit(
        "Figure 8",
        "Share of pieces whose person is recognised by the likelihood of his chain, by an observer who takes releases for data and by one "
        f"who knows the mechanism; 1/8 is chance. On {gaze.split(6 if quick else gaze.FINE, *((1, 20) if quick else (4, 60))).about}. "
        "Every mechanism has the same ε a sample; leakage is per step, at the beliefs that were met.",
        frame,
        _drawn(
            partial(
                drawings.pairs,
                frame,
                ("recognised, data only", "recognised, aware"),
                "sequence-recognition",
                "Who is recognised",
            )
        ),
    )
    apart = gaze.distances(quick)
    yield Exhibit(
        "Figures 7 and 9",
        "Mean Euclidean distance between true and released cell, in cells, at 10 nats a second (1/3 a sample) and at 1 a sample. "
        "Grids are coarser than the paper's 100 x 100; temporal RR reads the cell before and is LDP on no full alphabet.",
        apart,
        _drawn(
            partial(drawings.pairs, apart, ("distance",), "sequence-distances", "Mean distances by mechanism")
        ),
    )


def _drawn(draw: Callable[[], str]) -> str:
    try:
        return draw()
    except MissingExtra:
        return ""
