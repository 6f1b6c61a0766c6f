"""Proving a solution again, from the problem and the integer weights alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from privopt.core.certificate import Certificate
from privopt.core.exact import ensure_nearest
from privopt.core.problem import MALFORMED, Enclosure, Problem
from privopt.core.solution import ZERO, Solution, Status, standing
from privopt.core.solver import Guarantee
from privopt.errors import InvalidMechanism, PrivoptError

OUTWARD = "read outward by its last digit"
"""How a claim ends that holds for a budget larger by its last digit only: no record may claim more."""

READING = 1e-12
"""How far a stated number may be outside its proved enclosure, relative to it: what a float reading is good for."""

READING_0_1_0 = 1e-9
"""The same, relative to max(1, number), for records of version 0.1.0, which added allowances instead of rounding outward."""

LOOSEST = 1e-6
"""The widest gap, relative to max(1, |objective|), that version 0.1.0 called optimal."""


def verify(problem: Problem[Any], solution: Solution[Any]) -> Certificate:
    """Prove the claim of a solution afresh, and check every number that it states against what is proved.

    No solver is imported and no float reading is used: the integer weights are certified in exact arithmetic, the bound
    is proved again from its dual, and stated numbers must lie in the proved enclosures. Digits and words are not
    compared, so every machine gives the same verdict. Where a record differs although the claim holds (text, last
    digits, a status under the tolerance of another version) the certificate says so in ``remarks``. Times, statistics
    and alternatives are shown by solutions, and never proved.

    Parameters
    ----------
    problem : Problem
    solution : Solution
        Of this problem, perhaps loaded from a file.

    Returns
    -------
    Certificate
        ``ok`` is False, with the reason, if privacy, the bound, a fingerprint, a stated number or the mechanism does
        not hold.

    Raises
    ------
    InvalidProblem, InvalidMechanism
        If the arguments are not a problem and a solution.
    PrivoptError
        If a library made this processor round in another way, and it cannot be set back.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> po.verify(problem, po.solve(problem)).ok
    True
    """
    if not isinstance(problem, Problem) or not isinstance(solution, Solution):
        raise InvalidMechanism("verify takes a problem and a solution of it")
    ensure_nearest()
    if not solution.status.ok or solution.answer is None:
        return _refused(problem, f"there is no mechanism to verify: {solution.status.name}")
    if solution.problem != problem.fingerprint:
        return _refused(
            problem,
            "the solution answers another problem (its fingerprint differs): was the problem changed?",
        )
    try:
        mechanism = problem.check(solution.answer).validated(solution.answer.simulation_only)
        kept = solution.certificate
        fresh = problem.certify_record(mechanism, old=kept is not None and kept.kind == "")
    except PrivoptError as cause:
        return _refused(problem, f"the mechanism does not fit the problem: {cause}")
    if not fresh.ok:
        return fresh
    columns, known = mechanism.columns, problem.columns
    if columns is not None and known is not None and columns != known.of_mechanism():
        return _refused(
            problem,
            "the mechanism says that it is for other columns, or reads them in another way, than the problem's model",
        )
    check = _Check(problem, solution, fresh)
    if (fault := check.fault()) is not None:
        return replace(fresh, ok=False, reason=fault)
    return replace(fresh, remarks=tuple(check.remarks))


def _refused(problem: Problem[Any], reason: str) -> Certificate:
    return Certificate(
        False, "the solution is what it says", reason, problem.budget, problem=problem.fingerprint
    )


@dataclass
class _Check:
    """What a solution says of itself, against a fresh certificate."""

    problem: Problem[Any]
    solution: Solution[Any]
    fresh: Certificate
    remarks: list[str] = field(default_factory=list)

    def fault(self) -> str | None:
        """The first thing that does not hold, or None; what differs without harm goes to the remarks."""
        stored = self.solution.certificate
        if stored is None:
            return "the solution carries no certificate (it was made with certify=False)"
        return next(
            chain(self._certificate(stored), self._numbers(stored), self._standing(), self._bound()), None
        )

    @property
    def _old(self) -> bool:
        """Whether the record is of version 0.1.0."""
        return self.solution.certificate is not None and self.solution.certificate.kind == ""

    def _certificate(self, stored: Certificate) -> Iterator[str]:
        fresh = self.fresh
        if stored.mechanism != fresh.mechanism:
            yield "the mechanism is not the one that was certified (its fingerprint differs): a changed weight or label?"
        if stored.problem != fresh.problem:
            yield "the certificate is of another problem (its fingerprint differs)"
        if not stored.ok:
            yield "the stored certificate says that nothing is proved"
        if stored.budget != fresh.budget:
            yield f"the certificate states the budget {stored.budget!r}, the problem's is {fresh.budget!r}"
        if stored.confidence != fresh.confidence:
            yield f"the certificate states the confidence {stored.confidence!r}, that of the problem's set is {fresh.confidence!r}"
        if bool(stored.distributions) != bool(fresh.distributions):
            yield "the certificate is for one distribution where the problem has a set of them, or the other way round"
        if fresh.claim.endswith(OUTWARD) and not stored.claim.endswith(OUTWARD) and not self._old:
            yield f"the certificate claims {stored.claim!r}, proved is no more than {fresh.claim!r}"
        if stored.worst != fresh.worst and (stored.worst or not self._old):
            yield from self._pair(stored)
        words = (
            "claim",
            "reason",
            "where",
            "method",
            "assumption",
            "kind",
            "statement",
            "adversary",
            "unit",
            "leakage_unit",
            "distributions",
        )
        changed = [name for name in words if getattr(stored, name) != getattr(fresh, name)]
        if stored.uncovered != fresh.uncovered:
            changed.append("uncovered")
        if changed and not self._old:
            self.remarks.append(
                f"the stored certificate words {', '.join(changed)} in another way; not believed"
            )
        elif changed:
            self.remarks.append("the certificate was written by version 0.1.0; what holds is said here")

    def _pair(self, stored: Certificate) -> Iterator[str]:
        """Any of the pairs that leak most will do."""
        tied = self.problem.is_worst(self.solution.mechanism, stored.worst, stored.where)
        if tied is False:
            yield f"the stated worst pair {stored.worst!r} is not the one that leaks most, {self.fresh.worst!r}"
        if tied is None:
            self.remarks.append(
                f"the stated worst pair {stored.worst!r} is not proved; {self.fresh.worst!r} is"
            )

    def _numbers(self, stored: Certificate) -> Iterator[str]:
        """Stated numbers and stored enclosures against the proved ones; infinities count as what they are."""
        for name, value, kept, proved in (
            ("utility", self.solution.utility, stored.utility, self.fresh.utility),
            ("leakage", self.solution.leakage, stored.leakage, self.fresh.leakage),
        ):
            if (
                name == "leakage"
                and self._old
                and self.fresh.budget == math.inf
                and kept == (0.0, 0.0)
                and value == 0
            ):
                self.remarks.append("version 0.1.0 called the leakage 0 where nothing bounds it")
                continue
            if not kept[0] <= kept[1] or not _overlap(kept, proved, READING_0_1_0 if self._old else 0.0):
                yield f"the certificate encloses the {name} in {_shown(kept)}, proved is {_shown(proved)}"
            if name == "leakage" and self.fresh.only_bounded:
                least = proved[1] - self._room(proved[1])
                if kept[1] < least or (value is not None and value < least):
                    yield f"the stated leakage is below {proved[1]!r}, and no smaller one is proved"
            if value is None:
                yield f"the solution states no {name}"
            elif not _near(value, proved, READING, 0.0):
                if not self._old or not _near(value, proved, READING_0_1_0, 1.0):
                    yield f"the stated {name} {value!r} is not in {_shown(proved)}"
                self.remarks.append(
                    f"the stated {name} {value!r} is outside {_shown(proved)} by its last digits"
                )
        if self.fresh.utility[1] - self.fresh.utility[0] > LOOSEST * max(1.0, abs(self.fresh.utility[0])):
            self.remarks.append(
                f"the utility is proved to be in {_shown(self.fresh.utility)} only; it was simulated"
            )

    def _room(self, proved: float) -> float:
        """What a stated number may be off by."""
        return READING_0_1_0 * max(1.0, abs(proved)) if self._old else READING * abs(proved)

    def _standing(self) -> Iterator[str]:
        """A stated objective, gap, status or guarantee that is not so."""
        s, problem = self.solution, self.problem
        if s.objective is None or s.utility is None or s.leakage is None:
            yield "the solution states no objective"
            return
        if s.objective != problem.objective_of(s.utility, s.leakage):
            follows = problem.objective_of(s.utility, s.leakage)
            yield f"the stated objective {s.objective!r} does not follow from the utility and the leakage: {follows!r} does"
        if s.bound is not None and not (s.bound >= s.objective or self._excused(s.objective - s.bound)):
            yield f"the stated bound {s.bound!r} is below the objective {s.objective!r}: it refutes the record"
            return
        least = None if s.bound is None else max(s.bound, s.objective)
        gap, status, guarantee = standing(s.objective, least, problem.scale(s))
        if (s.gap, s.status, s.guarantee) == (gap, status, guarantee):
            return
        if gap is None or s.gap is None:
            if (s.gap, s.status, s.guarantee) != (gap, status, guarantee):
                yield self._unfounded(gap, status, guarantee)
            return
        if not _near(s.gap, (gap, gap), READING, ZERO) or not self._same_standing(gap, status):
            yield self._unfounded(gap, status, guarantee)
        self.remarks.append(
            f"it is called {s.status.name} with gap {s.gap!r}; it is {status.name} with gap {gap!r}"
        )

    def _unfounded(self, gap: float | None, status: Status, guarantee: Guarantee) -> str:
        s = self.solution
        stated, follows = (
            f"{a!r}, {b.name}, {c.name if c else None}"
            for a, b, c in ((s.gap, s.status, s.guarantee), (gap, status, guarantee))
        )
        return (
            "the stated gap, status and guarantee do not follow from the objective and the bound: "
            f"{stated} is stated, {follows} follows"
        )

    def _same_standing(self, gap: float, status: Status) -> bool:
        """Whether the stated status and guarantee are weaker, or those of the tolerance of version 0.1.0."""
        s = self.solution
        pairs = {
            Status.OPTIMAL: Guarantee.OPTIMAL,
            Status.GAP: Guarantee.BOUNDED,
        }
        stronger = s.status is Status.OPTIMAL and status is not Status.OPTIMAL
        allowed = self._old and gap <= LOOSEST * max(1.0, abs(s.objective or 0.0))
        return s.status in pairs and pairs[s.status] is s.guarantee and (allowed or not stronger)

    def _bound(self) -> Iterator[str]:
        """A stated bound that its dual does not prove."""
        stated = self.solution.bound
        if stated is None:
            return
        ends = self.problem.proved_bound(self.solution.dual) if math.isfinite(stated) else None
        proved = None if ends is None else ends[1]  # without the room that was left for other machines
        if proved is not None and proved <= stated:
            return
        if self._old and self._held(stated):
            self.remarks.append(
                f"the bound {stated!r} is for every mechanism that version 0.1.0 called private; it is none by today's leakage, which is smaller"
            )
            return
        if proved is None or not self._excused(proved - stated):
            what = "nothing" if proved is None else repr(proved)
            yield f"the stated bound {stated!r} is not proved by its dual, which proves {what}"
        self.remarks.append(f"the bound is proved to be {proved!r}, not {stated!r}")

    def _held(self, stated: float) -> bool:
        """Whether a stated bound is proved by the claim of version 0.1.0."""
        try:
            ends = self.problem.proved_bound_0_1_0(self.solution.dual)
        except MALFORMED:
            return False
        return ends is not None and ends[1] <= stated and math.isfinite(stated)

    def _excused(self, excess: float) -> bool:
        """Whether a record of version 0.1.0 is off by no more than its allowances."""
        return self._old and excess <= READING_0_1_0 * max(1.0, abs(self.solution.bound or 0.0))


def _near(value: float, ends: Enclosure, relative: float, unit: float) -> bool:
    """Whether a finite value is in an enclosure or misses it by a share of its size; inf only if inf is proved."""
    lo, hi = ends
    if math.isinf(value) or math.isinf(lo) or math.isinf(hi):
        return lo <= value <= hi and (math.isfinite(value) or lo == hi or value in (lo, hi))
    room = relative * max(unit, abs(lo), abs(hi))
    return lo - room <= value <= hi + room


def _overlap(kept: Enclosure, proved: Enclosure, relative: float) -> bool:
    """Whether two enclosures have a number in common, or nearly so."""
    lo, hi = (
        end if math.isinf(end) else end + side * relative * abs(end)
        for end, side in zip(proved, (-1, 1), strict=True)
    )
    return kept[0] <= hi and lo <= kept[1]


def _shown(ends: Enclosure) -> str:
    return f"[{ends[0]!r}, {ends[1]!r}]"
