"""Compiling plain Python loops with numba, where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def compiled(function: Callable[..., Any], helpers: Sequence[Callable[..., Any]] = ()) -> Any:
    """The same function as machine code, made at its first call.

    It is not kept on disk: numba would look at the age of this function's file only, and so run old code after a
    helper in another file has changed.

    Parameters
    ----------
    function : callable
        Works on arrays and numbers, or tuples of them.
    helpers : sequence of callables
        Functions that it calls, directly or through each other.

    Raises
    ------
    ModuleNotFoundError
        If numba is not installed.
    """
    from numba import njit
    from numba.extending import register_jitable

    for helper in helpers:
        register_jitable(helper)
    return njit(function)
