"""The list of slow cases names tests that are there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()


@cache
def _tests_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_line_is_a_case_of_a_test() -> None:
    assert sorted(set(LINES)) == LINES
    for line in LINES:
        file, _, case = line.partition("::")
        assert case.partition("[")[0] in _tests_of(ROOT / file), line
