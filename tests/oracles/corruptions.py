"""Stored answers, corrupted leaf by leaf from a seed and signed again: none whose claim is broken may be accepted.

The library loads and verifies; :mod:`oracles.claims`, which knows nothing of it, says whether a claim is broken.
"""

from __future__ import annotations

import copy
import json
import math
import random
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from types import FrameType
from typing import Any

import privopt as po
from oracles import claims
from oracles.leaves import at, leaves, other_leaf, other_number, put
from privopt.core.judge import judge
from privopt.files.json import parse_json
from privopt.mechanisms import mechanism_from_dict

Json = dict[str, Any]

PATIENCE = 10
"""Seconds after which a verification counts as hanging."""


@dataclass(frozen=True)
class Case:
    """A problem with honest records: the answer first, then answers that are worse."""

    name: str
    problem: Json
    records: tuple[Json, ...]
    attained: Any

    @property
    def answer(self) -> Json:
        return self.records[0]


@dataclass(frozen=True)
class Corruption:
    """A pair of documents, how it came about, and whether it is handed over as text."""

    case: Case
    how: str
    problem: Json
    solution: Json
    as_text: bool


def problems() -> dict[str, po.Problem[Any]]:
    """One of each kind of problem, as small as they come."""
    pair = po.JointDistribution([[0.3, 0.2], [0.1, 0.4]])
    three = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]], ["well", "ill"], ["a", "b", "c"])
    coin = po.JointDistribution([[0.4, 0.1], [0.1, 0.4]])
    error = [[0, 1], [1, 0]]
    chain = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]], states=["out", "in"])
    started = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
    rainy = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    line = po.DatasetGraph.line(2, 2)
    family = po.GaussianModel([[1, 0.5], [0.5, 1]])
    return {
        "lip": po.LocalInformationPrivacy(pair, 0.2),
        "lip-two-bounds": po.LocalInformationPrivacy(three, lower=0.5, upper=0.3),
        "lip-symmetric": po.LocalInformationPrivacy(coin, 0.3),
        "lip-distortion": po.LocalInformationPrivacy(pair, 0.2, utility=error),
        "ldp": po.LocalInformationPrivacy(pair, 0.4, notion="ldp"),
        "lip-delta": po.LocalInformationPrivacy(pair, 0.2, delta=0.1),
        "pointwise": po.PointwiseMaximalLeakage(pair, 0.2),
        "pointwise-three": po.PointwiseMaximalLeakage(three, 0.1),
        "pointwise-distortion": po.PointwiseMaximalLeakage(pair, 0.2, utility=error),
        "distortion": po.DistortionPrivacy(pair, error, max_distortion=0.1),
        "distortion-capped": po.DistortionPrivacy(coin, error, max_leakage=0.1),
        "distortion-lip": po.DistortionPrivacy(pair, error, max_distortion=0.2, leakage="lip"),
        "distortion-maximal": po.DistortionPrivacy(pair, error, max_leakage=0.2, leakage="maximal_leakage"),
        "funnel": po.PrivacyFunnel(coin, theta_fraction=0.5),
        "funnel-capped": po.PrivacyFunnel(pair, max_leakage=0.04),
        "funnel-weighed": po.PrivacyFunnel(pair, trade_off=0.2),
        "funnel-merging": po.PrivacyFunnel(three, max_leakage=0.05, form="merging"),
        "bottleneck": po.InformationBottleneck(coin, max_rate=0.2),
        "bottleneck-weighed": po.InformationBottleneck(pair, trade_off=0.1),
        "belief": po.BeliefRelease([0.5, 0.3, 0.2], 0.7),
        "belief-matrix": po.BeliefRelease([0.6, 0.4], 0.5, [[0.0, 1.0, 0.4], [1.0, 0.0, 0.4]]),
        "colouring": po.BoundaryColouring(line, math.log(2)),
        "colouring-delta": po.BoundaryColouring(line, 0.5, 0.05, boundary=None),
        "colouring-worst": po.BoundaryColouring(line, 0.5, boundary=None, objective="worst_case"),
        "redaction": po.Redaction(chain, 3, 0, 0.5),
        "redaction-two": po.Redaction(chain, 4, (0, 3), 0.8, weights=[1.0, 2.0, 1.0, 1.0]),
        "redaction-sequential": po.Redaction(chain, 4, 1, 1.0, form="sequential"),
        "sequence": po.SequenceInformationPrivacy(started, 0.5, horizon=2),
        "noise-group": po.BayesianPrivacy(po.GroupModel(2), "sum", 1.0, clip=(0, 1)),
        "noise-pair": po.BayesianPrivacy(family, "sum", 1.0, clip=(0, 1)),
        "noise-count": po.BayesianPrivacy(rainy, ("count", 1), 1.0, length=3, mechanism="discrete_laplace"),
    }


