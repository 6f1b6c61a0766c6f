"""Auditors that others wrote: they do not reject what a mechanism promises, and reject a sampler of which every fifth draw tells the truth."""

from __future__ import annotations

import pytest
from oracles.auditors import AUDITORS, Missing


@pytest.mark.parametrize("runs", [10, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", AUDITORS)
def test_an_auditor_rejects_the_fault_and_not_what_is_promised(name: str, runs: int) -> None:
    try:
        audit = AUDITORS[name](runs)
    except Missing as reason:
        pytest.skip(str(reason))
    assert audit.holds, audit
    assert audit.runs == audit.faulty == runs
