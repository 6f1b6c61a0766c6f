"""Proof files: how large they are and how long their checkers take, and errors planted in them."""

from __future__ import annotations

import importlib
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import privopt as po
from privopt.benchmarks.runner.suite import find_suite
from privopt.benchmarks.timings.measurement import Timing, register_measurement
from privopt.errors import PrivoptError
from privopt.proof.write import prove

TESTS = Path(__file__).resolve().parents[3] / "tests"
"""Where a checkout keeps the brute force; an installed package has none."""
FIRST = 10**6
"""Seed of the first planted error: those of the tests are others."""


@register_measurement(
    "proofs", "Proof files of the suite quick: bytes, seconds to write and to check, and what they leave out"
)
def proofs(quick: bool) -> Sequence[Timing]:
    """Write and check a proof of the answer of ``solve`` for every instance and budget."""
    sizes, rows = defaultdict[str, list[tuple[int, float, float]]](list), list[Timing]()
    for instance in find_suite("quick").instances():
        budgets = instance.budgets or find_suite("quick").budgets
        for budget in list(budgets)[: 1 if quick else None]:
            problem = instance.problem.with_budget(budget)
            solution = po.solve(problem, time_limit=3.0)
            if not solution.certified:
                continue
            rows += _one(problem, solution, f"{instance.name}, budget {budget:g}", sizes)
    for kind, found in sizes.items():
        largest, writing, checking = (max(part) for part in zip(*found, strict=True))
        rows.append(
            Timing(
                f"files of the kind {kind}",
                len(found),
                writing,
                "its checker",
                checking,
                None,
                float(largest),
                "bytes of the largest",
            )
        )
    return rows


def _one(
    problem: po.Problem[Any],
    solution: po.Solution[Any],
    name: str,
    sizes: dict[str, list[tuple[int, float, float]]],
) -> list[Timing]:
    """A row for one proof, or for the sentence that says why there is none."""
    begun = time.perf_counter()
    try:
        proof = prove(problem, solution)
    except PrivoptError as cause:
        return [Timing(name, 1, None, note=f"not covered: {cause}")]
    written = time.perf_counter()
    checked = proof.check()
    seconds = written - begun, time.perf_counter() - written
    size = len(proof.text) + (0 if proof.beside is None else len(proof.beside.text))
    sizes[proof.kind].append((size, *seconds))
    note = "bytes" + "".join(f"; left out: {text}" for text in proof.left_out)
    return [
        Timing(
            name,
            1,
            seconds[0],
            proof.checker.name,
            seconds[1],
            None,
            float(size),
            note,
            checked.ok,
        )
    ]


@register_measurement(
    "planted-proofs", "Errors planted in proof files; false claims that a checker accepts are counted"
)
def planted(quick: bool) -> Sequence[Timing]:
    """What the checker of linear files says of files of which any leaf may be false."""
    return _planted("planted_proofs", 300 if quick else 100_000)


@register_measurement(
    "planted-kinds", "The same for all other kinds of proof files, each judged by a brute force of its own"
)
def planted_kinds(quick: bool) -> Sequence[Timing]:
    """What the checkers of the other kinds say of files with one or two false numbers."""
    return _planted("planted_kinds", 60 if quick else 20_000)


def _planted(oracle: str, count: int) -> list[Timing]:
    """A row for each verdict, and one for the false claims that were accepted."""
    if not (TESTS / "oracles" / f"{oracle}.py").is_file():
        return [Timing("planted errors", 1, None, note="the brute force is in the tests of a checkout")]
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    judged = importlib.import_module(f"oracles.{oracle}")
    judged.honest()  # solved before the clock starts
    begun = time.perf_counter()
    tally = judged.campaign(count, first=FIRST)
    seconds = time.perf_counter() - begun
    wrong = "false claims, by a brute force of their own", float(tally.broken), True
    forged = "false claims accepted", float(len(tally.forged)), not tally.forged
    rows = [(what, float(n), True) for what, n in sorted(tally.counts.items())]
    return [
        *(
            Timing(what, tally.tried, seconds, quality=n, note="files", holds=holds)
            for what, n, holds in (*rows, wrong, forged)
        ),
        *(Timing("seed", 1, seconds, quality=0.0, note=told, holds=False) for told in tally.forged[:20]),
    ]