NAMES = tuple(problems())
"""What the cases are called."""


def cases() -> tuple[Case, ...]:
    """All of them."""
    return tuple(case(name) for name in NAMES)


@cache
def case(name: str) -> Case:
    """A problem with its answer, with its anchor, and with the answer moved half a budget back."""
    problem = problems()[name]
    best = po.solve(problem, time_limit=5.0)
    records = [best]
    for worse in (problem.anchor(), problem.repair(best.mechanism, 0.3)):
        judged = judge(problem, po.Proposal(worse), certify=True)
        if judged.status.ok:
            records.append(replace(judged, solver="by hand", problem=problem.fingerprint))
    written = [json.loads(json.dumps(record.to_dict())) for record in records]
    fields = json.loads(json.dumps(problem.to_dict()))
    return Case(name, fields, tuple(written), claims.attained(fields, written[0]["mechanism"]))


def stored(name: str, problem: Json, solution: Json) -> Case:
    """A case of a record that was stored by others."""
    return Case(name, problem, (solution,), claims.attained(problem, solution["mechanism"]))


# Signing


def sign(problem: Json, solution: Json) -> None:
    """Fingerprints as the library makes them, where it can read the documents."""
    try:
        fingerprint = po.problem_from_dict(problem).fingerprint
        solution["problem"] = solution["certificate"]["problem"] = fingerprint
    except (ArithmeticError, LookupError, TypeError, ValueError):
        pass
    try:
        solution["certificate"]["mechanism"] = mechanism_from_dict(solution["mechanism"]).fingerprint
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass


def restate(rng: random.Random, problem: Json, solution: Json) -> None:
    """Write the true numbers of the mechanism, or such as suit a forger, where the library can read the documents."""
    try:
        read_problem = po.problem_from_dict(problem)
        read = read_problem.evaluate(read_problem.check(mechanism_from_dict(solution["mechanism"])))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return
    leakage = min(read.leakage, read_problem.budget) if rng.random() < 0.5 else read.leakage
    state(problem, solution, read.utility, leakage)


def state(problem: Json, solution: Json, utility: float, leakage: float, bound: float | None = None) -> None:
    """Numbers that follow from each other: objective, enclosures, gap, status and guarantee."""
    read_problem = po.problem_from_dict(problem)
    value = read_problem.objective_of(utility, leakage)
    solution.update(utility=_text(utility), leakage=_text(leakage), objective=_text(value))
    for name, x in (("utility", utility), ("leakage", leakage)):
        solution["certificate"][name] = [
            _text(math.nextafter(x, -math.inf)),
            _text(math.nextafter(x, math.inf)),
        ]
    kept = solution["bound"] if bound is None else bound
    if isinstance(kept, (int, float)) and math.isfinite(value):
        kept = max(float(kept), value)
        gap = kept - value
        best = gap <= max(1e-15, 1e-6 * read_problem.scale(_Numbers(utility, leakage, value)))
        names = ("OPTIMAL", "OPTIMAL") if best else ("GAP", "BOUNDED")
        solution.update(bound=_text(kept), gap=_text(gap), status=names[0], guarantee=names[1])


@dataclass(frozen=True)
class _Numbers:
    utility: float | None
    leakage: float | None
    objective: float | None


def _text(value: float) -> float | str:
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"


# Kinds of corruption: each changes a copy of the documents and says what it did


