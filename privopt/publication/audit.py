"""What a mechanism leaks under a table that it was not computed from, with an interval for the population of that table."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.problem import Enclosure, Problem
from privopt.core.reformulation import Reformulation
from privopt.core.words import NATS, measured
from privopt.errors import InvalidModel, InvalidProblem, NotSolved
from privopt.files.labels import Label
from privopt.files.numbers import encode_float
from privopt.files.text import html_table, number
from privopt.measures.shannon import mutual_information
from privopt.measures.sibson import sibson_mutual_information
from privopt.mechanisms import Mechanism
from privopt.models import JointAmbiguity, JointDistribution
from privopt.models.channel_data import Release
from privopt.models.columns import TableColumns
from privopt.problems.distortion_privacy.data import ORDERS, DistortionData
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.divergences import NOTIONS, readings
from privopt.problems.local_information_privacy.leakage import excesses
from privopt.problems.trade_off.data import TradeOffData
from privopt.publication._audit_ends import Pooled, Side, ends, pooled
from privopt.publication.explain import Judged
from privopt.publication.holdout import UNSEEN, Cells, count, described, nominal_joint, same_counts
from privopt.publication.people import eager
from privopt.publication.released import few
from privopt.publication.words import one, plain, share

METHODS = {
    "clopper-pearson": "Clopper-Pearson bounds of every probability, rows taken for independent draws",
    "weissman": "balls of total variation by Weissman et al., rows taken for independent draws",
}
SAME = (
    "these are the very counts that the model was made from: such an audit finds what the certificate says; give rows that the "
    "mechanism was not computed from"
)
VERDICTS = {
    "kept": "the population keeps the budget",
    "broken": "the population is beyond the budget",
    "open": "these rows do not decide whether the population keeps the budget",
    "none": "there is no interval, so nothing is said of the population",
}


@dataclass(frozen=True)
class Audit:
    """The leakage of a mechanism under other rows than those it was computed from.

    Parameters
    ----------
    rows, dropped, unseen : int
        Rows that were counted, and rows left out: with missing values, and with values that the mechanism does not read.
    budget : float
        What the certificate bounds.
    leakage : float
        If the population were spread as these rows: a reading, not a proof.
    interval : (lo, hi) or None
        Holds the leakage in the population with the confidence, whatever its distribution.
    confidence : float
    method : str
        How the interval was made, or why there is none.
    verdict : "kept", "broken", "open" or "none"
        Whether the interval is within the budget, beyond it, on both sides, or missing.
    beyond : float or None
        Share of these rows whose release says more about their secret than the budget, of problems that bound ratios.
    worst : tuple of labels
        The value of the secret and the release that leak most under these rows.
    fewest_of_release, fewest_of_pair : (rows, labels)
        Rows expected behind the rarest release, and behind the rarest pair of a secret and a release.
    remarks : tuple of str
    leakage_unit : str
        Of budget, leakage and interval; empty for plain numbers.

    Examples
    --------
    >>> import pandas as pd, privopt as po
    >>> people = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 50, "age": ["young", "old", "old", "old"] * 50})
    >>> problem = po.LocalInformationPrivacy(po.JointDistribution.from_frame(people, "vote", "age"), 0.3)
    >>> others = pd.DataFrame({"vote": ["a", "b"] * 100, "age": ["young", "old", "young", "young"] * 50})
    >>> told = po.solve(problem).audit(others)
    >>> told.rows, told.verdict, told.leakage < told.interval[1]
    (200, 'broken', True)
    """

    rows: int
    dropped: int
    unseen: int
    budget: float
    leakage: float
    interval: Enclosure | None
    confidence: float
    method: str
    verdict: str
    beyond: float | None
    worst: tuple[Hashable, ...]
    fewest_of_release: tuple[float, tuple[Hashable, ...]]
    fewest_of_pair: tuple[float, tuple[Hashable, ...]]
    remarks: tuple[str, ...] = ()
    leakage_unit: str = NATS

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the certificate: the interval is not beyond the budget."""
        return self.verdict != "broken"

    def facts(self) -> list[tuple[str, str]]:
        """What there is to say, each with its name."""
        left = [
            f"{many} left out {why}"
            for many, why in (
                (self.dropped, "for missing values"),
                (self.unseen, "that the mechanism does not read"),
            )
            if many
        ]
        said = [
            ("verdict", f"{VERDICTS[self.verdict]} ({measured(plain(self.budget), self.leakage_unit)})"),
            ("rows", "; ".join([str(self.rows), *left])),
            (
                "leakage",
                f"{measured(number(self.leakage, 4), self.leakage_unit)} if the population is spread as these rows{self._at()}",
            ),
            ("interval", self._interval()),
        ]
        if self.beyond is not None:
            said.append(
                (
                    "beyond",
                    f"{share(self.beyond)} of these rows get a release that says more about their secret than the budget",
                )
            )
        for name, (many, labels) in (
            ("rarest release", self.fewest_of_release),
            ("rarest pair", self.fewest_of_pair),
        ):
            said.append((name, f"{_rows(many)} expected behind {_named(labels)}"))
        return [*said, *(("remark", text) for text in self.remarks)]

    def sentences(self) -> list[str]:
        """The same, a sentence each.

        Examples
        --------
        >>> Audit(90, 0, 0, 0.1, 0.25, (0.0, 1.5), 0.95, "bounds", "open", 0.1, ("a", 0), (9.0, (0,)), (1.0, ("a", 0))).sentences()[0]
        'Verdict: these rows do not decide whether the population keeps the budget (0.1 nats).'
        """
        return [f"{name.capitalize()}: {text}." for name, text in self.facts()]

    def _at(self) -> str:
        return f", most for {_named(self.worst)}" if self.worst else ""

    def _interval(self) -> str:
        if self.interval is None:
            return f"none: {self.method}"
        low, high = self.interval
        ends = measured(f"{number(low, 4)} to {number(high, 4)}", self.leakage_unit)
        return (
            f"{ends} in the population that these rows were drawn from, at confidence "
            f"{self.confidence:g} ({self.method})"
        )

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def _repr_html_(self) -> str:
        return html_table(self.facts())

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        return {
            "verdict": self.verdict,
            "ok": self.ok,
            "rows": self.rows,
            "dropped": self.dropped,
            "unseen": self.unseen,
            "budget": encode_float(self.budget),
            "leakage": encode_float(self.leakage),
            "interval": None if self.interval is None else [encode_float(end) for end in self.interval],
            "confidence": self.confidence,
            "method": self.method,
            "beyond": self.beyond,
            "worst": [one(label) for label in self.worst],
            "rarest_release": _written(self.fewest_of_release),
            "rarest_pair": _written(self.fewest_of_pair),
            "remarks": list(self.remarks),
        }


