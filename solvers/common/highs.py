"""HiGHS without its banner, which some versions print once a process to the standard output that a user pipes on."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

_ALONE = threading.Lock()


def silent_highs(options: Mapping[str, str | float]) -> Any:
    """A HiGHS object on one thread that prints nothing; its package has no types.

    Parameters
    ----------
    options : mapping
        Options of HiGHS, by name.
    """
    import highspy

    with _ALONE:
        _banner()
    make: Any = highspy.Highs
    highs = make()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        highs.setOptionValue(name, value)
    return highs


@cache
def _banner() -> None:
    """Let the first object print what it has to say where nobody reads it."""
    import highspy

    make: Any = highspy.Highs
    try:
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # there is no standard output
        make()
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    flush = ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush
    flush(None)
    os.dup2(nowhere, 1)
    try:
        make()
        flush(None)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
