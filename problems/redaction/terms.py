"""What a certificate of a redaction says in words: the claim, the adversary, what is left out, the worst output."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np

from privopt.core.certificate import Terms
from privopt.files.text import number
from privopt.mechanisms import RedactionMechanism
from privopt.mechanisms.redaction import TOTAL
from privopt.problems.redaction.data import RedactionData

Cell: TypeAlias = tuple[int, int]


def shown_impossible(data: RedactionData, mechanism: RedactionMechanism) -> tuple[list[Cell], list[Cell]]:
    """Cells (record, state) that the chain rules out and the mechanism might show: among partial releases, and others.

    Such a value has no probability under the model, so no leakage counts it. Where every possible value of the record
    is released always, it is in the clear by design of the mechanism (files of version 0.1.0 have such), which is said.
    """
    weights, can = mechanism.exact(), data.supports
    shown = (weights < TOTAL) & ~can
    by_design = ((weights == 0) | ~can).all(axis=1)
    partial = shown & ~by_design[:, None]
    if mechanism.sequential is not None:
        beyond = ~can
        beyond[[t for t, _ in mechanism.never], [v for _, v in mechanism.never]] = False
        beyond[mechanism.sequential] = False
        shown = shown | beyond
    one, other = ([(int(t), int(v)) for t, v in np.argwhere(mask)] for mask in (partial, shown & ~partial))
    return one, other


def terms(data: RedactionData, mechanism: RedactionMechanism) -> Terms:
    """What a certificate of a redaction mechanism is about."""
    named = [f"record {p}" for p in data.private]
    which = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}, each by itself,"
    if math.isinf(data.epsilon):
        claim = f"the budget is without limit: nothing is promised of {which}".rstrip(",")
    elif data.epsilon == 0:
        claim = f"no release says anything of {which}".rstrip(",")
    else:
        claim = (
            f"no release shifts the odds between two values of {which} by more than a factor of "
            f"{factor(data.epsilon)}"
        )
    uncovered = [
        "other sequences that depend on this one, and what is kept beside the release",
        "data that the chain rules out: an impossible value is hidden always, yet that one occurred may show",
    ]
    _, clear = shown_impossible(data, mechanism)
    if clear:
        record, value = clear[0]
        uncovered[-1] = (
            f"data that the chain rules out: this mechanism shows {len(clear)} impossible value(s) in the clear, such as "
            f"{data.chain.states[value]!r} at record {record}"
        )
    if not data.informed:
        uncovered.append(
            "an adversary who knows other records of the sequence may learn more than the budget; "
            'side_information="any" covers that'
        )
    if len(named) > 1:
        uncovered.append(
            "several private records at once: what is said of two together may exceed the budget of one"
        )
    beside = (
        ", and the values of any other records besides: the factor is then on top of what these already say"
        if data.informed
        else ", but no record of the sequence"
    )
    walk = (
        " (sequential: what lies beyond a first release follows from it)" if data.form == "sequential" else ""
    )
    return Terms(
        kind="privacy",
        statement=claim,
        assumption=f"the records follow {data.chain!r} exactly as written (each row divided by its exact sum)",
        adversary="anyone who sees the release and knows the chain and the mechanism" + beside,
        unit=f"private record, of one release of a sequence of {data.length} records{walk}",
        uncovered=tuple(uncovered),
    )


def factor(epsilon: float) -> str:
    """e^epsilon in a few digits, never less than it is; "1" followed by the excess where that is small."""
    if epsilon > 20:
        return f"e^{number(epsilon, 17)}"
    excess = math.expm1(epsilon) * (1 + 2.0**-48)
    if excess < 1e-3:
        return f"1 + {_upward(excess, 4)}"
    return _upward((1 + excess) * (1 + 2.0**-50), 4 + max(0, math.floor(-math.log10(excess))))


def _upward(value: float, digits: int) -> str:
    """A positive number in some digits or more, never less than it is."""
    text = number(value, digits)
    if float(text) >= value:
        return text
    text = number(float(text) + 10.0 ** (math.floor(math.log10(value)) - digits + 1), digits)
    return text if float(text) >= value else _upward(value, digits + 4)


def output_in_words(
    states: Sequence[Hashable],
    record: int,
    left: Cell,
    right: Cell,
    known: tuple[Cell, Cell] = ((0, -1), (0, -1)),
) -> str:
    """The output at which a private record leaks most, from (distance, value) on each side, and what is known of others."""
    if left[0] == 0 and left[1] >= 0:
        return f"private record {record} itself is released as {states[left[1]]!r}"
    sides = []
    for name, sign, (distance, value), (far, other) in (
        ("left", -1, left, known[0]),
        ("right", 1, right, known[1]),
    ):
        if distance == 0:
            sides.append(f"nothing released on the {name}")
        elif value < 0 and other >= 0:
            sides.append(f"all redacted on the {name} up to record {record + sign * far}")
        elif value < 0:
            sides.append(f"all redacted on the {name}")
        else:
            at = record + sign * distance
            sides.append(f"first release on the {name} {states[value]!r} at record {at}")
        if other >= 0:
            sides.append(f"record {record + sign * far} known to be {states[other]!r}")
    return f"about private record {record}: {', '.join(sides)}"