def _rows(many: float) -> str:
    return f"{number(many, 3)} row{'' if many == 1 else 's'}"


def _named(labels: Sequence[Hashable]) -> str:
    """A release, or a value of the secret with a release."""
    names = [one(label) for label in labels]
    return (
        f"the release {names[0]!r}"
        if len(names) == 1
        else f"the secret {names[0]!r} with the release {names[1]!r}"
    )


def _written(fewest: tuple[float, tuple[Hashable, ...]]) -> dict[str, Any]:
    return {"rows": fewest[0], "of": [one(label) for label in fewest[1]]}


def audit(
    problem: Problem[Any] | None,
    solution: Judged,
    frame: object,
    *,
    secret: str | Sequence[str] = (),
    columns: str | Sequence[str] = (),
    confidence: float = 0.95,
    method: str = "clopper-pearson",
    unseen: str = "refuse",
) -> Audit:
    """What the mechanism of a solution leaks under other rows, with an interval for their population.

    The rows must be independent draws from the population, and none of those that the model was counted from. Symbols that
    the mechanism treats alike are counted together; then each probability of them given each value of the secret, and of the
    secret, is bounded from its count, what may be missed shared out over all of them. The interval holds the leakage of every
    distribution within these bounds.

    Parameters
    ----------
    problem : Problem
        About a table: local information privacy, pointwise maximal leakage, distortion, funnel, bottleneck.
    solution : Solution
    frame : pandas or Polars frame
        With the columns of the secret and those that the mechanism reads, as raw values or labels.
    secret, columns : str or sequence of str
        Their names, where the model does not remember them.
    confidence : float
        Between 0 and 1.
    method : {"clopper-pearson", "weissman"}
    unseen : "refuse" or "drop"
        Rows whose values the mechanism does not read, and which are never released: an error, or left out.

    Raises
    ------
    InvalidProblem
        If there is no problem at hand, it is not about a table, or an argument is out of its range.
    InvalidModel
        If columns are missing, or a row does not fit; its cells are private and are not quoted.
    NotSolved
        If there is no mechanism.
    """
    terms, posed = Terms(confidence, method, unseen), posed_problem(problem, solution)
    known = described(nominal_joint(posed), _names(secret), _names(columns))
    data = eager(frame)
    needed = (*known.secret_names, *known.reads_names)
    lacking = [name for name in needed if name not in data.columns]
    if lacking:
        raise InvalidModel(f"there is no column {lacking[0]!r}; there are {few(list(data.columns))}")
    cells = {name: data[name].to_list() for name in needed}
    return audit_cells(posed, solution, known, cells, terms)


