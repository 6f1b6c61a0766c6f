"""Solving under one processor setting and verifying under others: the verdict has to be the same on every machine.

The settings switch off instruction sets of NumPy and choose other kernels of OpenBLAS, so that sums, logarithms and
linear programs end in other last digits. A process is made for each, since both are read when NumPy is imported.

``python -m privopt.benchmarks.timings.settings solve FOLDER`` writes a solution of every solver for every example,
``... verify FOLDER`` prints a verdict for each as a JSON line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from privopt.core.dispatch import fitness, solve
from privopt.core.problem import Problem
from privopt.core.registry import problem_types, solvers_of
from privopt.core.solution import Solution
from privopt.core.verify import verify
from privopt.errors import PrivoptError
from privopt.files.json import read_json, write_json
from privopt.files.load import problem_from_dict

NUMPY, BLAS, THREADS = "NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS"
DEFAULT = "as it is"
REFUSED = 3
"""Exit code of a process that verified everything it was given, and refused some of it."""


@dataclass(frozen=True)
class Setting:
    """A name, the environment variables that make it, and why it is skipped here (empty if it is not)."""

    name: str
    variables: Mapping[str, str]
    skipped: str = ""


@dataclass(frozen=True)
class Verdict:
    """What verifying one file gave."""

    file: str
    ok: bool
    reason: str
    remarks: tuple[str, ...]


def settings() -> tuple[Setting, ...]:
    """Every setting; what this processor or this NumPy lacks is skipped by name.

    Examples
    --------
    >>> [s.name for s in settings()][:2]
    ['as it is', 'one thread']
    """
    names = _numpy_names()
    wide = "" if _has_avx512() else "this processor has no AVX-512"
    plain = {NUMPY: " ".join(names)}
    none = "" if names else "this NumPy has none that can be switched off on this processor"
    return (
        Setting(DEFAULT, {}),
        Setting("one thread", {THREADS: "1"}),
        Setting("NumPy without its widest instructions", {NUMPY: names[-1] if names else ""}, none),
        Setting("NumPy without any, OpenBLAS for Prescott", {**plain, BLAS: "Prescott"}, none),
        Setting("OpenBLAS for Haswell", {BLAS: "Haswell"}),
        Setting("OpenBLAS for SkylakeX", {BLAS: "SkylakeX"}, wide),
    )


def _numpy_names() -> list[str]:
    """The instruction sets that this NumPy chooses at run time and this processor has, narrowest first."""
    core = _numpy_core()
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def _has_avx512() -> bool:
    known = _numpy_core().__cpu_features__
    return bool(known.get("AVX512F") or known.get("X86_V4"))


def _numpy_core() -> Any:
    """The module in which NumPy keeps what it knows of the processor; another one before version 2."""
    place = "numpy._core" if find_spec("numpy._core") else "numpy.core"
    return import_module(f"{place}._multiarray_umath")


def solve_all(folder: Path, most: int, time_limit: float) -> int:
    """Write what each solver, and ``solve`` itself, answers to at most so many examples of each problem; the count.

    Only certified answers are written, since only they can be verified.
    """
    count = 0
    for kind, cls in problem_types().items():
        examples = cls.examples()
        for name in (None, *solvers_of(cls)):
            taken = 0
            for i, example in enumerate(examples):
                if taken == most or (name is not None and not _takes(name, example.problem, time_limit)):
                    continue
                solution = solve(example.problem, name, time_limit=time_limit)
                if solution.certified:
                    taken, count = taken + 1, count + 1
                    stored = {"problem": example.problem.to_dict(), "solution": solution.to_dict()}
                    write_json(folder / f"{kind}-{name or 'auto'}-{i}.json", stored)
    return count


def _takes(name: str, problem: Problem[Any], time_limit: float) -> bool:
    fit = fitness(solvers_of(type(problem))[name](), problem)
    return fit.refusal is None and (fit.seconds or 0.0) <= time_limit


def verify_all(folder: Path) -> Iterator[Verdict]:
    """A verdict for each file of :func:`solve_all`."""
    for path in sorted(folder.glob("*.json")):
        stored = read_json(path)
        try:
            problem = problem_from_dict(stored["problem"])
            proof = verify(problem, Solution[Any].from_dict(stored["solution"]))
            yield Verdict(path.stem, proof.ok, proof.reason, proof.remarks)
        except PrivoptError as cause:
            yield Verdict(path.stem, False, str(cause), ())


def run_under(setting: Setting, *arguments: str, python: str = sys.executable) -> str:
    """What this module prints when it is run in a process of its own with a setting.

    Raises
    ------
    RuntimeError
        If that process fails; with the end of what it said.
    """
    kept = {key: value for key, value in os.environ.items() if key not in (NUMPY, BLAS, THREADS)}
    done = subprocess.run(
        [python, "-m", __name__, *arguments],
        env={**kept, **setting.variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, REFUSED):
        raise RuntimeError(f"under the setting {setting.name!r}: {done.stderr[-2000:]}")
    return done.stdout


def verdicts(printed: str) -> list[Verdict]:
    """The verdicts that a process printed."""
    records = (json.loads(line) for line in printed.splitlines())
    return [Verdict(f["file"], f["ok"], f["reason"], tuple(f["remarks"])) for f in records]


def main(arguments: Sequence[str]) -> int:
    """``solve FOLDER MOST SECONDS`` or ``verify FOLDER``; the exit code."""
    action, folder = arguments[0], Path(arguments[1])
    if action == "solve":
        print(solve_all(folder, int(arguments[2]), float(arguments[3])))
        return 0
    code = 0
    for verdict in verify_all(folder):
        print(json.dumps(asdict(verdict)))
        code = code if verdict.ok else REFUSED
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
