"""Every small mistake in the checker is noticed by a file: no changed program gives the same verdict on all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracles.crafted_proofs import corpus
from oracles.mutants import accepted, mutants, noticed

from privopt.proof import checker

HARMLESS = {
    "log: GtE 0 made Gt": "the logarithm of 1 is enclosed by 0 and 0, which have no sign",
    "prior: lengths": "a table has rows of one length",
    "costs: lengths may differ at 110": "a table has rows of one length",
    "costs: lengths may differ at 112": "a table has rows of one length",
    "compared: filter dropped in for w, v in enumerate(row) if v": "a weight of 0 adds nothing",
    "compared: 1 made one more at 90": "the weights of a hypothesis are divided by their sum",
    "compared: 1 made one more at 92": "the weights of a hypothesis are divided by their sum",
    "private: lengths may differ at 132": "there is an output for each hypothesis",
    "private: lengths may differ at 134": "each hypothesis has as many releases",
    "check: lengths may differ at 173": "there is a row for each input, and costs for each",
    "check: condition made True in 'other'": "words of a sentence",
    "check: condition made False in 'other'": "words of a sentence",
}
"""Changes that change nothing, with the reason."""

SIZES = ("2000", "4 * 10 ** 6", "max(map(len, loss))", "len(rows[0])", "Pow in 10 ** 6")
"""Words of rules about sizes: without them files fill the memory, which test_hostile_files.py tries; no verdict changes."""
LIMITS = ("compared: 2000", "costs: 4 made", "costs: 10 made", "costs: 6 made", "costs: max swapped", "channel: 4 made", "channel: 10 made", "channel: 6 made")  # fmt: skip
"""Numbers in them."""


def _of_size(name: str) -> bool:
    """Whether a change is one of a rule about sizes."""
    return any(words in name for words in SIZES)


@pytest.mark.long
def test_every_changed_program_is_noticed() -> None:
    files = list(corpus())
    truth = [accepted(checker, lines) for lines in files]
    assert 0.1 < sum(truth) / len(truth) < 0.9
    first = list[int]()
    source = Path(checker.__file__).read_text(encoding="utf-8")
    missed = [m.name for m in mutants(source) if not noticed(m, files, truth, first)]
    harmless = (*HARMLESS, *LIMITS)
    assert [name for name in missed if not name.startswith(harmless) and not _of_size(name)] == []


@pytest.mark.long
def test_every_dropped_rule_is_noticed() -> None:
    files = list(corpus())
    truth = [accepted(checker, lines) for lines in files]
    first = list[int]()
    source = Path(checker.__file__).read_text(encoding="utf-8")
    dropped = [m for m in mutants(source) if "rule dropped" in m.name]
    assert len(dropped) >= 10
    assert [
        m.name
        for m in dropped
        if "logarithm" not in m.name and not _of_size(m.name) and not noticed(m, files, truth, first)
    ] == []
