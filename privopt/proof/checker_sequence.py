"""Check that a policy which releases a stream letter by letter keeps each release private, over all that may be released.

Run with checker.py beside it: python checker_sequence.py proof.txt. The letters follow a Markov chain. After every course of
releases the file gives the kernel that is used next; the belief in the letters is followed in integers, by Bayes' rule and the
chain. Whatever was released before, a release y may make no letter x more than e^level times as likely or unlikely:
P(y | x) <= e^level P(y) and P(y) <= e^level P(y | x) for every x that is possible then.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from math import gcd
from operator import mul
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from privopt.proof.checker import channel, levels, main, need, position, table
else:  # run as a program
    from checker import channel, levels, main, need, position, table


def square(rows: Any, k: int) -> list[list[int]]:
    """A step of the chain: rows of integers with one positive sum."""
    step = table(rows)
    need(
        len(step) == k == len(step[0]) and len({sum(row) for row in step}) == 1,
        "a step is square, its rows have one sum",
    )
    need(sum(step[0]) > 0, "a step goes somewhere")
    return step


def check_kernel(belief: tuple[int, ...], rows: list[list[int]], below: Fraction) -> None:
    """Every release against what is expected of it."""
    possible = [x for x, weight in enumerate(belief) if weight]
    for y in range(len(rows[0])):
        mean = Fraction(sum(belief[x] * rows[x][y] for x in possible), sum(belief))
        for x in possible:
            need(
                rows[x][y] <= below * mean and mean <= below * rows[x][y],
                f"release {y} says too much of {x}",
            )


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    first = table([problem["initial"]])[0]
    steps = [square(rows, len(first)) for rows in problem["steps"]]
    below, _ = levels(problem["levels"], bits)
    kernels = [channel(kernel, len(first))[0] for kernel in mechanism["kernels"]]
    need(not claim and not proofs, "only privacy is of this kind of file")
    reached = {(0, tuple(first))}  # kernels with the beliefs at which they are used
    for place in [*problem["step_of"], None]:
        after = set[tuple[int, tuple[int, ...]]]()
        for node, belief in reached:
            rows = kernels[node]
            check_kernel(belief, rows, below["letter"])
            for y in range(len(rows[0]) if place is not None else 0):
                posterior = [weight * row[y] for weight, row in zip(belief, rows, strict=True)]
                if any(posterior):
                    step = steps[position(place, len(steps))]
                    moved = [sum(map(mul, posterior, column)) for column in zip(*step, strict=True)]
                    common = gcd(*moved)
                    follows = position(mechanism["next"][node][y], len(kernels))
                    after.add((follows, tuple(v // common for v in moved)))
        reached = after
    return [
        f"PROVED: each of {len(problem['step_of']) + 1} releases is private, level {problem['levels']['letter']['level']}"
    ]


if __name__ == "__main__":
    main("sequence", check, sys.argv[1])
