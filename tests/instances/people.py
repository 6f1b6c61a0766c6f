"""A small table of people, as a CSV file: a secret that goes with age and school, numbers, names, and empty cells."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

ROWS = 600
EMPTY = 7
"""Rows without a school."""


def write_people(path: Path, rows: int = ROWS) -> Path:
    rng = np.random.default_rng(5)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["name", "age", "school", "city", "income", "country"])
        for i in range(rows):
            age = int(rng.integers(18, 80))
            school = ["low", "middle", "high"][int(rng.integers(3))]
            rich = rng.random() < 0.15 + 0.3 * (school == "high") + 0.25 * (35 <= age < 60)
            cells = [f"person {i}", age, "" if i < EMPTY else school, "AB"[int(rng.integers(2))]]
            writer.writerow([*cells, "> 50" if rich else "<= 50", "here"])
    return path
