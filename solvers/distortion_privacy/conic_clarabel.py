"""The convex programme of distortion and leakage through CVXPY and Clarabel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.distortion_privacy._conic import Conic
from privopt.solvers.distortion_privacy._programmes import Backend


@register
@dataclass(frozen=True)
class ConicClarabel(Conic):
    """Any of the measures as a convex programme, by Clarabel, an interior-point method; every bound is checked."""

    name: ClassVar[str] = "conic-clarabel"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "clarabel")
    backend: ClassVar[Backend] = "clarabel"
    interruptible: ClassVar[bool] = False
