"""The election survey, under the name that it had before."""

from __future__ import annotations

from privopt.benchmarks.data.shipped import anes

__all__ = ["anes"]