@dataclass(frozen=True)
class Terms:
    """How an audit is made: the confidence and kind of its interval, what becomes of rows that are not read, whether cells are text."""

    confidence: float = 0.95
    method: str = "clopper-pearson"
    unseen: str = "refuse"
    text: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InvalidProblem(
                f"confidence is {self.confidence!r}: give a number between 0 and 1, such as 0.95"
            )
        for name, value, known in (("method", self.method, METHODS), ("unseen", self.unseen, UNSEEN)):
            if value not in known:
                raise InvalidProblem(f"{name} is {value!r}: choose {' or '.join(map(repr, known))}")


def posed_problem(problem: Problem[Any] | None, solution: Judged) -> Problem[Any]:
    """The problem of a solution.

    Raises
    ------
    InvalidProblem
        If there is none at hand, or it is another one.
    """
    if problem is None:
        raise InvalidProblem(
            "a solution from a file does not hold its problem: give the problem that was solved, as problem="
        )
    if solution.problem and solution.problem != problem.fingerprint:
        raise InvalidProblem(
            "the solution answers another problem (its fingerprint differs); give the one that was solved"
        )
    return problem


def audit_cells(
    problem: Problem[Any], solution: Judged, columns: TableColumns, cells: Cells, terms: Terms
) -> Audit:
    """:func:`audit` of columns of cells."""
    joint = nominal_joint(problem)
    data, mechanism = _target(problem, solution)
    release: Release = data.check(mechanism)
    seen = count(joint, columns, cells, terms.unseen, terms.text)
    merged = pooled(seen.table, release)
    told = np.asarray(merged.counts @ merged.release.matrix)
    sides, level = _sides(data, solution)
    interval, how = _interval(data, release, seen.table, merged, sides, terms)
    leakage, worst = _reading(data, told, sides, joint, release)
    return Audit(
        rows=int(seen.table.sum()),
        dropped=seen.dropped,
        unseen=seen.unseen,
        budget=level,
        leakage=leakage,
        interval=None if not interval else (max(a for a, _ in interval), max(b for _, b in interval)),
        confidence=terms.confidence,
        method=how,
        verdict=_verdict(interval, [side.budget for side in sides] or [level]),
        beyond=_beyond(told, sides) if sides else None,
        worst=_as_written(worst, release),
        fewest_of_release=_fewest(told.sum(axis=0, keepdims=True), (), release),
        fewest_of_pair=_fewest(told, joint.sensitive, release),
        remarks=(SAME,) if joint.columns is not None and same_counts(joint, seen.table) else (),
        leakage_unit=problem.leakage_unit,
    )


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _target(problem: Problem[Any], solution: Judged) -> tuple[Problem[Any], Any]:
    """What a reformulation stands for, with the mechanism in its terms."""
    if solution.answer is None:
        raise NotSolved(f"there is no mechanism to audit: {solution.reason or 'it was not solved'}")
    data: Problem[Any] = problem
    mechanism: Mechanism = solution.answer
    while isinstance(data, Reformulation):
        mechanism, data = data.posed(mechanism), data.target
    return data, mechanism


def _sides(data: Problem[Any], solution: Judged) -> tuple[list[Side], float]:
    """The bounds on ratios that a problem keeps, none where it bounds something else; and the level that was certified."""
    certified = math.inf if solution.certificate is None else solution.certificate.leakage[1]
    if isinstance(data, DistortionData):
        level = certified if data.max_leakage is None else data.max_leakage
        ratios = data.leakage in ("lip", "ldp")
        return ([Side(data.leakage, True, True, level)] if ratios else []), level
    if not isinstance(data, LocalInformationPrivacyData):
        return [], certified
    if data.per_value is not None or data.notion in NOTIONS:
        return [], data.budget
    if data.lower == data.upper or data.notion == "ldp":
        return [Side(data.notion, True, True, data.budget)], data.budget
    each = ((True, False, data.lower), (False, True, data.upper))
    return [Side("lip", below, above, level) for below, above, level in each if level < math.inf], data.budget


def _interval(
    data: Problem[Any], release: Release, counts: Ints, merged: Pooled, sides: Sequence[Side], terms: Terms
) -> tuple[list[Enclosure], str]:
    """The ends for each side, none where the problem has no leakage over a set; and how they were made, or why there are none."""
    made = METHODS.get(terms.method, terms.method)
    if sides and not _delta(data):
        return [ends(merged, side, terms.confidence, terms.method) for side in sides], made
    joint = nominal_joint(data)
    near = JointAmbiguity.from_counts(counts, terms.confidence, terms.method, joint.sensitive, joint.useful)
    try:
        return [(0.0, data.robust_level(release, near)[1])], made
    except InvalidProblem as cause:
        return [], str(cause)


