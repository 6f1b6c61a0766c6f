"""The linear programme of a distortion through CVXPY and ECOS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.local_information_privacy._conic import Backend, Conic


@register
@dataclass(frozen=True)
class ConicECOS(Conic):
    """The linear programme of a distortion by ECOS, an interior-point method."""

    name: ClassVar[str] = "conic-ecos"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "ecos")
    backend: ClassVar[Backend] = "ecos"
    interruptible: ClassVar[bool] = False