def a_leaf(rng: random.Random, case: Case, problem: Json, solution: Json) -> str:
    """One to three leaves of the solution."""
    places = [
        p
        for p in leaves(solution)
        if p[0] not in ("stats", "alternatives", "not_proved") or rng.random() < 0.2
    ]
    if rng.random() < 0.4:
        places = [p for p in places if p[0] != "dual"] or places
    told = []
    for path in rng.sample(places, min(len(places), rng.choice((1, 1, 1, 2, 3)))):
        put(solution, path, other_leaf(rng, at(solution, path), solution))
        told.append("/".join(map(str, path)))
    if rng.random() < 0.5:
        sign(problem, solution)
        told.append("signed")
    return " ".join(told)


def a_structure(rng: random.Random, case: Case, problem: Json, solution: Json) -> str:
    """A field or an item deleted, repeated, swapped or replaced by another subtree."""
    inner = sorted({p[:i] for p in leaves(solution) for i in range(1, len(p) + 1)}, key=repr)
    path = rng.choice(inner)
    holder: Any = at(solution, path[:-1])
    last: Any = path[-1]
    kind = rng.choice(("delete", "delete", "repeat", "swap", "graft"))
    if kind == "delete":
        del holder[last]
    elif isinstance(holder, list) and kind == "repeat":
        holder.insert(int(last), copy.deepcopy(holder[int(last)]))
    elif kind == "swap":
        other = rng.choice(list(holder) if isinstance(holder, dict) else list(range(len(holder))))
        holder[last], holder[other] = holder[other], holder[last]
    else:
        holder[last] = copy.deepcopy(at(solution, rng.choice(inner)))
    if rng.random() < 0.5 and isinstance(solution.get("certificate"), dict):
        sign(problem, solution)
    return f"{kind} {'/'.join(map(str, path))}"


def the_weights(rng: random.Random, case: Case, problem: Json, solution: Json) -> str:
    """Probabilities moved between outputs, swapped or scaled; signed again, often with numbers that suit."""
    mechanism = solution["mechanism"]
    rows = mechanism.get("matrix") or mechanism.get("levels") or mechanism.get("probabilities")
    if not rows or not isinstance(rows[0], list):
        places = [
            p
            for p in leaves(mechanism)
            if isinstance(at(mechanism, p), (int, float)) and p[0] not in ("type", "version")
        ]
        path = rng.choice(places)
        put(mechanism, path, other_number(rng, at(mechanism, path)))
        told = f"mechanism {path}"
    else:
        told = _moved(rng, rows, redaction="probabilities" in mechanism)
        if "weights" in mechanism and rng.random() < 0.9:
            mechanism["weights"] = [[math.ceil(v * 2.0**52) for v in row] for row in rows]
    if rng.random() < 0.9:
        sign(problem, solution)
        told += " signed"
    if rng.random() < 0.5:
        restate(rng, problem, solution)
        told += " restated"
    return told


def _moved(rng: random.Random, rows: list[list[Any]], *, redaction: bool) -> str:
    row = rng.choice(rows)
    i, j = (rng.randrange(len(row)) for _ in range(2))
    kind = rng.choice(("swap", "move", "move", "nudge", "rows"))
    if not all(isinstance(v, float) for line in rows for v in line):
        return "nothing"
    if kind == "swap":
        row[i], row[j] = row[j], row[i]
    elif kind == "rows":
        k, m = (rng.randrange(len(rows)) for _ in range(2))
        rows[k], rows[m] = rows[m], rows[k]
    elif kind == "nudge":
        row[i] = min(1.0, math.nextafter(row[i], rng.choice((0.0, 2.0))))
    else:
        mass = row[i] * 10.0 ** rng.choice((-15, -12, -9, -6, -3, -1, 0)) * (1 - rng.random())
        row[i] -= mass
        if not redaction:
            row[j] += mass
    return kind


