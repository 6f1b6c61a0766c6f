"""How the processor rounds: proofs round outward from the nearest float, and a library may have changed that.

A compiled library may leave the processor rounding upward (the Parma Polyhedra Library does where its binding does not
set it back), or flushing numbers below 2^-1022 to 0 (libraries built for speed do so when they are loaded). Both hold for
the whole thread, and a sum rounded outward by one step is then no bound any more. So it is looked at before anything is
proved: the direction is set back, and where that cannot be done nothing is proved.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache

from privopt.errors import PrivoptError

_NEAREST = 0
"""FE_TONEAREST in the C libraries of x86 and ARM."""
_ONE, _HALF_STEP, _SMALLEST_NORMAL = (float.fromhex(text) for text in ("0x1p0", "0x1p-53", "0x1p-1022"))


def rounds_to_nearest() -> bool:
    """Whether sums are rounded to the nearest float, ties to the even one, both above and below 0.

    Examples
    --------
    >>> rounds_to_nearest()
    True
    """
    up, down = _ONE + _HALF_STEP, -_ONE - _HALF_STEP
    above = _ONE + 1.5 * _HALF_STEP
    return up == _ONE and down == -_ONE and above == _ONE + 2 * _HALF_STEP


def keeps_small_numbers() -> bool:
    """Whether numbers below 2^-1022 are computed with, not taken for 0.

    Examples
    --------
    >>> keeps_small_numbers()
    True
    """
    half = _SMALLEST_NORMAL * 0.5
    return half > 0 and half + half == _SMALLEST_NORMAL


def ensure_nearest() -> None:
    """Set the direction of rounding back to the nearest float where something changed it.

    Raises
    ------
    PrivoptError
        If that cannot be done, or small numbers are flushed to 0: no proof holds then.

    Examples
    --------
    >>> ensure_nearest()
    """
    if not rounds_to_nearest():
        _set_back()
    if not rounds_to_nearest():
        raise PrivoptError(
            "a library made this processor round upward or downward, and it cannot be set back: nothing can be proved in this "
            "process; import privopt before other compiled libraries, or prove in a process of its own (privopt verify)"
        )
    if not keeps_small_numbers():
        raise PrivoptError(
            "a library made this processor take numbers below 2^-1022 for 0 (it was built with -ffast-math): nothing can be "
            "proved in this process; prove in a process that does not load it (privopt verify)"
        )


@cache
def _library() -> ctypes.CDLL | None:
    """The C library that knows the direction of rounding, if there is one."""
    for name in (ctypes.util.find_library("m"), None):
        try:
            library = ctypes.CDLL(name)
            library.fesetround.argtypes, library.fesetround.restype = [ctypes.c_int], ctypes.c_int
        except (OSError, AttributeError, TypeError):
            continue
        return library
    return None


def _set_back() -> None:
    library = _library()
    if library is not None:
        library.fesetround(_NEAREST)
