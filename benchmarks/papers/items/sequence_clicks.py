"""Click streams: what the paper shows for Kosarak, on a prefix of it as written and on msnbc323.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Section VI-B-1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.data.streams import kosarak_rows
from privopt.benchmarks.papers.item import Exhibit, Finding, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _sequence
from privopt.benchmarks.papers.items._sequence import (
    Released,
    Source,
    clicks,
    coded,
    few_letters,
    listed,
    on_substitute,
    release,
)
from privopt.benchmarks.papers.items.sequence_synthetic import (
    DOUBLE,
    LEAKAGE,
    PAIRS,
    PRINTED,
    RR,
    SINGLE,
    TRIPLES,
    best_words,
    smoothed,
)
from privopt.benchmarks.papers.sequences import (
    Kernels,
    in_words,
    optimum_at_once,
    printed,
    randomised_response,
)
from privopt.errors import FileRefused

if TYPE_CHECKING:
    import pandas as pd


NAMES = ("kosarak", "msnbc")
GRID, COARSE = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0), (0.5, 1.0, 2.0)
STEPS = {"kosarak": 10, "msnbc": 30}
KEPT = 4


def mechanisms(epsilon: float) -> dict[str, Kernels]:
    """Of single letters."""
    return {
        SINGLE: lambda beliefs: optimum_at_once(beliefs, epsilon),
        PRINTED: printed(epsilon),
        RR: randomised_response(epsilon),
        DOUBLE: randomised_response(2 * epsilon),
    }


@cache
def released(name: str, mechanism: str, epsilon: float, users: int) -> Released:
    """The first letters of the first users by one mechanism."""
    source = clicks(name)
    data, cost = source.cut(users, STEPS[name]), 1.0 - np.eye(source.streams.letters)
    return release(*source.chain(), data, mechanisms(epsilon)[mechanism], cost, 0)


def curves(name: str, quick: bool) -> pd.DataFrame:
    """Errors by budget, and the real leakage of the paper's mechanism."""
    import pandas as pd

    grid, users = (COARSE, 100) if quick else (GRID, 1000)
    frame = pd.DataFrame({"ε": grid})
    for mechanism in (SINGLE, PRINTED, RR, DOUBLE):
        frame[mechanism] = [released(name, mechanism, e, users).cost for e in grid]
    frame[LEAKAGE] = [released(name, PRINTED, e, users).leakage for e in grid]
    return frame


@cache
def in_batches(epsilon: float, users: int, letters: int) -> tuple[float, float, float]:
    """Errors of single letters, pairs and triples on four letters of msnbc."""
    source = few_letters(clicks("msnbc"), KEPT)
    data, hamming = source.cut(users, letters), 1.0 - np.eye(KEPT)
    costs = []
    for size in (1, 2, 3):
        words = in_words(*source.chain(), size, hamming)
        codes = coded(data, size, KEPT)
        kernels = best_words(size * epsilon, words.cost)
        costs.append(release(words.initial, words.transition, codes, kernels, words.cost, 0).cost)
    return costs[0], costs[1], costs[2]


def batch_curves(quick: bool) -> pd.DataFrame:
    """Errors of batches by budget."""
    import pandas as pd

    grid, users, letters = ((0.5, 1.0), 4, 6) if quick else ((0.25, 0.5, 1.0, 1.5), 8, 12)
    rows = [(e, *in_batches(e, users, letters)) for e in grid]
    return pd.DataFrame(rows, columns=["ε", SINGLE, PAIRS, TRIPLES])


def _sources() -> list[Source]:
    return [clicks(name) for name in NAMES]


@reproduces("S-KP")
def frequencies(setting: Setting) -> Reproduced:
    """Transitions by frequency leave cells empty."""
    empty = [f"{s.empty_cells()} of {s.streams.letters**2} in {s.about}" for s in _sources()]
    return Reproduced(
        f"transitions that never occur: {'; '.join(empty)}",
        Finding.HOLDS,
        "Frequencies alone give zero probabilities, which a later click can contradict: half a count is added to each cell here.",
    )


@reproduces("S-K0")
def sizes(setting: Setting) -> Reproduced:
    """Users, categories and lengths."""
    try:
        rows = kosarak_rows("kosarak-20000" if setting.quick else "kosarak-36682")
    except FileRefused:
        return Reproduced(
            "data not available",
            Finding.NOT_REPRODUCIBLE,
            "PRIVOPT_DATA holds no prefix of Kosarak, and no full copy was found.",
        )
    lengths = [len(row) for row in rows]
    items = len(np.unique(np.concatenate(rows)))
    return Reproduced(
        f"{len(rows)} users, {items} categories, lengths {min(lengths)} to {max(lengths)} in the prefix",
        Finding.NOT_REPRODUCIBLE,
        "Only a prefix could be had; the printed sizes are those of the whole file.",
    )