def the_numbers(rng: random.Random, case: Case, problem: Json, solution: Json) -> str:
    """Several stated numbers changed so that they agree with each other."""
    utility, leakage, bound = solution["utility"], solution["leakage"], solution["bound"]
    kind = rng.choice(("utility", "leakage", "bound", "status", "budget", "enclosure", "pair"))
    by = rng.choice((1e-15, 1e-13, 1e-11, 1e-9, 3e-9, 1e-6, 1e-3, 0.5)) * rng.choice((-1, 1))
    if kind == "utility":
        state(
            problem,
            solution,
            utility * (1 + by) if rng.random() < 0.8 else rng.choice((0.0, 1.0, -1.0, math.inf)),
            leakage,
        )
    elif kind == "leakage":
        state(
            problem,
            solution,
            utility,
            leakage * (1 + by) if rng.random() < 0.8 else rng.choice((0.0, math.inf, 1e-300)),
        )
    elif kind == "bound" and bound is not None:
        lower = (
            bound
            - rng.choice((1.0, 0.5, 1e-2, 1e-6)) * abs(solution["gap"])
            - rng.choice((0.0, 0.0, 1e-15, 1e-10, 1e-6))
        )
        solution["bound"] = lower if rng.random() < 0.5 else max(lower, solution["objective"])
        solution["gap"] = solution["bound"] - solution["objective"]
        if rng.random() < 0.5:
            solution["status"] = solution["guarantee"] = "OPTIMAL"
    elif kind == "budget":
        level = solution["certificate"]["budget"] * (1 + by)
        solution["certificate"]["budget"] = level
    elif kind == "enclosure":
        name = rng.choice(("utility", "leakage"))
        lo, hi = solution["certificate"][name]
        lo, hi = float(lo), float(hi)
        solution["certificate"][name] = [
            _text(x)
            for x in rng.choice(
                (
                    [hi, lo],
                    [lo + by, hi + by],
                    [-math.inf, math.inf],
                    [0.0, 0.0],
                    [hi * (1 + by), hi * (1 + by)],
                )
            )
        ]
    elif kind == "pair":
        solution["certificate"]["worst"] = rng.choice(
            ([], [0, 1], [1, 0], [1, 1], [0, 0], ["out", "in"], ["in", "out"], [2, 0], ["a"])
        )
    else:
        solution["status"] = rng.choice(("OPTIMAL", "GAP", "FEASIBLE"))
        solution["guarantee"] = rng.choice(("OPTIMAL", "BOUNDED", "FEASIBLE", None))
        solution["gap"] = rng.choice((solution["gap"], 0.0, None, 1e-16))
    return f"{kind} {by:g}"


def a_dual(rng: random.Random, case: Case, problem: Json, solution: Json) -> str:
    """A worse answer called optimal: its own objective as the bound, with a hostile proof."""
    worse = copy.deepcopy(rng.choice(case.records))
    for name in ("mechanism", "certificate", "utility", "leakage", "objective"):
        solution[name] = worse[name]
    value = solution["objective"]
    true = case.answer["bound"] if case.answer["bound"] is not None else value
    share = rng.choice((0.0, 0.0, 0.1, 0.5, 0.9, 0.999, 1.0, 1.001))
    bound = value + share * max(true - value, 0.0) + rng.choice((0.0, 1e-15, 1e-13, 1e-10))
    solution.update(bound=bound, gap=bound - value)
    optimal = rng.random() < 0.7 or solution["gap"] < 1e-9
    solution["status"] = "OPTIMAL" if optimal else "GAP"
    solution["guarantee"] = "OPTIMAL" if optimal else "BOUNDED"
    return f"bound at {share:g} of the way, dual {hostile(rng, solution)}"


