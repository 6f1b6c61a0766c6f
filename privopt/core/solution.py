"""Solutions: proposals that were judged."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Self

from privopt.core.certificate import Certificate
from privopt.core.problem import M, Problem
from privopt.core.solver import Guarantee
from privopt.core.words import NATS, measured
from privopt.errors import FileRefused, InvalidProblem, NotSolved
from privopt.files.numbers import decode_float, encode_float
from privopt.files.text import Named, html_table, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privopt.proof.write import Proof
    from privopt.publication.audit import Audit
    from privopt.publication.explain import Explanation

FORMAT = "privopt/solution"
VERSION = 2


class Status(Named, Enum):
    """How a problem ended. The value is advice to the user; ask ``status.ok``."""

    OPTIMAL = "Solved to optimality: the checked bound meets the objective."
    GAP = "Solved. A better answer may exist, at most by the gap: that is proved. A larger time limit may close it."
    FEASIBLE = "Solved: private and judged, but nothing bounds what a better mechanism could do."
    INFEASIBLE = "No mechanism satisfies the constraint. Raise the budget or drop a requirement."
    TIME_OUT = "The time limit came before an answer. Raise the limit (time_limit, --time-limit) or choose a faster solver."
    NOT_PRIVATE = "The proposal breaks the privacy budget and was not repaired. Choose another solver."
    FAILED = "The solver failed. The reason says how; choose another solver."
    REFUSED = "The solver does not take this instance. The reason says why; see candidates(problem)."

    @property
    def ok(self) -> bool:
        """Whether there is a mechanism."""
        return self in (Status.OPTIMAL, Status.GAP, Status.FEASIBLE)


TOLERANCE = 1e-6
"""A checked gap up to this, relative to the problem's scale, counts as optimal."""

ZERO = 1e-15
"""A gap up to this counts as none, whatever the scale."""


def standing(objective: float, bound: float | None, scale: float) -> tuple[float | None, Status, Guarantee]:
    """Gap, status and guarantee of a judged objective under a checked bound, or under none.

    A negative scale says that the objective is not proved: then no gap counts as optimal.

    Raises
    ------
    ValueError
        If the bound is below the objective: one of them is wrong.

    Examples
    --------
    >>> standing(-2e-7, 0.0, 2e-7)[1].name, standing(0.5, 0.5 + 4e-7, 0.5)[1].name
    ('GAP', 'OPTIMAL')
    """
    if bound is None:
        return None, Status.FEASIBLE, Guarantee.FEASIBLE
    if not bound >= objective:
        raise ValueError(f"a mechanism reaches {objective!r}, above the bound {bound!r}")
    gap = bound - objective
    if scale >= 0 and gap <= max(ZERO, TOLERANCE * scale) and gap < math.inf:
        return gap, Status.OPTIMAL, Guarantee.OPTIMAL
    return gap, Status.GAP, Guarantee.BOUNDED


