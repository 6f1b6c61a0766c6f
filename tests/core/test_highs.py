"""HiGHS prints nothing, whatever version it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import privopt as po

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
