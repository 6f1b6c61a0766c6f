"""The linear programme of a distortion through CVXPY and SCS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.solvers.local_information_privacy._conic import Backend, Conic


@register
@dataclass(frozen=True)
class ConicSCS(Conic):
    """The linear programme of a distortion by SCS, a first-order method."""

    name: ClassVar[str] = "conic-scs"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "scs")
    backend: ClassVar[Backend] = "scs"
    interruptible: ClassVar[bool] = False
