"""The mechanism that was released, drawn by the file that knows its type."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from privopt.benchmarks._folder import Released
from privopt.benchmarks.reporting._figure import Figure

PACKAGE = "privopt.benchmarks.reporting.drawings"
Drawing = Callable[[Released], Figure | None]

_drawings: dict[type[Any], Drawing] = {}


def register_drawing(mechanism: type[Any], drawing: Drawing) -> None:
    """Enter what draws a type of mechanism; it returns None where the question is not one it can draw.

    Raises
    ------
    ValueError
        If the type has a drawing.
    """
    if mechanism in _drawings:
        raise ValueError(f"a drawing of {mechanism.__name__} is registered twice; remove one of them")
    _drawings[mechanism] = drawing


def draw(released: Released) -> Figure | None:
    """The figure of a released mechanism, or None if no drawing knows its type."""
    _scan()
    drawing = _drawings.get(type(released.solution.mechanism))
    return None if drawing is None else drawing(released)


@cache
def _scan() -> None:
    """Import every file of the folder, once."""
    package = importlib.import_module(PACKAGE)
    for entry in pkgutil.iter_modules(package.__path__, PACKAGE + "."):
        importlib.import_module(entry.name)