@dataclass(frozen=True)
class Solution(Generic[M]):
    """A solution: a judged answer. The numbers are those of the quantised mechanism that will be sampled.

    Parameters
    ----------
    status : Status
    answer : Mechanism or None
        Use :attr:`mechanism`, which raises where there is none.
    reason : str
        Why it ended so, in a sentence.
    utility, leakage, objective : float or None
        None for a solution that is not ok: nothing that failed looks like a number.
    bound, gap : float or None
        Checked upper bound on the objective, and bound - objective; None where nothing was proved.
    certificate : Certificate or None
    solver : str
    guarantee : Guarantee or None
        Computed from the checked gap, not claimed by the solver.
    seconds : float
    stats : mapping
        What the solver and the judge counted: iterations, repairs, raw leakage, claimed bounds. Shown, not proved.
    alternatives : tuple of str
        Who else could, who refused and why. Shown, not proved.
    problem : str
        Fingerprint of the problem.
    dual : JSON-able
        The proof of the bound, for ``problem.check_bound``.
    instance : Problem, optional
        The problem itself, for :meth:`explain` and :meth:`plot`; in memory only, never in a file.
    """

    status: Status
    answer: M | None = None
    reason: str = ""
    utility: float | None = None
    leakage: float | None = None
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    certificate: Certificate | None = None
    solver: str = ""
    guarantee: Guarantee | None = None
    seconds: float = 0.0
    stats: Mapping[str, float | int | str] = field(default_factory=dict)
    alternatives: tuple[str, ...] = ()
    problem: str = ""
    dual: object = None
    instance: Problem[M] | None = field(default=None, repr=False, compare=False)

    @property
    def mechanism(self) -> M:
        """The mechanism; raises NotSolved and says why where there is none."""
        if not self.status.ok or self.answer is None:
            raise NotSolved(f"there is no mechanism: {self.status.name}: {self.reason or self.status.value}")
        return self.answer

    @property
    def certified(self) -> bool:
        """Whether an exact certificate proves the claim."""
        return self.certificate is not None and self.certificate.ok

    @property
    def leakage_unit(self) -> str:
        """Of the leakage, by the certificate, or by the problem where nothing is certified; empty for a plain number."""
        if self.certificate is not None:
            return self.certificate.leakage_unit
        return NATS if self.instance is None else self.instance.leakage_unit

    def __str__(self) -> str:
        if not self.status.ok:
            return f"{self.status.name} by {self.solver or 'no solver'}: {self.reason or self.status.value}"
        gap = "no bound" if self.gap is None else f"gap {number(self.gap, 3)}"
        proof = "certified" if self.certified else "NOT certified"
        lost = self.stats.get("utility_lost_by_repair", 0.0)
        if isinstance(lost, float) and lost > TOLERANCE * max(ZERO, abs(self.utility or 0.0)):
            proof += f", REPAIRED at a loss of {number(lost, 3)} in utility"
        return (
            f"{self.status.name} by {self.solver}: utility {number(self.utility)}, leakage "
            f"{measured(number(self.leakage), self.leakage_unit)}, "
            f"{gap}, {proof}, {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"Solution({self})"

    def _repr_html_(self) -> str:
        names = ("status", "reason", "solver", "guarantee", "utility", "leakage", "objective", "bound", "gap")
        rows: list[tuple[str, object]] = [(name, getattr(self, name)) for name in names]
        rows += [
            ("certificate", line) for line in (self.certificate.sentences() if self.certificate else ["none"])
        ]
        rows += [("seconds", number(self.seconds, 3))]
        return html_table(rows + [("alternative", line) for line in self.alternatives])

    def explain(self, problem: Problem[M] | None = None) -> Explanation:
        """What this solution means, in at most eight plain sentences, as text, as a page or as a PDF.

        A solution from a file needs its ``problem``; one of :func:`privopt.solve` knows it.

        Raises
        ------
        InvalidProblem
            If there is no problem at hand, or it is another one.

        Examples
        --------
        >>> import privopt as po
        >>> solution = po.solve(po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0))
        >>> len(solution.explain().sentences) <= 8
        True
        """
        from privopt.publication.explain import explain

        return explain(self.instance if problem is None else problem, self)

    def plot(self, problem: Problem[M] | None = None) -> Figure:
        """A picture of the mechanism, as a figure of matplotlib.

        Raises
        ------
        InvalidProblem
            If there is no problem at hand.
        MissingExtra
            If matplotlib is not installed.
        """
        from privopt.plots.mechanisms import mechanism_figure

        posed = self.instance if problem is None else problem
        if posed is None:
            raise InvalidProblem("a solution from a file does not hold its problem: give it as plot(problem)")
        return mechanism_figure(posed, self.mechanism)

    def audit(
        self,
        frame: object,
        problem: Problem[M] | None = None,
        *,
        secret: str | Sequence[str] = (),
        columns: str | Sequence[str] = (),
        confidence: float = 0.95,
        method: str = "clopper-pearson",
        unseen: str = "refuse",
    ) -> Audit:
        """What the mechanism leaks under other rows of the population than those it was computed from, with an interval.

        See :func:`privopt.publication.audit.audit`; a solution from a file needs its ``problem``.

        Raises
        ------
        InvalidProblem
            If there is no problem at hand, it is another one, or it is not about a table.
        InvalidModel
            If a column is missing or a row does not fit.

        Examples
        --------
        >>> import pandas as pd, privopt as po
        >>> people = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 50, "age": ["young", "old", "old", "old"] * 50})
        >>> solution = po.solve(po.LocalInformationPrivacy(po.JointDistribution.from_frame(people, "vote", "age"), 0.3))
        >>> solution.audit(people[:80]).rows
        80
        """
        from privopt.publication.audit import audit

        return audit(
            self.instance if problem is None else problem, self, frame, secret=secret, columns=columns,
            confidence=confidence, method=method, unseen=unseen,
        )  # fmt: skip

    def prove(self, path: str | os.PathLike[str], problem: Problem[M] | None = None) -> Proof:
        """Write a proof that a short program checks without this library; see ``docs/proofs.md``.

        Returns
        -------
        Proof
            What was written; ``.left_out`` names what it does not prove, ``.check()`` runs the program.

        Raises
        ------
        InvalidProblem
            If there is no problem at hand, or proof files do not cover it.

        Examples
        --------
        >>> import privopt as po
        >>> solution = po.solve(po.BeliefRelease([0.75, 0.25], 1.0))
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     proof = solution.prove(f"{folder}/proof.txt")
        >>> proof.checker.name, proof.check().ok
        ('checker.py', True)
        """
        from privopt.proof.write import prove

        posed = self.instance if problem is None else problem
        if posed is None:
            raise InvalidProblem(
                "a solution from a file does not hold its problem: give it as prove(path, problem)"
            )
        proof = prove(posed, self)
        proof.save(path)
        return proof

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; the mechanism carries its integer weights."""
        numbers = {name: _encode(getattr(self, name)) for name in _NUMBERS}
        return {
            "format": FORMAT,
            "version": VERSION,
            "status": self.status.name,
            "reason": self.reason,
            "problem": self.problem,
            "solver": self.solver,
            "guarantee": None if self.guarantee is None else self.guarantee.name,
            **numbers,
            "dual": self.dual,
            "not_proved": list(NOT_PROVED),
            "seconds": self.seconds,
            "stats": {key: encode_float(v) if isinstance(v, float) else v for key, v in self.stats.items()},
            "alternatives": list(self.alternatives),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "mechanism": None if self.answer is None else self.answer.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The solution that :meth:`to_dict` wrote.

        Raises
        ------
        FileRefused
            If it is not one, or of a later version.
        InvalidMechanism
            If the mechanism inside is malformed.
        """
        from privopt.files.json import check_limits, check_schema
        from privopt.mechanisms import mechanism_from_dict

        check_limits(fields, "the solution")
        check_schema(fields, "solution")
        mechanism, certificate, guarantee = fields["mechanism"], fields["certificate"], fields["guarantee"]
        try:
            numbers = {
                name: None if fields[name] is None else decode_float(fields[name]) for name in _NUMBERS
            }
        except ValueError as cause:
            raise FileRefused(f"the solution is malformed: {cause}") from cause
        return cls(
            status=Status[fields["status"]],
            answer=None if mechanism is None else mechanism_from_dict(mechanism),  # type: ignore[arg-type]
            reason=fields["reason"],
            **numbers,
            certificate=None if certificate is None else Certificate.from_dict(certificate),
            solver=fields["solver"],
            guarantee=None if guarantee is None else Guarantee[guarantee],
            seconds=float(fields["seconds"]),
            stats={k: math.inf if v == "inf" else v for k, v in fields["stats"].items()},
            alternatives=tuple(fields["alternatives"]),
            problem=fields["problem"],
            dual=fields["dual"],
            instance=None,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a versioned JSON file: to a temporary file first, then renamed."""
        from privopt.files.json import write_json

        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that :meth:`save` wrote; nothing in it is executed or believed."""
        from privopt.files.json import read_json

        return cls.from_dict(read_json(path))


NOT_PROVED = ("reason", "solver", "seconds", "stats", "alternatives")
"""What a solution reveals beside its claim; nothing of it is checked, and its file says so."""

_NUMBERS = ("utility", "leakage", "objective", "bound", "gap")


def _encode(value: float | None) -> float | str | None:
    return None if value is None else encode_float(value)
