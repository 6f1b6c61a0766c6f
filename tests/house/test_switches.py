"""Following epsilon of one redaction from its file to its certificate takes at most half the changes of file that it took."""

from __future__ import annotations

from oracles.switches import BEFORE, from_file_to_certificate, report


def test_epsilon_is_followed_with_half_the_switches() -> None:
    trace = from_file_to_certificate()
    assert trace.switches <= BEFORE[1] // 2, report(trace)
    assert len(trace.files) < BEFORE[0], report(trace)
