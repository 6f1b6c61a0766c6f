"""The outside program viprchk: found, or built from a checkout of https://github.com/scipopt/vipr where a compiler and gmp are.

Beside it a short reading of the same files in Python, for what they state and for machines without the program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

Terms = dict[int, Fraction]


class Missing(Exception):
    """There is no viprchk, with the reason."""


@cache
def program() -> Path:
    """The program that VIPRCHK names, the one on the path, or one built from the checkout that VIPR_SOURCE names.

    Raises
    ------
    Missing
        If there is none, or it cannot be built.
    """
    known = os.environ.get("VIPRCHK") or shutil.which("viprchk")
    if known is not None:
        return Path(known)
    source = os.environ.get("VIPR_SOURCE")
    if source is None:
        raise Missing(
            "no viprchk: name it in VIPRCHK, or a checkout of github.com/scipopt/vipr in VIPR_SOURCE"
        )
    code, compiler = Path(source) / "code", shutil.which("g++")
    if compiler is None or not (code / "viprchk.cpp").is_file():
        raise Missing(f"viprchk is not built: no compiler, or {code} has no viprchk.cpp")
    folder = Path(tempfile.mkdtemp(prefix="viprchk"))
    header = (code / "CMakeConfig.hpp.in").read_text(encoding="utf-8")
    plain = re.sub(r"#cmakedefine.*", "", header).replace("@PROJECT_VERSION_MAJOR@", "1")
    (folder / "CMakeConfig.hpp").write_text(plain.replace("@PROJECT_VERSION_MINOR@", "1"), encoding="utf-8")
    built = folder / "viprchk"
    command = [compiler, "-O1", "-std=c++17", f"-I{folder}", "-o", str(built), str(code / "viprchk.cpp")]
    made = subprocess.run([*command, "-lgmpxx", "-lgmp"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Missing(f"viprchk does not build, gmp may be missing: {made.stderr.strip().splitlines()[-1]}")
    return built


def accepts(path: Path) -> bool:
    """Whether viprchk accepts a file."""
    ended = subprocess.run([program(), path], capture_output=True, text=True, check=False)
    return ended.returncode == 0 and "Successfully verified" in ended.stdout


@dataclass(frozen=True)
class Stated:
    """A program, what is to be proved of its least cost, its solution, and the multipliers that prove it."""

    cost: Terms
    rows: list[tuple[str, Fraction, Terms]]
    low: Fraction | None
    high: Fraction | None
    solution: Terms | None
    multipliers: Terms | None

    def holds(self) -> bool:
        """Whether the solution meets every row and the upper bound, or the rows add to the lower one."""
        if self.solution is not None:
            met = all(_compare(_dot(terms, self.solution), sense, right) for sense, right, terms in self.rows)
            return met and self.high is not None and _dot(self.cost, self.solution) <= self.high
        if self.multipliers is None or self.low is None:
            return False
        total, right = dict.fromkeys(self.cost, Fraction(0)), Fraction(0)
        for place, v in self.multipliers.items():
            sense, own, terms = self.rows[place]
            if sense != "E" and (v > 0) != (sense == "G"):
                return False
            right += v * own
            for i, a in terms.items():
                total[i] = total.get(i, Fraction(0)) + v * a
        return {i: v for i, v in total.items() if v} == self.cost and right >= self.low


def _dot(terms: Terms, at: Terms) -> Fraction:
    return sum((a * at[i] for i, a in terms.items() if i in at), Fraction(0))


def _compare(left: Fraction, sense: str, right: Fraction) -> bool:
    return {"E": left == right, "L": left <= right, "G": left >= right}[sense]


def stated(text: str) -> Stated:
    """What a file with a solution or with one linear derivation states."""
    words = iter(text.split())

    def terms() -> Terms:
        return {int(next(words)): Fraction(next(words)) for _ in range(int(next(words)))}

    def until(name: str) -> None:
        assert next(words) == name

    _, version, _, count = (next(words) for _ in range(4))
    assert version == "1.0"
    assert len({next(words) for _ in range(int(count))}) == int(count)
    assert [next(words) for _ in range(4)] == ["INT", "0", "OBJ", "min"]
    cost = terms()
    until("CON")
    count, _ = next(words), next(words)
    rows = [(next(words), next(words), Fraction(next(words)), terms())[1:] for _ in range(int(count))]
    assert [next(words) for _ in range(2)] == ["RTP", "range"]
    low, high = (None if (w := next(words)) in ("-inf", "inf") else Fraction(w) for _ in range(2))
    until("SOL")
    solution = terms() if int(next(words)) and next(words) else None
    until("DER")
    if not int(next(words)):
        return Stated(cost, rows, low, high, solution, None)
    assert (next(words), next(words), Fraction(next(words))) == ("D", "G", low)
    assert [next(words) for _ in range(3)] == ["OBJ", "{", "lin"]
    return Stated(cost, rows, low, high, solution, terms())
