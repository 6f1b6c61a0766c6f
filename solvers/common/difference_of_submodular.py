"""Minimising a difference of two submodular functions of sets, given as callables."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.solvers.common.minimum_norm_point import Minimum, SetFunction, greedy_vertex, minimum_norm_point


def minimise_difference(
    f: SetFunction,
    g: SetFunction,
    n: int,
    *,
    method: str = "sub-sup",
    restarts: int = 8,
    max_steps: int = 100,
    seed: int = 0,
) -> Minimum:
    """A local minimum of f - g over the subsets of {0, ..., n - 1}, f and g submodular.

    Every step replaces one or both functions by modular bounds that are right at the present set, so f - g never rises.

    Source: Narasimhan, Bilmes, "A submodular-supermodular procedure" ("sub-sup": g by its increments along an order that
    begins with the present set, the rest by a minimum norm point); Iyer, Bilmes, "Algorithms for approximate
    minimization of the difference between submodular functions" ("mod-mod": f too, by either of two bounds above it).

    Parameters
    ----------
    f, g : callable
        Take a frozenset of integers; submodular, not checked.
    n : int
        >= 0.
    method : {"sub-sup", "mod-mod"}
    restarts : int
        Random sets to begin from, besides the empty one, all, and each single element.
    max_steps : int
        Steps from one start, at most.
    seed : int
        For the random orders.

    Returns
    -------
    Minimum
        ``gap`` is infinite: nothing is proved.

    Raises
    ------
    InvalidProblem
        If the method is unknown.

    Examples
    --------
    >>> found = minimise_difference(lambda a: len(a) ** 0.5, lambda a: float(min(len(a), 2)), 3)
    >>> len(found.chosen), round(found.value, 6)
    (2, -0.585786)
    """
    steps = {"sub-sup": _sub_sup, "mod-mod": _mod_mod}
    if method not in steps:
        raise InvalidProblem(f'method must be "sub-sup" or "mod-mod", got {method!r}')
    rng = np.random.default_rng(seed)
    starts = [frozenset[int](), frozenset(range(n)), *(frozenset({i}) for i in range(n))]
    starts += [frozenset(np.flatnonzero(rng.random(n) < 0.5).tolist()) for _ in range(restarts)]
    best = Minimum(frozenset(), float(f(frozenset()) - g(frozenset())), float("inf"))
    for chosen in starts:
        value = float(f(chosen) - g(chosen))
        for _ in range(max_steps):
            tried = steps[method](f, g, n, chosen, rng)
            now = float(f(tried) - g(tried))
            if now >= value - 1e-13 * max(1.0, abs(value)):
                break
            chosen, value = tried, now
        if value < best.value:
            best = Minimum(chosen, value, float("inf"))
    return best


def _order(n: int, chosen: frozenset[int], rng: np.random.Generator) -> list[int]:
    """A set in random order, then the others."""
    shuffled = rng.permutation(n).tolist()
    return [i for i in shuffled if i in chosen] + [i for i in shuffled if i not in chosen]


def _sub_sup(
    f: SetFunction, g: SetFunction, n: int, chosen: frozenset[int], rng: np.random.Generator
) -> frozenset[int]:
    modular = greedy_vertex(g, _order(n, chosen, rng))
    return minimum_norm_point(lambda a: f(a) - float(sum(modular[i] for i in a)), n).chosen


def _mod_mod(
    f: SetFunction, g: SetFunction, n: int, chosen: frozenset[int], rng: np.random.Generator
) -> frozenset[int]:
    modular = greedy_vertex(g, _order(n, chosen, rng))
    tried = [frozenset(np.flatnonzero(above - modular < 0).tolist()) for above in _bounds_above(f, n, chosen)]
    return min(tried, key=lambda a: f(a) - g(a))


def _bounds_above(f: SetFunction, n: int, chosen: frozenset[int]) -> tuple[Floats, Floats]:
    """Two modular bounds above f, but for a constant, that are right at a set.

    Leaving the set costs f(i | set - i) and joining it f(i | empty); or f(i | all - i) and f(i | set).
    """
    every, nothing = frozenset(range(n)), frozenset[int]()
    inner = [f(chosen) - f(chosen - {i}) if i in chosen else f(frozenset({i})) - f(nothing) for i in range(n)]
    outer = [f(every) - f(every - {i}) if i in chosen else f(chosen | {i}) - f(chosen) for i in range(n)]
    return np.array(inner, dtype=np.float64), np.array(outer, dtype=np.float64)
