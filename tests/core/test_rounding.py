"""Proofs and the direction of rounding, which compiled libraries change for the whole thread."""

from __future__ import annotations

import ctypes.util
import platform
import subprocess
import sys

import pytest

from privopt.core import exact as rounding
from privopt.errors import PrivoptError

UPWARD, DOWNWARD = 0x800, 0x400
"""FE_UPWARD and FE_DOWNWARD of glibc on x86."""

ASKED = """
import ctypes, ctypes.util, sys
import privopt as po
from privopt.core.exact import rounds_to_nearest
direction = int(sys.argv[1])
library = ctypes.CDLL(ctypes.util.find_library("m"))
problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, 1.0)
solution = po.solve(problem)
expected = problem.prove_bound(solution.dual)
assert library.fesetround(direction) == 0 and not rounds_to_nearest()
assert po.verify(problem, solution).ok and rounds_to_nearest()
library.fesetround(direction)
assert problem.proved_bound(solution.dual) == expected and rounds_to_nearest()
library.fesetround(direction)
assert po.solve(problem).objective == solution.objective and rounds_to_nearest()
"""

linux_on_x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or ctypes.util.find_library("m") is None,
    reason="the numbers of the directions are those of x86",
)


@linux_on_x86
@pytest.mark.parametrize("direction", [UPWARD, DOWNWARD])
def test_proofs_set_the_direction_back(direction: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ASKED, str(direction)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.long
@linux_on_x86
def test_exact_vertices_leave_rounding_as_it_was() -> None:
    pytest.importorskip("ppl")
    code = (
        "import privopt as po\n"
        "from privopt.core.exact import rounds_to_nearest\n"
        "problem = next(e.problem for e in po.LocalInformationPrivacy.examples())\n"
        "print(po.solve(problem, 'vertices-exact').status.name, rounds_to_nearest())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["OPTIMAL", "True"]


def test_where_it_cannot_be_set_back_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "rounds_to_nearest", lambda: False)
    monkeypatch.setattr(rounding, "_set_back", lambda: None)
    with pytest.raises(PrivoptError, match="round upward or downward"):
        rounding.ensure_nearest()


def test_where_small_numbers_are_taken_for_0_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "keeps_small_numbers", lambda: False)
    with pytest.raises(PrivoptError, match="-ffast-math"):
        rounding.ensure_nearest()
