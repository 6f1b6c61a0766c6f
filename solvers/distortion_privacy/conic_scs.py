"""The convex programme of distortion and leakage through CVXPY and SCS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.distortion_privacy._conic import Conic
from privopt.solvers.distortion_privacy._programmes import Backend


@register
@dataclass(frozen=True)
class ConicSCS(Conic):
    """Any of the measures as a convex programme, by SCS, a first-order method; every bound is checked."""

    name: ClassVar[str] = "conic-scs"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "scs")
    backend: ClassVar[Backend] = "scs"
    interruptible: ClassVar[bool] = False
