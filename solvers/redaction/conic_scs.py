"""The convex relaxation of 3R through CVXPY and SCS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.redaction.conic import Backend, Conic


@register
@dataclass(frozen=True)
class ConicSCS(Conic):
    """The published convex programme by SCS, a first-order method.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B and
    Appendix A. Regions and split of the budget are those of ``relaxation``.
    """

    name: ClassVar[str] = "conic-scs"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "scs")
    backend: ClassVar[Backend] = "scs"
    interruptible: ClassVar[bool] = False