def hostile(rng: random.Random, solution: Json) -> str:
    """Change the proof of the bound."""
    dual = solution["dual"]
    if not isinstance(dual, (dict, list)):
        solution["dual"] = rng.choice(
            (None, {}, [], {"kind": "level", "tau": 1e300}, {"kind": "analytic"}, 0, "x")
        )
        return "another"
    places = list(leaves(dual))
    numbers = [
        p for p in places if isinstance(at(dual, p), (int, float)) and not isinstance(at(dual, p), bool)
    ]
    kinds = (
        "leaf",
        "leaf",
        "scale",
        "cancel",
        "absorb",
        "absorb",
        "shrink",
        "drop",
        "none",
        "all",
        "zero",
        "nothing",
    )
    kind = rng.choice(kinds)
    if kind == "none" or not numbers:
        return "untouched"
    if kind == "leaf":
        for path in rng.sample(numbers, min(len(numbers), rng.choice((1, 1, 2, 4)))):
            put(dual, path, other_number(rng, at(dual, path)))
    elif kind in ("scale", "shrink"):
        by = 10.0 ** (rng.uniform(1, 300) if kind == "scale" else rng.uniform(-300, 0)) * rng.choice((1, -1))
        part = numbers if rng.random() < 0.5 else [p for p in numbers if p[0] == rng.choice(numbers)[0]]
        for path in part:
            put(dual, path, at(dual, path) * by if isinstance(at(dual, path), float) else at(dual, path))
    elif kind in ("cancel", "absorb"):
        size = 10.0 ** (rng.uniform(8, 19) if rng.random() < 0.8 else rng.uniform(19, 305))
        signs = (1, -1) if kind == "cancel" else (1, 1)
        start = rng.randrange(len(numbers))  # neighbours are often the two sides of one constraint
        chosen = (
            (numbers[start:] + numbers)[:2]
            if rng.random() < 0.5
            else rng.sample(numbers, min(2, len(numbers)))
        )
        for path, sign_ in zip(chosen, signs, strict=False):
            put(dual, path, at(dual, path) + sign_ * size)
    elif kind == "nothing":
        for path in rng.sample(places, min(len(places), rng.choice((1, 2)))):
            put(dual, path, rng.choice((math.nan, math.inf, -math.inf, "nan", None, True, "1e300")))
    elif kind == "drop":
        inner = [p[:i] for p in places for i in range(1, len(p) + 1)]
        path = rng.choice(inner)
        del at(dual, path[:-1])[path[-1]]
    else:
        for path in numbers:
            put(dual, path, 0.0 if kind == "zero" else other_number(rng, at(dual, path)))
    return kind


def the_problem(rng: random.Random, case: Case, problem: Json, solution: Json) -> str:
    """A leaf of the problem, with everything signed again and the numbers sometimes restated."""
    places = [p for p in leaves(problem) if p[0] not in ("type", "version") and "version" not in p]
    floats = [p for p in places if isinstance(at(problem, p), float)]
    path = rng.choice(floats if floats and rng.random() < 0.8 else places)
    value = at(problem, path)
    budgets = [p for p in floats if len(p) == 1]
    if budgets and rng.random() < 0.4:
        path = rng.choice(budgets)
        value = at(problem, path) * rng.choice((1 - 1e-15, 1 - 1e-9, 0.999, 0.9, 0.5, 1.001, 2.0))
        put(problem, path, value)
        solution["certificate"]["budget"] = value
    else:
        put(problem, path, other_leaf(rng, value, problem))
        row = at(problem, path[:-1])
        if (
            isinstance(value, float) and isinstance(row, list) and rng.random() < 0.7
        ):  # what one gains another loses
            new, i = at(problem, path), int(path[-1])
            if isinstance(new, float) and math.isfinite(new) and all(isinstance(v, float) for v in row):
                row[i - 1] += value - new
    try:
        canonical = json.loads(json.dumps(po.problem_from_dict(problem).to_dict()))
        problem.clear()
        problem.update(canonical)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        pass
    if rng.random() < 0.95:
        sign(problem, solution)
    if rng.random() < 0.3:
        restate(rng, problem, solution)
    return f"problem {'/'.join(map(str, path))}"


def the_words(rng: random.Random, case: Case, problem: Json, solution: Json) -> str:
    """What is told and not proved: no claim is broken by it."""
    name = rng.choice(("reason", "solver", "seconds", "stats", "alternatives", "claim", "method", "where"))
    if name in ("claim", "method", "where"):
        solution["certificate"][name] = "other words"
    else:
        solution[name] = {"seconds": 1.5, "stats": {"iterations": 3}, "alternatives": ["none"]}.get(
            name, "other words"
        )
    return name


