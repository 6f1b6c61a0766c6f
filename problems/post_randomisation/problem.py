"""Post-randomisation: a column is changed at random so that its distribution stays exactly as it is."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Numbers, Problem
from privopt.core.words import Quantity, Words
from privopt.errors import InvalidMechanism, InvalidModel, InvalidProblem
from privopt.files.labels import Labels
from privopt.files.numbers import decode_float, encode_float
from privopt.files.text import number
from privopt.mechanisms import Channel, Mechanism
from privopt.models import JointDistribution, model_from_dict
from privopt.models.metric import Metric
from privopt.problems import validation as checks
from privopt.problems.exact_joint import pushed
from privopt.problems.post_randomisation.bound import infeasible, prove
from privopt.problems.post_randomisation.data import MARGINAL, PostRandomisationData
from privopt.problems.post_randomisation.examples import examples
from privopt.problems.post_randomisation.flow import preserving, repair

CLAIM = "leakage <= budget, and the released distribution equals the original"


@dataclass(frozen=True, init=False, eq=False)
class PostRandomisation(PostRandomisationData, Problem[Channel]):
    """The least expected change of a column whose distribution stays exactly as it is, while little is said about a secret.

    A channel M reads a symbol x and releases a symbol y of the same alphabet. The distribution of one release equals that
    of the symbols, sum_x P(x) M[x, y] = P(y), as rational numbers; so do joint tables with other columns that are named. A
    table of drawn records matches in expectation. The leakage is bounded as the notion says; utility is -E[D(X, Y)].

    Source: Gouweleeuw, Kooiman, Willenborg, de Wolf, "Post randomisation for statistical disclosure control: theory and
    implementation" (Journal of Official Statistics 1998), for matrices that keep the distribution.

    Parameters
    ----------
    joint : JointDistribution, sequence of numbers, or mapping
        Of a secret S and the symbol X; or how often each symbol occurs, where the symbol itself is the secret. Every
        symbol has positive probability.
    distortion : "hamming", matrix or distance
        What it costs to release y for x; "hamming" counts changes.
    epsilon : float
        In nats, >= 0, may be inf.
    notion : "lip", "ldp" or Metric
        "lip": |ln P(s, y) / (P(s) P(y))| <= epsilon; "ldp": P(y | s) <= e^epsilon P(y | t). With distances between the symbols,
        M[x, y] <= e^(epsilon d(x, x')) M[x', y], whatever the secret is.
    preserve : "marginal", JointDistribution or sequence of these
        Joint tables P(z, x) of other columns and the symbol that stay as they are, too: sum_x P(z, x) M[x, y] = P(z, y). Each
        has exactly the distribution of the symbols. No channel may exist; with as many independent rows as
        symbols, all that remains is to release the symbol itself.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> problem = PostRandomisation([3, 1], "hamming", 0.5)
    >>> reading = problem.evaluate(Channel([[0.9, 0.1], [0.3, 0.7]]))
    >>> round(reading.utility, 6), round(reading.leakage, 6), reading.feasible
    (-0.15, 1.029619, False)
    >>> problem.evaluate(Channel([[0.9, 0.1], [0.1, 0.9]])).violation > 0.1  # P(y) = 0.7, 0.3
    True
    """

    kind: ClassVar[str] = "post_randomisation"
    mechanism_type: ClassVar[type[Mechanism]] = Channel
    wording: ClassVar[Words] = Words(
        "Change values, keep their counts",
        "Keep tables",
        "How few values to change at random so that little is said about a secret and counts stay right.",
    )

    @property
    def budget(self) -> float:
        """Epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same problem with another epsilon."""
        return type(self)(self.joint, self.distortion, budget, notion=self.notion, preserve=self.preserve)

    @property
    def judging_seconds(self) -> float:
        """Rationals of every cell, and each secret against each release."""
        protected, n, rows = self.sizes
        return 1e-2 + 1e-5 * n * n * rows + 1e-5 * protected * n

    @property
    def leakage_unit(self) -> str:
        """Nats, per unit of distance where a metric says how near symbols are."""
        return self.target.leakage_unit

    def check(self, mechanism: Mechanism) -> Channel:
        """The mechanism, if it is a channel from the symbols to themselves."""
        if not isinstance(mechanism, Channel):
            raise InvalidMechanism(
                f"PostRandomisation is answered by a Channel, got {type(mechanism).__name__}"
            )
        if mechanism.inputs not in (self.symbols, tuple(range(len(self.symbols)))):
            raise InvalidMechanism("the inputs of the channel must be the symbols, in their order")
        if len(mechanism.outputs) != len(self.symbols):
            raise InvalidMechanism(
                f"there are {len(self.symbols)} symbols, the mechanism has {len(mechanism.outputs)} outputs"
            )
        checks.check_outputs(mechanism, self.symbols)
        return mechanism

    @property
    def release_labels(self) -> Labels | None:
        """The symbols."""
        return self.symbols

    def evaluate(self, mechanism: Channel) -> Evaluation:
        """Utility, leakage and the worst pair in float64; the violation is also that of the tables."""
        channel = self.answer_of(self.check(mechanism))
        reading = self.target.evaluate(channel)
        rows = self.kept_floats
        off = float(np.abs(rows @ channel.matrix - rows).max())
        violation = max(reading.violation, off if off > FEASIBILITY else 0.0)
        return replace(reading, feasible=reading.feasible and off <= FEASIBILITY, violation=violation)

    def answer_of(self, channel: Channel) -> Channel:
        """The same channel with the names of the symbols."""
        if channel.inputs == self.symbols == channel.outputs:
            return channel
        rows = [[row.fraction(y) for y in range(len(row.weights))] for row in channel.exact()]
        return Channel(rows, self.symbols, self.symbols, simulation_only=channel.simulation_only)

    def certify(self, mechanism: Channel) -> Certificate:
        """Prove the bound from the integer weights, and that every table stays, in rationals."""
        channel = self.check(mechanism)
        proved = self.target.certify(self.answer_of(channel))
        certificate = self.restated(proved, channel, claim=CLAIM, where=proved.where)
        moved = self.moved(channel)
        method = f"{proved.method}; integers for the tables"
        if not moved:
            return replace(certificate, method=method)
        return replace(certificate, ok=False, reason=moved, method=method)

    def moved(self, channel: Channel) -> str:
        """Which table does not stay as it is, in words; empty where all do, exactly."""
        for z, kept in enumerate(self.kept_rows):
            whole = math.lcm(*{mass.denominator for mass in kept})
            weights = tuple(mass.numerator * (whole // mass.denominator) for mass in kept)
            (seen,), scale = pushed([weights], channel)
            for y, weight in enumerate(weights):
                if seen[y] != weight * scale:
                    now, mass = Fraction(seen[y], whole * scale), kept[y]
                    what = "its distribution" if z == 0 else "a table that is to be kept"
                    return f"the release {self.symbols[y]!r} has {float(now)!r} instead of {float(mass)!r} in {what}"
        return ""

    def terms(self, mechanism: Channel) -> Terms:
        """What a certificate says beside its numbers."""
        terms = self.target.terms(self.answer_of(mechanism))
        kept = f" and {len(self.tables)} joint tables" if self.tables else ""
        return replace(
            terms,
            statement=f"{terms.statement}; the distribution of one release{kept} equals the original exactly",
            assumption=f"{terms.assumption}; what stays is the distribution that was counted",
            uncovered=(
                *terms.uncovered,
                "the counts of drawn records: they match in expectation, not exactly",
            ),
        )

    def is_worst(self, mechanism: Channel, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named pair leaks as much as any."""
        return self.target.is_worst(self.answer_of(self.check(mechanism)), worst, where)

    def anchor(self) -> Channel:
        """The release redrawn among the symbols that all tables treat alike: among all, where only the distribution stays."""
        return self.answer(self.shuffled)

    def preserving(self, matrix: object) -> Channel | None:
        """A channel near a matrix of floats that keeps every table exactly; None where none is found."""
        return preserving(self, np.asarray(matrix, dtype=np.float64))

    def repair(self, mechanism: Channel, margin: float) -> Channel:
        """A channel that keeps the tables, and the budget with a relative margin; see :mod:`privopt.problems.post_randomisation.flow`."""
        return repair(self, self.answer_of(self.check(mechanism)), margin)

    def repeated_leakage(self, mechanism: Channel, times: float) -> float:
        """What several releases of the same record leak together, in nats."""
        return self.target.repeated_leakage(self.answer_of(mechanism), times)

    def scale(self, solution: Numbers) -> float:
        """The size of the expected change: gaps are relative to it."""
        return abs(solution.objective or 0.0)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """The upper bound on the utility that ``dual`` proves, or None; see :mod:`privopt.problems.post_randomisation.bound`."""
        return prove(self, dual)

    def check_infeasible(self, witness: object) -> str | None:
        """Why no channel keeps tables and budget, if prices prove it."""
        least = infeasible(self, witness)
        if least is None:
            return None
        return (
            f"every channel within {number(self.epsilon)} {self.leakage_unit} moves the tables that are to be kept: by prices of at most "
            f"{number(_largest(witness))} a unit of probability, it misses them by at least {number(least)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        tables = [table.to_dict() for table in self.tables]
        distortion = (
            self.distortion if isinstance(self.distortion, str) else [list(r) for r in self.distortion]
        )
        return {
            "type": self.kind,
            "version": 1,
            "joint": self.joint.to_dict(),
            "distortion": distortion,
            "epsilon": encode_float(self.epsilon),
            "notion": self.notion.to_dict() if isinstance(self.notion, Metric) else self.notion,
            "preserve": tables or MARGINAL,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a joint or a problem.
        """
        read = checks.fields(fields, f"problem-{cls.kind}")
        notion, kept = read.get("notion", "lip"), read.get("preserve", MARGINAL)
        try:
            tables = kept if isinstance(kept, str) else [JointDistribution.from_dict(table) for table in kept]
            metric = Metric.from_dict(notion) if isinstance(notion, Mapping) else notion
        except InvalidModel as cause:
            raise InvalidProblem(str(cause)) from cause
        joint = model_from_dict(read["joint"])
        if not isinstance(joint, JointDistribution):
            raise InvalidProblem("post-randomisation needs one joint distribution of secret and symbol")
        return cls(joint, read["distortion"], decode_float(read["epsilon"]), notion=metric, preserve=tables)

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        what = "expected change" if isinstance(self.distortion, str) else "distortion"
        return Quantity(what, sign=-1, budget="ε")

    @classmethod
    def examples(cls) -> tuple[Example[Channel], ...]:
        """Small instances; some optima are closed forms."""
        return examples(cls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PostRandomisation) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        shown = self.distortion if isinstance(self.distortion, str) else "table"
        kept = f", preserve={len(self.tables)} tables" if self.tables else ""
        return f"PostRandomisation({self.joint!r}, {shown!r}, epsilon={self.epsilon:g}, notion={self.notion!r}{kept})"


def _largest(witness: object) -> float:
    """The largest price of a witness that was checked."""
    assert isinstance(witness, dict)
    return float(np.abs(np.array(witness["prices"], dtype=np.float64)).max(initial=0.0))
