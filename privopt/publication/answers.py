"""Whether a file can hold the answers of a colouring: possible ones only, as often as some datasets, or these, give them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label
from privopt.mechanisms import Colouring
from privopt.publication.frequencies import ALARM, odd_count, odd_count_of

SHOWN = 6
"""Answers that a refusal names."""


def answer_texts(mechanism: Colouring) -> tuple[str, ...]:
    """The answers as a release writes them, each once.

    Examples
    --------
    >>> answer_texts(Colouring([[0.7, 0.3]], ["passed", ("not", "passed")]))
    ('passed', 'not, passed')
    """
    return tuple(dict.fromkeys(_text(colour) for colour in mechanism.colours))


def fault_of_answers(
    mechanism: Colouring, cells: Sequence[str], datasets: Sequence[Label] | None = None
) -> str | None:
    """What speaks against cells' being answers of a colouring, or None.

    Without the datasets an answer may occur as often as the dataset that gives it most often lets it, and as seldom as the one
    that gives it least: the bounds are exact binomial tails. With them the answers about each are judged by themselves. A true
    release is refused with probability :data:`ALARM` at most.

    Parameters
    ----------
    mechanism : Colouring
    cells : sequence of str
        A row each, as :func:`answer_texts` writes them.
    datasets : sequence of labels, optional
        What each row asked about.

    Raises
    ------
    InvalidMechanism
        If there are more or fewer datasets than rows, or one is not of the graph.

    Examples
    --------
    >>> votes = Colouring([[0.7, 0.3], [0.3, 0.7]], ["passed", "failed"])
    >>> fault_of_answers(votes, ["passed"] * 50 + ["failed"] * 50)
    >>> fault_of_answers(votes, ["passed"] * 99 + ["failed"])
    "'passed' occurs 99 times, and at most about 70 times whatever the datasets are"
    >>> fault_of_answers(votes, ["passed"] * 50 + ["failed"] * 50, [0] * 50 + [1] * 50)
    "of the rows about one dataset 'failed' occurs 50 times, and should about 35 times"
    """
    texts = answer_texts(mechanism)
    places = {text: c for c, text in enumerate(texts)}
    unknown = next((row for row, cell in enumerate(cells, 1) if cell not in places), None)
    if unknown is not None:
        shown = ", ".join(map(repr, texts[:SHOWN])) + (", ..." if len(texts) > SHOWN else "")
        return f"row {unknown} holds what is never answered; possible are {shown}"
    codes = np.array([places[cell] for cell in cells], dtype=np.int64)
    chances = _chances(mechanism, texts)
    if datasets is None:
        return _anywhere(texts, codes, chances[np.unique(mechanism.level)])
    if len(datasets) != len(cells):
        raise InvalidMechanism(f"there are {len(datasets)} datasets for {len(cells)} answers")
    return _about(mechanism, texts, codes, chances, datasets)


def _text(label: Label) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _chances(mechanism: Colouring, texts: Sequence[str]) -> Floats:
    """The probability of each text at each level."""
    chances = np.zeros((len(mechanism.levels), len(texts)))
    for c, colour in enumerate(mechanism.colours):
        chances[:, texts.index(_text(colour))] += mechanism.levels[:, c]
    return chances


def _anywhere(texts: Sequence[str], codes: Ints, chances: Floats) -> str | None:
    """An answer that no datasets give as often, or as seldom: its count lies between those of equal chances."""
    from scipy.special import bdtr, bdtrc

    n = len(codes)
    counts = np.bincount(codes, minlength=len(texts))
    least, most = np.clip(chances.min(axis=0), 0.0, 1.0), np.clip(chances.max(axis=0), 0.0, 1.0)
    alarm = ALARM / (2 * len(texts))
    for c, (count, low, high) in enumerate(zip(counts.tolist(), least.tolist(), most.tolist(), strict=True)):
        if bdtrc(count - 1, n, high) < alarm:
            return f"{texts[c]!r} occurs {count} times, and at most about {n * high:.4g} times whatever the datasets are"
        if bdtr(count, n, low) < alarm:
            return f"{texts[c]!r} occurs {count} times, and at least about {n * low:.4g} times whatever the datasets are"
    return None


def _about(
    mechanism: Colouring, texts: Sequence[str], codes: Ints, chances: Floats, datasets: Sequence[Label]
) -> str | None:
    """Answers about known datasets: of those that share a row of the colouring, as often as it says."""
    level = np.array([int(mechanism.level[mechanism.place(v)]) for v in datasets], dtype=np.int64)
    never = np.flatnonzero(chances[level, codes] <= 0)
    if never.size:
        return f"row {int(never[0]) + 1} holds an answer that is never given about its dataset"
    used, people = np.unique(level, return_counts=True)
    for row in used.tolist():
        possible = chances[row] > 0
        counts = np.bincount(codes[level == row], minlength=len(texts))[possible]
        odd = odd_count(counts, chances[row][possible], ALARM / (2 * len(used)))
        if odd is not None:
            text = [t for t, there in zip(texts, possible.tolist(), strict=True) if there][odd.place]
            same = len({v for v, place in zip(datasets, level.tolist(), strict=True) if place == row}) == 1
            whose = "one dataset" if same else "datasets that are answered alike"
            return f"of the rows about {whose} {text!r} occurs {odd.count} times, and should about {odd.expected:.4g} times"
    odd = odd_count_of(np.bincount(codes, minlength=len(texts)), people, chances[used], ALARM / 2)
    if odd is not None:
        return f"{texts[odd.place]!r} occurs {odd.count} times, and should about {odd.expected:.4g} times about these datasets"
    return None
