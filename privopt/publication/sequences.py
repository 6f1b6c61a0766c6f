"""Whether sequences of cells can be what a policy or a redaction released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.files.labels import Label
from privopt.mechanisms import (
    RedactionMechanism,
    SequencePolicy,
)
from privopt.models import MarkovChain
from privopt.problems.redaction.data import RedactionData
from privopt.publication.frequencies import (
    ALARM,
    hidden_counts,
    odd_count,
    odd_total,
    summed,
    tail,
)
from privopt.publication.released import (
    GAP,
    few,
    text_of,
)

LONGEST = 3000
"""Records of the longest sequence for which the number of hidden ones is summed over exactly."""

MOST_RECORDS = 100_000
"""Records of all sequences together for which the same is done."""


def places_of(
    cells: Sequence[tuple[str, ...]],
    written: Sequence[tuple[str, ...]],
    gaps: Sequence[tuple[str, ...]] = (),
) -> Ints | str:
    """Positions of the outputs that the cells name, -1 for gaps, or what speaks against them."""
    places = {**dict.fromkeys(gaps, -1), **{text: y for y, text in enumerate(written)}}
    unknown = next((row for row, text in enumerate(cells, 1) if text not in places), None)
    if unknown is not None:
        return (
            f"row {unknown} holds what is never released; possible are {few([', '.join(t) for t in written])}"
        )
    return np.array([places[text] for text in cells], dtype=np.int64)


def fault_of_streams(
    policy: SequencePolicy,
    users: Sequence[Sequence[tuple[str, ...]]],
    outputs: Sequence[Label],
    written: Sequence[tuple[str, ...]],
    mark: str,
    start_step: int = 0,
) -> str | None:
    """What speaks against the releases of the streams of all users, which begin at a step of the chain."""
    wide = len(written[0])
    for number, cells in enumerate(users):
        codes = places_of(cells, written, ((GAP,) * wide, (mark,) * wide))
        fault = codes if isinstance(codes, str) else None
        if not isinstance(codes, str):
            released = [None if y < 0 else outputs[y] for y in codes.tolist()]
            fault = _streamed(policy, released, ALARM / len(users), start_step)
        if fault is not None:
            return fault if len(users) == 1 else f"sequence {number}: {fault}"
    return None


def _streamed(
    policy: SequencePolicy, released: Sequence[Label | None], alarm: float, start_step: int
) -> str | None:
    """What speaks against the releases of one stream, None where a record was missing."""
    last = policy.chain.max_length
    if last is not None and start_step + len(released) > last:
        return f"there are {len(released)} records from step {start_step} on, and the chain has {last}"
    if policy.batch > 1:
        return _broken_word(released, policy.batch)
    state = policy.skip(start_step) if start_step else policy.start()
    outputs: tuple[Label, ...] = ()
    totals: list[Floats] = []
    for row, letter in enumerate(released, 1):
        if letter is None:  # of a gap nothing is released, and the chain alone moves the belief
            state = policy.skip(1, state)
            continue
        kernel = policy.kernel(state.belief, state.step)
        outputs = kernel.outputs
        chances = _letters(policy, np.array(state.belief[: policy.chain.k])) @ kernel.matrix
        place = outputs.index(letter)
        if chances[place] <= 0:
            return f"row {row} holds what cannot follow the releases before it"
        seen = np.eye(len(outputs))[place]
        totals.append(np.stack([seen, chances, chances * (1.0 - chances)]))
        state = policy.advance(state, letter)
    if not totals:
        return None
    sums = np.sum(totals, axis=0)
    odd = odd_total(sums[0].tolist(), sums[1].tolist(), sums[2].tolist(), alarm)
    if odd is None:
        return None
    return f"{outputs[odd]!r} occurs {sums[0][odd]:.0f} times, and should about {sums[1][odd]:.4g} times"


def _broken_word(released: Sequence[Label | None], batch: int) -> str | None:
    """A word of which some letters are missing and some are not: words are released whole or not at all."""
    for begin in range(0, len(released), batch):
        word = released[begin : begin + batch]
        if None in word and set(word) != {None}:
            return f"rows {begin + 1} to {begin + len(word)} are one word, of which some letters are missing and some are not"
    return None


def _letters(policy: SequencePolicy, belief: Floats) -> Floats:
    """The belief over the letters that a kernel reads."""
    chain: MarkovChain = policy.chain
    if chain.order == 1:
        return belief
    last = [word[-1] if isinstance(word, tuple) else word for word in chain.states]
    return np.array(
        [
            sum(b for b, letter in zip(belief.tolist(), last, strict=True) if letter == name)
            for name in policy.letters
        ]
    )


def fault_of_redaction(
    data: object, mechanism: RedactionMechanism, cells: Sequence[tuple[str, ...]], mark: str
) -> str | None:
    """What speaks against the cells of a redaction, a sequence after the other."""
    names = {text_of(state): v for v, state in enumerate(mechanism.states)}
    hidden_text = (mark,) * len(cells[0])
    length = mechanism.length
    if len(cells) % length:
        return f"there are {len(cells)} records, and each sequence has {length}"
    unknown = next(
        (row for row, text in enumerate(cells, 1) if text not in names and text != hidden_text), None
    )
    if unknown is not None:
        return f"row {unknown} holds neither a state nor the mark of a hidden record"
    codes = np.array([names.get(text, -1) for text in cells]).reshape(-1, length)
    weights = mechanism.exact() / 2.0**52
    for t in range(length):
        shown = codes[:, t][codes[:, t] >= 0]
        if (
            shown.size
            and (mechanism.sequential is None or t == mechanism.sequential)
            and (weights[t, shown] >= 1.0).any()
        ):
            return f"record {t} is shown with a value that is always hidden"
    if not isinstance(data, RedactionData) or mechanism.sequential is not None:
        return None
    if (
        mechanism.stream is not None
    ):  # a missing record is hidden too, and nobody sees which of the two it was
        return _impossible(data, codes) or _shown_oddly(data, codes, weights)
    return _impossible(data, codes) or _hidden_often(data, codes, weights)


def _impossible(data: RedactionData, codes: Ints) -> str | None:
    """A step between two shown records that the chain rules out."""
    for t in range(data.length - 1):
        pairs = codes[(codes[:, t] >= 0) & (codes[:, t + 1] >= 0)]
        if len(pairs) and (data.chain.step(t)[pairs[:, t], pairs[:, t + 1]] <= 0).any():
            return f"records {t} and {t + 1} are shown with values that cannot follow each other"
    return None


def _shown_oddly(data: RedactionData, codes: Ints, weights: Floats) -> str | None:
    """A record that is shown with some value too often or too seldom among the sequences that show it."""
    marginals = data.chain.marginals(data.length)
    for t in range(data.length):
        expected = marginals[t] * (1.0 - weights[t])
        counts = np.bincount(codes[codes[:, t] >= 0, t], minlength=len(expected))
        if (counts[expected <= 0] > 0).any():
            return f"record {t} is shown with a value that is never shown there"
        if not counts.any():
            continue
        odd = odd_count(
            counts[expected > 0], expected[expected > 0] / expected.sum(), ALARM / (2 * data.length)
        )
        if odd is not None:
            return f"record {t} is shown with some value {odd.count} times, and should about {odd.expected:.4g} times"
    return None


def _hidden_often(data: RedactionData, codes: Ints, weights: Floats) -> str | None:
    """A record that is hidden too often or too seldom over all sequences, or too many in one."""
    marginals = data.chain.marginals(data.length)
    users = len(codes)
    alarm = ALARM / (2 * data.length)
    for t in range(data.length):
        expected = np.concatenate([marginals[t] * (1.0 - weights[t]), [float(marginals[t] @ weights[t])]])
        counts = np.bincount(
            np.where(codes[:, t] < 0, len(expected) - 1, codes[:, t]), minlength=len(expected)
        )
        if (counts[expected <= 0] > 0).any():
            return f"record {t} is hidden though it never is, or shown with a value that is never shown there"
        odd = odd_count(counts[expected > 0], expected[expected > 0], alarm)
        if odd is not None:
            return f"record {t} is hidden, or shown with some value, {odd.count} times, and should about {odd.expected:.4g} times"
    if data.length > LONGEST or data.length * data.length * data.chain.k**2 * users > 2**34:
        return None
    steps = [data.chain.step(t) for t in range(data.length - 1)]
    chances = hidden_counts(steps, data.chain.marginal(0), weights)
    marks = (codes < 0).sum(axis=1)
    for count, times in Counter(marks.tolist()).items():
        if tail(chances, int(count)) * users < ALARM / 8:
            return f"{times} sequence(s) have {count} hidden records, which is not plausible"
    total, mean = int(marks.sum()), users * float(chances @ np.arange(len(chances)))
    if users * data.length <= MOST_RECORDS and tail(summed(chances, users), total) < ALARM / 8:
        return f"{total} records are hidden, and should about {mean:.4g} be"
    return None
