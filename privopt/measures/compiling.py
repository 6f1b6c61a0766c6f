"""Plain loops as machine code, where numba is installed and the work is worth its start."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

WORTH = 1 << 16
"""Vertices and edges from which compiling pays."""


def numba_installed() -> bool:
    """Whether compiled loops are available."""
    return find_spec("numba") is not None


@cache
def compiled(
    function: Callable[..., Any], helpers: tuple[Callable[..., Any], ...] = ()
) -> Callable[..., Any]:
    """The same function as machine code, kept on disk where that can be written.

    ``helpers`` are the functions that it calls, directly or through each other. They belong in its file: what is kept on
    disk is made anew when that file changes, whatever changes elsewhere.
    """
    from numba import njit
    from numba.extending import register_jitable

    for helper in helpers:
        register_jitable(helper)
    try:
        made: Callable[..., Any] = njit(cache=True)(function)
    except RuntimeError:  # no folder for the machine code can be written
        made = njit(function)
    return made
