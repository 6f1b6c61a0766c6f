"""The convex relaxation of 3R through CVXPY and ECOS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.redaction.conic import Backend, Conic


@register
@dataclass(frozen=True)
class ConicECOS(Conic):
    """The published convex programme by ECOS, an interior-point method.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B and
    Appendix A. Regions and split of the budget are those of ``relaxation``.
    """

    name: ClassVar[str] = "conic-ecos"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "ecos")
    backend: ClassVar[Backend] = "ecos"
    interruptible: ClassVar[bool] = False
