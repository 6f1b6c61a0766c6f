"""What the script of the page reads: rows once, as columns with levels and codes, compressed and in letters."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from privopt.benchmarks.report.board import Board, ProblemLine
from privopt.benchmarks.report.entries import CaseLine, Kind
from privopt.benchmarks.report.judged import Judged, encode, excess
from privopt.benchmarks.runner.rows import AUTO
from privopt.benchmarks.runner.spread import Spread
from privopt.benchmarks.runner.vocabulary import Vocabulary

KEY = 8
"""Letters of a row's key that stand for it in an address."""
COARSE = 5
"""Digits of times and memory."""


def packed(board: Board, rows: Sequence[Judged], words: Vocabulary) -> dict[str, Any]:
    """Problems, instances, cases and rows: each refers to those before it by place.

    Parameters
    ----------
    board : Board
        Of the rows.
    rows : sequence of Judged
    words : Vocabulary
        How problems and instances are called.
    """
    lines = [line for problem in board.problems for line in problem.lines]
    kinds = {problem.kind: i for i, problem in enumerate(board.problems)}
    instances = {(one.case.question, one.case.instance): None for one in lines}
    places = {name: i for i, name in enumerate(instances)}
    return {
        "auto": AUTO,
        "kinds": [kind.value for kind in Kind],
        "signs": {kind.value: kind.sign for kind in Kind},
        "seeds": len({j.row.seed for j in rows}),
        "problems": [_problem(i, problem) for i, problem in enumerate(board.problems)],
        "instances": _columns([_instance(kinds[kind], kind, name, words) for kind, name in instances]),
        "cases": _columns([_case(places[line.case.question, line.case.instance], line) for line in lines]),
        "rows": _columns(_rows(board, lines, rows)),
        "spreads": _spreads(lines, rows),
    }


def _spreads(lines: Sequence[CaseLine], rows: Sequence[Judged]) -> dict[str, Any]:
    """By the place of the row that stands for repetitions: median and quartiles of its objectives and of its seconds."""
    places = {id(j): i for i, j in enumerate(rows)}
    entries = [entry for line in lines for entry in line.entries.values()]
    return {
        str(places[id(entry.judged)]): {
            "of": entry.seeds,
            "count": entry.objectives.count,
            "objective": _quartiles(entry.objectives),
            "seconds": [coarse(value) for value in _quartiles(entry.times)],
        }
        for entry in entries
        if entry.objectives is not None and entry.times is not None
    }


def _quartiles(spread: Spread) -> list[float | None]:
    return [spread.median, spread.lower, spread.upper]


def _problem(place: int, line: ProblemLine) -> dict[str, Any]:
    everyone = (*((line.auto,) if line.auto else ()), *line.solvers)
    return {
        "kind": line.kind,
        "place": place,
        "title": line.words.title,
        "short": line.words.short,
        "name": line.words.name,
        "asks": line.words.asks,
        "reference": line.words.reference.solver,
        "named": [one.solver for one in line.named],
        "reached": sum(one.adds for one in line.named),
        "byOracle": len(line.by_oracle),
        "bySolve": len(line.by_solve),
        "undecided": line.undecided,
        "answered": line.answered,
        "solvers": [
            {
                "name": s.solver,
                "role": s.role,
                "won": s.won,
                **({"undecided": s.undecided, "timed": s.timed} if s.timed else {}),
                "taken": s.taken,
                "answered": s.answered,
                "seconds": coarse(s.seconds),
            }
            for s in everyone
        ],
    }


def _instance(problem: int, kind: str, name: str, words: Vocabulary) -> dict[str, Any]:
    told = words.instance(kind, name)
    return {
        "problem": problem,
        "name": name,
        "title": told.title,
        "note": told.note,
        "quantity": told.quantity.name,
        "unit": told.quantity.unit,
        "sign": told.quantity.sign,
        "budgetName": told.quantity.budget,
    }


def _case(instance: int, line: CaseLine) -> dict[str, Any]:
    first = next(iter(line.entries.values())).row
    return {
        "instance": instance,
        "budget": line.case.budget,
        "best": line.level,
        "bound": line.bound,
        "proved": line.proved,
        "family": first.family,
        "size": first.size,
    }


def _rows(board: Board, lines: Sequence[CaseLine], rows: Sequence[Judged]) -> list[dict[str, Any]]:
    places = {line.case: i for i, line in enumerate(lines)}
    stands = {id(entry.judged): entry for line in lines for entry in line.entries.values()}
    warned = {id(alarm.row): alarm for alarm in board.alarms}
    made = []
    for j in rows:
        r, entry, alarm = j.row, stands.get(id(j)), warned.get(id(j.row))
        made.append(
            {
                "case": places[j.case],
                "solver": r.solver,
                "stands": entry is not None,
                "kind": entry.kind.value if entry else "",
                "loss": coarse(entry.loss) if entry else None,
                "seed": r.seed,
                "limit": r.time_limit,
                "status": r.status,
                "reason": r.reason,
                "objective": r.objective,
                "leakage": coarse(r.leakage),
                "answered": r.ok,
                "reached": j.reached,
                "certified": r.certified,
                "verified": r.verified,
                "repaired": r.repaired,
                "over": r.over_budget,
                "excess": coarse(excess(j)) if r.over_budget else None,
                "lost": coarse(r.utility_lost),
                "seconds": r.seconds,
                "memory": coarse(r.peak_memory),
                "chosen": r.chosen,
                "differs": r.differs,
                "alarm": alarm.place if alarm else 0,
                "red": bool(alarm and alarm.red),
                "key": r.key[:KEY],
            }
        )
    return made


def coarse(value: float | None, digits: int = COARSE) -> float | None:
    """A number to a few digits, None where there is none.

    Examples
    --------
    >>> coarse(0.123456789), coarse(None)
    (0.12346, None)
    """
    return None if value is None else float(f"{value:.{digits}g}")


def _columns(made: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Records as columns: texts and truths as levels and codes, anything else as it is."""
    return {name: _column([one[name] for one in made]) for name in (made[0] if made else ())}


def _column(values: Sequence[Any]) -> Any:
    if all(isinstance(value, (str, bool)) for value in values):
        levels = {value: i for i, value in enumerate(dict.fromkeys(values))}
        return {"l": list(levels), "c": [levels[value] for value in values]}
    return [encode(value) for value in values]


def letters(text: str) -> str:
    """Text compressed with gzip, in letters of base 64: the same for the same text.

    Examples
    --------
    >>> gzip.decompress(base64.b64decode(letters("a b"))).decode()
    'a b'
    """
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def compact(value: Mapping[str, Any]) -> str:
    """JSON without spaces; numbers that JSON lacks are refused."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
