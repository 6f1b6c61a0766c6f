"""The convex relaxation of 3R through CVXPY and Clarabel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.redaction.conic import Backend, Conic


@register
@dataclass(frozen=True)
class ConicClarabel(Conic):
    """The published convex programme by Clarabel, an interior-point method.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B and
    Appendix A. Regions and split of the budget are those of ``relaxation``.
    """

    name: ClassVar[str] = "conic-clarabel"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "clarabel")
    backend: ClassVar[Backend] = "clarabel"
    interruptible: ClassVar[bool] = False
