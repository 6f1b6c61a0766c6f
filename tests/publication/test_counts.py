"""Columns that number the records of a stream, and columns that do not."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from privopt.publication.counts import counts_records

HOURS = [datetime(2024, 2, 27, 22) + timedelta(hours=i) for i in range(90)]


@pytest.mark.parametrize(
    "cells",
    [
        [str(i) for i in range(40)],
        [f"{0.5 * i - 3:.1f}" for i in range(40)],
        [str(1_700_000_000 + 3600 * i) for i in range(40)],
        [hour.isoformat() for hour in HOURS],
        [f"{hour}+01:00" for hour in HOURS],
        [hour.strftime("%Y-%m-%d") for hour in HOURS],
        [str(hour.hour) for hour in HOURS] + [str((HOURS[-1].hour + i) % 24) for i in range(1, 60)],
        [f"day {i // 24}" for i in range(5, 120)],
        [str(-i) for i in range(20)],
        [str(i // 60 % 24) for i in range(60 * 24 * 4)],
    ],
)
def test_counts_are_recognised(cells: list[str]) -> None:
    assert counts_records([cells])
    assert counts_records([cells, cells[:-1], cells])


@pytest.mark.parametrize(
    "cells",
    [
        [],
        ["1", "2", "3"],
        [str(i) for i in range(15)],
        ["0"] * 40,
        ["0", "1"] * 20,
        ["a", "b", "c"] * 20,
        [str(i * i) for i in range(40)],
        [str(i) for i in range(39)] + ["41"],
        ["0"] * 39 + ["1"],
        ["1"] * 20 + ["2"] * 19 + ["3"] * 20 + ["4"] * 20,
        [str(1200 * (i // 24) + (i // 24) ** 2) for i in range(24 * 5)],
        [f"day {i // 24}" if i < 60 else f"night {i // 24}" for i in range(100)],
        ["nan"] * 10,
        [str(i) for i in range(20)] + ["", *(str(i) for i in range(21, 40))],
        [str(i % 24) for i in range(30)] + [str((i + 1) % 24) for i in range(30, 90)],
        ["0", "1", "2", "0", "1", "2", "1", "2", "0"],
    ],
)
def test_other_columns_are_no_counts(cells: list[str]) -> None:
    assert not counts_records([cells])


def test_users_are_numbered_alike() -> None:
    assert counts_records([["0", "1", "2", "3"]] * 4)
    assert not counts_records([["0", "1", "2", "3"], *[["1", "2", "3", "4"]] * 3])
    assert not counts_records([["0", "1"]] * 20)


def test_records_drawn_at_random_are_no_counts() -> None:
    rng = np.random.default_rng(0)
    for letters in (2, 3, 24):
        for length in (8, 16, 17, 40):
            assert not any(
                counts_records([list(map(str, rng.integers(0, letters, length).tolist()))])
                for _ in range(300)
            )