@reproduces("S-F6")
def figure_6(setting: Setting) -> Reproduced:
    """Errors on the substitutes."""
    frames = {name: curves(name, setting.quick) for name in NAMES}
    shown = "; ".join(
        f"{name}: {listed(f.loc[f['ε'] == 1.0, [SINGLE, PRINTED, RR, DOUBLE]].to_numpy()[0])}"
        for name, f in frames.items()
    )
    return Reproduced(
        f"errors of optimum, conditional RR, RR(ε), RR(2ε) at ε = 1: {shown}",
        Finding.NOT_REPRODUCIBLE,
        "The panel and the full file are lost, rows of Kosarak are not in click order, and one baseline is unspecified. Shown: "
        + "; ".join(source.about for source in _sources())
        + ". Categories have no distance, so errors are counted.",
        tuple(_panels(setting.quick)) if setting.figures else (),
    )


@reproduces("S-6a")
def outperforms(setting: Setting) -> Reproduced:
    """The optimum against twice the budget of randomised response."""
    parts, held = [], True
    for name in NAMES:
        frame = curves(name, setting.quick)
        wins = frame[SINGLE] < frame[DOUBLE]
        held &= bool(wins.all())
        parts.append(f"{name}: wins at ε = {listed(frame.loc[wins, 'ε'])} of {listed(frame['ε'])}")
    leak = max(released(name, PRINTED, 1.0, 100).leakage for name in NAMES)
    return Reproduced(
        "; ".join(parts),
        on_substitute(held),
        f"On the substitutes ({'; '.join(s.about for s in _sources())}). It wins at small budgets; conditional RR is never private "
        f"with more than e^ε + 1 letters (it leaks {listed([leak])} at ε = 1), so a figure drawn with it overstates.",
    )


@reproduces("S-6b")
def larger_batches(setting: Setting) -> Reproduced:
    """Batches of one, two and three clicks."""
    frame = batch_curves(setting.quick)
    rows = frame[[SINGLE, PAIRS, TRIPLES]].to_numpy()
    return Reproduced(
        "; ".join(f"ε = {e:g}: {listed(row)}" for e, row in zip(frame["ε"], rows, strict=True)),
        on_substitute(bool((np.diff(rows, axis=1) < 1e-9).all())),
        "Errors of batches of 1, 2 and 3, which promise to fall under the fitted distribution, not on a sample of few users; on "
        f"{few_letters(clicks('msnbc'), KEPT).about}.",
    )


@reproduces("S-6c")
def tops_between(setting: Setting) -> Reproduced:
    """The baseline without parameters, between the others or not."""
    parts = []
    for name in NAMES:
        source, users = clicks(name), 100 if setting.quick else 1000
        every = np.bincount(np.concatenate(source.streams.sequences), minlength=source.streams.letters)
        error = smoothed(len(every), every / every.sum(), source.cut(users, STEPS[name]), 1.0)
        others = (released(name, m, 1.0, users).cost for m in (RR, SINGLE))
        parts.append(f"{name}: {listed([error, *others], 3)}")
    return Reproduced(
        f"errors of threshold smoothing in our reading, RR(ε), optimum at ε = 1: {'; '.join(parts)}",
        Finding.NOT_REPRODUCIBLE,
        "The baseline is described in words only and adds noise to numbers, which categories are not; its parameters are "
        f"not printed. Shown: {'; '.join(s.about for s in _sources())}.",
    )


def _panels(quick: bool) -> Iterator[Exhibit]:
    """The panels of Figure 6."""
    for name in NAMES:
        frame = curves(name, quick)
        yield Exhibit(
            f"Figure 6, {name}",
            f"Share of wrong clicks on {clicks(name).about}. The paper draws an absolute distance of category numbers, which have no order. "
            "The last column is what conditional RR leaks in a step.",
            frame,
            partial(
                _sequence.lines,
                frame,
                (SINGLE, PRINTED, RR, DOUBLE),
                "share of wrong clicks",
                f"sequence-{name}",
                "Errors on clicks by budget",
            ),
        )
    frame = batch_curves(quick)
    yield Exhibit(
        "Figure 6, batches",
        f"Share of wrong clicks with batches, on {few_letters(clicks('msnbc'), KEPT).about}.",
        frame,
        partial(
            _sequence.lines,
            frame,
            [str(c) for c in frame.columns[1:]],
            "share of wrong clicks",
            "sequence-batches",
            "Errors of batches",
        ),
    )
