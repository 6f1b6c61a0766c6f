"""The convex programme of distortion and leakage through CVXPY and ECOS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.distortion_privacy._conic import Conic
from privopt.solvers.distortion_privacy._programmes import Backend


@register
@dataclass(frozen=True)
class ConicECOS(Conic):
    """Any of the measures as a convex programme, by ECOS, an interior-point method; every bound is checked."""

    name: ClassVar[str] = "conic-ecos"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "ecos")
    backend: ClassVar[Backend] = "ecos"
    interruptible: ClassVar[bool] = False
