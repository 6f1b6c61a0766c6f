"""Fewer cases in the tests of every day than in the long ones."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest


def few(cases: Iterable[object], count: int) -> list[Any]:
    """The cases as parameters of a test, those after the first ``count`` only in long runs."""
    rest = iter(cases)
    return [*islice(rest, count), *(pytest.param(case, marks=pytest.mark.long) for case in rest)]
