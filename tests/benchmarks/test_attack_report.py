"""The figure of utility against attacks: drawn from rows that know it, absent otherwise; rows with and without the column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from instances.report_rows import failed, make_row

from privopt.benchmarks.runner.rows import Row, read_rows, row_from_dict, write_rows
from privopt.errors import FileRefused


def run() -> list[Row]:
    attacked = [
        make_row(solver=name, budget=budget, objective=-0.3 / budget, attack_accuracy=0.5 + 0.1 * budget)
        for name in ("closed-form", "randomised-response")
        for budget in (1.0, 2.0)
    ]
    lost = failed(attacked[0], "NOT_PRIVATE", "It leaks more.")
    return [*attacked, make_row(instance="two"), replace(lost, solver="published", attack_accuracy=0.9)]


def test_rows_keep_the_column_and_may_leave_it_out(tmp_path: Path) -> None:
    rows = run()
    write_rows(tmp_path / "rows.jsonl", rows)
    assert read_rows(tmp_path / "rows.jsonl") == tuple(rows)
    old = rows[-2].to_dict()
    del old["attack_accuracy"]
    assert row_from_dict(old) == replace(rows[-2], attack_accuracy=None)
    with pytest.raises(FileRefused, match="solver is missing"):
        row_from_dict({name: value for name, value in old.items() if name != "solver"})