def _verdict(interval: Sequence[Enclosure], budgets: Sequence[float]) -> str:
    if not interval:
        return "none"
    if any(low > budget for (low, _), budget in zip(interval, budgets, strict=True)):
        return "broken"
    kept = all(high <= budget for (_, high), budget in zip(interval, budgets, strict=True))
    return "kept" if kept else "open"


def _reading(
    data: Problem[Any], told: Floats, sides: Sequence[Side], joint: JointDistribution, release: Release
) -> tuple[float, tuple[Hashable, ...]]:
    """The leakage of rows by secret and release, with the pair that leaks most where single pairs leak."""
    occurs = np.ix_(told.sum(axis=1) > 0, told.sum(axis=0) > 0)
    table = told[occurs] / told.sum()
    if isinstance(data, DistortionData) and not sides:
        order = data.alpha if data.leakage == "sibson" else ORDERS[data.leakage]
        return sibson_mutual_information(table, float(order or 1.0), normalise=True), ()
    if not sides and isinstance(data, TradeOffData):
        return mutual_information(table, normalise=True), ()
    if isinstance(data, LocalInformationPrivacyData) and data.notion in NOTIONS:
        values = readings(data.notion, table)
        seen = [y for y, n in zip(release.outputs, told.sum(axis=0), strict=True) if n]
        return float(values.max()), (seen[int(np.argmax(values))],)
    if isinstance(data, LocalInformationPrivacyData) and data.per_value is not None:
        excess = np.where(
            np.outer(told.sum(axis=1), told.sum(axis=0)) > 0, excesses(data, told / told.sum()), -np.inf
        )
        s, y = np.unravel_index(int(np.argmax(excess)), excess.shape)
        return float(excess[s, y]), (joint.sensitive[int(s)], release.outputs[int(y)])
    if not sides and isinstance(data, LocalInformationPrivacyData):
        sides = [Side(data.notion, True, True, data.budget)]
    excess = np.max([_excess(told, side) for side in sides], axis=0)
    if delta := _delta(data):
        ranked = np.argsort(-excess, axis=None)
        passed = np.cumsum(told.ravel()[ranked]) > delta * told.sum()
        excess = np.where(np.isin(np.arange(told.size), ranked[passed]).reshape(told.shape), excess, -np.inf)
    s, y = np.unravel_index(int(np.argmax(excess)), excess.shape)
    largest = max(0.0, float(excess[s, y]))
    return largest, (joint.sensitive[int(s)], release.outputs[int(y)]) if largest else ()


def _delta(data: Problem[Any]) -> float:
    """The share of releases that a problem lets say more than its budget."""
    return data.delta if isinstance(data, LocalInformationPrivacyData) else 0.0


def _excess(told: Floats, side: Side) -> Floats:
    """How far each pair of a secret and a release is from telling nothing, in nats; -inf where it counts for nothing."""
    of_s, of_y = told.sum(axis=1, keepdims=True), told.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        given = told / of_s
        if side.notion == "ldp":
            least = np.min(np.where(of_s > 0, given, np.inf), axis=0, keepdims=True)
            logs = np.where(told > 0, np.log(given) - np.log(least), -np.inf)
        else:
            lift = np.log(given) - np.log(of_y / told.sum())
            logs = np.maximum(lift if side.above else -np.inf, -lift if side.below else -np.inf)
    return np.asarray(np.where((of_s > 0) & (of_y > 0), logs, -np.inf))


def _beyond(told: Floats, sides: Sequence[Side]) -> float:
    """The share of rows whose release says more about their own secret than a budget."""
    over = np.any([_excess(told, side) > side.budget for side in sides], axis=0)
    return float(told[over].sum() / told.sum())


def _fewest(told: Floats, secrets: Sequence[Label], release: Release) -> tuple[float, tuple[Hashable, ...]]:
    """The least entry of those releases that there are, with its names."""
    never = np.asarray(release.matrix).max(axis=0) == 0
    s, y = np.unravel_index(int(np.argmin(np.where(never, np.inf, told))), told.shape)
    named = (secrets[int(s)],) if secrets else ()
    return float(told[s, y]), _as_written((*named, release.outputs[int(y)]), release)


def _as_written(labels: Sequence[Hashable], release: Release) -> tuple[Hashable, ...]:
    """Labels of which the last is of a release, which is named as the released table names it."""
    if not labels or release.columns is None:
        return tuple(labels)
    cells = dict(zip(release.outputs, release.cells, strict=True))[labels[-1]]
    return (*labels[:-1], cells[0] if len(cells) == 1 else cells)
