"""The figure of utility against attacks: drawn from rows that know it, absent otherwise; rows with and without the column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from instances.report_rows import failed, make_row

from privopt.benchmarks.report.figure import svg
from privopt.benchmarks.report.frontiers import attacks
from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.style import styles
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


def test_a_figure_appears_where_rows_know_what_an_attack_guessed() -> None:
    pytest.importorskip("altair")
    rows = judged(run())
    (figure,) = attacks(rows, styles(rows))
    shown = figure.data["points"].dictionaries()
    assert [(r["solver"], r["budget"], r["attack_accuracy"]) for r in shown] == [
        (name, budget, pytest.approx(0.5 + 0.1 * budget))
        for name in ("closed-form", "randomised-response")
        for budget in (1.0, 2.0)
    ]
    assert figure.data["points"].rows == (0, 1, 2, 3)
    pytest.importorskip("vl_convert")
    assert "letters guessed right" in svg(figure)


def test_no_figure_without_attacks() -> None:
    rows = judged([make_row(), failed(make_row(), "TIME_OUT", "It took too long.")])
    assert not list(attacks(rows, styles(rows)))


def test_rows_keep_the_column_and_may_leave_it_out(tmp_path: Path) -> None:
    rows = run()
    write_rows(tmp_path / "rows.jsonl", rows)
    assert read_rows(tmp_path / "rows.jsonl") == tuple(rows)
    old = rows[-2].to_dict()
    del old["attack_accuracy"]
    assert row_from_dict(old) == replace(rows[-2], attack_accuracy=None)
    with pytest.raises(FileRefused, match="solver is missing"):
        row_from_dict({name: value for name, value in old.items() if name != "solver"})