Kind = Callable[[random.Random, Case, Json, Json], str]
KINDS: dict[Kind, int] = {
    a_leaf: 6,
    a_structure: 2,
    the_weights: 4,
    the_numbers: 5,
    a_dual: 6,
    the_problem: 3,
    the_words: 1,
}


def corruption(case: Case, seed: int) -> Corruption:
    """The corruption of a seed; the same for the same case."""
    rng = random.Random(f"{case.name} {seed}")
    problem = copy.deepcopy(case.problem)
    solution = copy.deepcopy(case.answer if rng.random() < 0.9 else rng.choice(case.records))
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    try:
        told = kind(rng, case, problem, solution)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        told = "nothing"  # the record lacks what this kind changes
    return Corruption(case, f"{kind.__name__}: {told}", problem, solution, rng.random() < 0.5)


# Judging


def outcome(problem: Json, solution: Json, *, as_text: bool = False) -> str:
    """ "accepted", "refused", or what else came of loading and verifying, in words."""
    try:
        with warnings.catch_warnings(), _limited():
            warnings.simplefilter("error")
            read_problem = _read_problem(json.dumps(problem))
            read = parse_json(json.dumps(solution)) if as_text else solution
            return "accepted" if po.verify(read_problem, po.Solution[Any].from_dict(read)).ok else "refused"
    except (
        po.errors.FileRefused,
        po.errors.InvalidMechanism,
        po.errors.InvalidModel,
        po.errors.InvalidProblem,
    ):
        return "refused"
    except Exception as cause:  # noqa: BLE001 - whatever else is raised is what is looked for
        return f"{type(cause).__name__}: {cause}"


@cache
def _read_problem(text: str) -> po.Problem[Any]:
    if _read_problem.cache_info().currsize > 500:
        _read_problem.cache_clear()
    return po.problem_from_dict(json.loads(text))


class _limited:
    """An alarm after some seconds, in the main thread; elsewhere nothing can interrupt."""

    def __enter__(self) -> None:
        self.main = threading.current_thread() is threading.main_thread()
        if self.main:
            self.before = signal.signal(signal.SIGALRM, self._ring)
            signal.alarm(PATIENCE)

    def __exit__(self, *_: object) -> None:
        if self.main:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, self.before)

    @staticmethod
    def _ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"verification takes more than {PATIENCE} s")


@dataclass
class Campaign:
    """What a campaign counted; ``forged`` and ``foreign`` name the seeds."""

    tried: int = 0
    broken: int = 0
    refused: int = 0
    intact_accepted: int = 0
    intact_refused: int = 0
    slowest: float = 0.0
    forged: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.tried} tried, {self.broken} broken, {self.refused} of them refused, {len(self.forged)} accepted; "
            f"{self.intact_accepted} with claims intact accepted, {self.intact_refused} refused; "
            f"{len(self.foreign)} foreign exceptions; slowest {self.slowest:.2f} s"
        )


def campaign(count: int, first: int = 0, of: tuple[Case, ...] | None = None) -> Campaign:
    """Corruptions first .. first + count - 1, the cases in turn."""
    counts, among = Campaign(), of or cases()
    for seed in range(first, first + count):
        one = corruption(among[seed % len(among)], seed)
        # A bound is compared with what is attained only under the very problem; under another it is not known.
        attained = one.case.attained if one.problem == one.case.problem else None
        fault = claims.broken(one.problem, one.solution, attained)
        begun = time.perf_counter()
        came = outcome(one.problem, one.solution, as_text=one.as_text)
        counts.slowest = max(counts.slowest, time.perf_counter() - begun)
        counts.tried += 1
        counts.kinds[one.how.partition(":")[0]] += fault is not None
        told = f"{one.case.name} {seed} ({one.how}): {fault or 'claims intact'}"
        if came not in ("accepted", "refused"):
            counts.foreign.append(f"{told}; {came}")
        elif fault is None:
            counts.intact_accepted += came == "accepted"
            counts.intact_refused += came == "refused"
        else:
            counts.refused += came == "refused"
            if came == "accepted":
                counts.forged.append(told)
        counts.broken += fault is not None
    return counts
