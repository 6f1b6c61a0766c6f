"""The linear programme of a distortion through CVXPY and Clarabel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.local_information_privacy._conic import Backend, Conic


@register
@dataclass(frozen=True)
class ConicClarabel(Conic):
    """The linear programme of a distortion by Clarabel, an interior-point method."""

    name: ClassVar[str] = "conic-clarabel"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "clarabel")
    backend: ClassVar[Backend] = "clarabel"
    interruptible: ClassVar[bool] = False
