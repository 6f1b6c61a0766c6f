"""HiGHS prints nothing, whatever version it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.core.highs import Rows, minimise, sifted

PROBLEMS: dict[str, po.Problem[Any]] = {
    "metric_privacy": po.MetricPrivacy(po.Metric.line(4), [0.25] * 4, "distance", 0.5),
    "local_information_privacy": po.LocalInformationPrivacy(
        po.JointDistribution([[0.2, 0.1, 0.05], [0.1, 0.05, 0.1], [0.1, 0.2, 0.1]]), 0.4
    ),
}
SOLVERS = {"metric_privacy": "direct-lp", "local_information_privacy": "column-generation"}


@pytest.mark.long
def test_what_is_printed_as_json_is_json(tmp_path: Path) -> None:
    for kind, problem in PROBLEMS.items():
        path = tmp_path / f"{kind}.json"
        path.write_text(json.dumps(problem.to_dict()))
        command = [sys.executable, "-m", "privopt", "solve", str(path), "--json", "--solver", SOLVERS[kind]]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(run.stdout)["solver"] == SOLVERS[kind], run.stdout
        assert run.stderr == ""


def test_without_a_standard_output_it_solves_all_the_same(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "os.close(1)\n"
        "from privopt.core.highs import silent_highs\n"
        "silent_highs({}).run()\n"
        "sys.exit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


@pytest.mark.parametrize("seed", range(6))
def test_programs_agree_with_the_optimisers_of_scipy(seed: int) -> None:
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    n, below, equal = 8, 5, 2
    cost, upper = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    table, sums = rng.normal(size=(below, n)) * (rng.random((below, n)) < 0.6), rng.random((equal, n))
    inside = upper * rng.random(n)
    room, right = table @ inside + 0.1, sums @ inside
    bounds = [(0.0, top) for top in upper.tolist()]
    known: Any = linprog(cost, table, room, sums, right, bounds, method="highs")
    rows, columns = np.nonzero(table)
    for written in (
        Rows.dense(table, room),
        Rows.sparse(csr_array(table), room),
        Rows.cells(rows, columns, table[rows, columns], room),
    ):
        best = minimise(cost, written, Rows.dense(sums, right), upper=upper)
        assert best is not None
        assert best.value == pytest.approx(known.fun, abs=1e-8)
        assert best.multipliers == pytest.approx(-known.ineqlin.marginals, abs=1e-7)
        assert best.prices == pytest.approx(known.eqlin.marginals, abs=1e-7)
        reduced = cost + best.multipliers @ table - best.prices @ sums
        proved = best.prices @ right - best.multipliers @ room + np.minimum(reduced, 0.0) @ upper
        assert proved == pytest.approx(best.value, abs=1e-8)


def test_a_program_without_a_point_has_no_optimum() -> None:
    nothing = Rows.none()
    assert minimise(np.ones(2), nothing, Rows.dense(np.ones((1, 2)), 3.0), upper=1.0) is None
    assert minimise(-np.ones(2), nothing, nothing) is None


@pytest.mark.parametrize("seed", range(6))
def test_few_unknowns_at_first_end_at_the_optimum_of_all(seed: int) -> None:
    """Transports between random points: a start of its own cells, and one unknown for a fresh draw, is enough."""
    rng = np.random.default_rng(seed)
    n = 12
    mass = rng.dirichlet(np.ones(n))
    cost, fresh = rng.random(n * n), np.outer(mass, mass).ravel()
    places = np.arange(n * n).reshape(n, n)
    sums = np.zeros((2 * n, n * n + 1))
    for i in range(n):
        sums[i, places[i]] = sums[n + i, places[:, i]] = 1.0
    sums[:, -1] = sums[:, :-1] @ fresh
    limit = rng.random((3, n * n + 1))
    limit[:, -1] = limit[:, :-1] @ fresh
    costs = np.append(cost, cost @ fresh)
    below = Rows.dense(limit, limit[:, -1] * 1.02)
    equal = Rows.dense(sums, np.concatenate([mass, mass]))
    whole = minimise(costs, below, equal)
    start = np.append(places.diagonal(), n * n)
    best = sifted(costs, below, equal, start, each=7)
    assert whole is not None
    assert best is not None
    assert best.whole
    assert best.value == pytest.approx(whole.value, abs=1e-9)
    assert np.abs(sums @ best.point - np.concatenate([mass, mass])).max() < 1e-7
    dual = best.prices @ np.concatenate([mass, mass]) - best.multipliers @ below.right
    assert dual == pytest.approx(whole.value, abs=1e-7)


def test_a_sifted_program_without_time_keeps_the_point_that_it_has() -> None:
    rows = Rows.dense(np.ones((1, 3)), 1.0)
    assert sifted(np.ones(3), Rows.none(), Rows.dense(np.eye(3)[:1], 1.0), np.array([1]), each=1) is None
    best = sifted(np.array([2.0, 1.0, 3.0]), Rows.none(), rows, np.array([0]), each=1, seconds=0.0)
    assert best is not None
    assert best.value in (1.0, 2.0)
