"""Plain loops as machine code, where numba is installed and the work is worth its start."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

WORTH = 1 << 16
"""Vertices and edges from which compiling pays."""


COLD = 1 << 24
"""The same where arrays do it too, only slower, and numba is not imported yet: its start takes a second or two."""


def compiling_pays(work: int) -> bool:
    """Whether a loop that arrays can do as well is better compiled: on large graphs, or where numba is there already.

    Examples
    --------
    >>> compiling_pays(1000)
    False
    """
    return work > (WORTH if "numba" in sys.modules else COLD) and numba_installed()


@cache
def numba_installed() -> bool:
    """Whether compiled loops are available; looked up once in a process."""
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
