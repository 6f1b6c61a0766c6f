"""Checking an upper bound on the utility of a redaction question."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privopt.problems.redaction import Redaction


def check_dual(problem: Redaction, dual: object) -> float | None:
    return None
