"""BoundaryColouring: the most accurate randomised answer on a graph of datasets, private along every edge."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Problem
from privopt.core.words import SHARE, Quantity, Words
from privopt.errors import InvalidMechanism
from privopt.files.json import check_schema
from privopt.mechanisms import Colouring, Mechanism
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring import bound, repair
from privopt.problems.boundary_colouring.boundary import BALANCED, Boundary, read_boundary, write_boundary
from privopt.problems.boundary_colouring.certificate import is_worst, prove_privacy, terms
from privopt.problems.boundary_colouring.data import ColouringData
from privopt.problems.boundary_colouring.examples import examples


@dataclass(frozen=True, init=False, eq=False)
class BoundaryColouring(ColouringData, Problem[Colouring]):
    """The most accurate randomised answers that are (epsilon, delta)-private along every edge.

    Each dataset v is answered with colour c with probability P_v(c). On every edge, in both directions,
    sum_c max(0, P_u(c) - e^epsilon P_v(c)) <= delta. The utility is the weighted mean of the accuracies P_v(f(v)), or
    their minimum; the leakage is the smallest epsilon that holds for this delta. The budget is epsilon and the objective
    the utility.

    Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), differential privacy by randomised colourings of a graph of
    datasets: with the values on the boundary given, one mechanism dominates all others.

    Parameters
    ----------
    graph : DatasetGraph
    epsilon : float
        Budget in nats, >= 0, finite.
    delta : float
        In [0, 1].
    boundary : "balanced", pair of floats, mapping, or None
        "balanced" (two colours; with more it means None): no vertex with a neighbour of another colour is right more often
        than the best worst case allows, (e^epsilon + delta) / (1 + e^epsilon). ``(q_first, q_second)``: accuracy of the
        boundary vertices of the first and of the second colour of the palette; None for the largest allowed.
        ``{vertex: Pr[first colour]}`` (a whole distribution with three colours or more), at least one end of every two-coloured
        edge. None: free. Prescribed values are met to 1e-9.
    weights : array (vertices,) or mapping from vertices, optional
        Non-negative, not all zero; 1 by default. They do not matter to "worst_case".
    objective : {"accuracy", "worst_case"}

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, or the prescribed vertices miss a two-coloured edge.

    Examples
    --------
    >>> problem = BoundaryColouring(DatasetGraph.line(2, 2), math.log(2))
    >>> fair = problem.two_colours(np.array([0.75, 0.5, 0.5, 0.5]), np.array([0.25, 0.5, 0.5, 0.5]))
    >>> print(problem.evaluate(fair))
    utility 0.5625, leakage 0.693147 nats, feasible; worst pair (1, 0), answer 'red' is likelier at 1 than at 0
    """

    kind: ClassVar[str] = "boundary_colouring"
    mechanism_type: ClassVar[type[Mechanism]] = Colouring
    wording: ClassVar[Words] = Words(
        "Answer each dataset truly",
        "True answers",
        "How often every dataset of a graph can get its true answer under differential privacy.",
    )

    @property
    def budget(self) -> float:
        """The largest leakage allowed, epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same problem with another epsilon."""
        return type(self)(
            self.graph,
            budget,
            self.delta,
            boundary=self.boundary,
            weights=self.weights,
            objective=self.objective,
        )

    def check(self, mechanism: Mechanism) -> Colouring:
        """The mechanism, if it colours this graph with its palette; else InvalidMechanism."""
        if not isinstance(mechanism, Colouring):
            raise InvalidMechanism(
                f"BoundaryColouring is answered by a Colouring, got {type(mechanism).__name__}"
            )
        if len(mechanism.level) != self.graph.size:
            raise InvalidMechanism(
                f"the colouring is of {len(mechanism.level)} vertices, the graph has {self.graph.size}"
            )
        if mechanism.colours != (self.graph.palette or (0,)):
            raise InvalidMechanism(
                f"the colouring has colours {mechanism.colours!r}, the graph's palette is {self.graph.palette!r}"
            )
        if not _same_labels(mechanism.vertices, self.graph.vertices):
            raise InvalidMechanism("the colouring and the graph label their vertices differently")
        if mechanism.answers is not None and not np.array_equal(mechanism.answers, self.graph.codes):
            raise InvalidMechanism("the true answers of the colouring are not the colours of the graph")
        return mechanism

    def evaluate(self, mechanism: Colouring) -> Evaluation:
        """Utility and leakage in float64, O(V + E).

        Raises
        ------
        InvalidMechanism
            If the mechanism does not fit the problem.
        """
        checked = self.check(mechanism)
        utility, leakage = self.accuracy(checked), self.adjacent(checked).leakage
        worst, where = self.worst_edge(checked)
        violation = max(0.0, leakage - self.epsilon)
        miss = self.miss(mechanism)
        if miss > 0:
            violation = max(violation, miss)
            where = f"{where}; a prescribed value is missed by {miss:.3g}".removeprefix("; ")
        feasible = violation <= FEASIBILITY * max(1.0, self.epsilon)
        return Evaluation(utility, leakage, utility, feasible, violation, worst, where)

    def certify(self, mechanism: Colouring) -> Certificate:
        """Prove every edge private, in both directions, from the integer weights.

        Distinct pairs of levels are settled in floats with directed rounding where that decides, and otherwise in exact
        integers against balls of e^epsilon. Prescribed values are compared, to 1e-9, and not proved.

        Raises
        ------
        InvalidMechanism
            If the mechanism does not fit the problem.
        """
        proof = prove_privacy(self, self.check(mechanism))
        return self.certificate(
            mechanism,
            mechanism.fingerprint,
            ok=proof.ok,
            claim="leakage <= budget",
            reason=proof.reason,
            leakage=proof.leakage,
            utility=proof.utility,
            worst=proof.worst,
            where=proof.where,
            method="directed rounding, and integers against balls where that does not decide",
        )

    @property
    def judging_seconds(self) -> float:
        """Two readings of every edge; 0 below half a second."""
        seconds = 1e-7 * (self.graph.size + 2 * self.graph.edge_count)
        return seconds if seconds >= 0.5 else 0.0

    def anchor(self) -> Colouring:
        """A mechanism strictly inside: every colour equally likely, or what prescribed values allow."""
        return repair.anchor(self)

    def repair(self, mechanism: Colouring, margin: float) -> Colouring:
        """The nearest private mechanism below or above, at (epsilon, delta) (1 - margin); mixed if k > 2."""
        tried = repair.nearest(self, self.check(mechanism), margin)
        if len(tried) == 1:
            return tried[0]
        readings = [self.evaluate(made) for made in tried]
        return max(zip(tried, readings, strict=True), key=lambda t: (t[1].feasible, t[1].objective))[0]

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """The upper bound on the objective that ``dual`` proves, or None."""
        return bound.prove(self, dual)

    def check_bound(self, bound: float, dual: object, seconds: float = math.inf) -> float | None:
        """As for every problem, and at most 1: no answer is right more often than always."""
        proved = super().check_bound(bound, dual, seconds)
        return None if proved is None else min(proved, 1.0)

    def check_infeasible(self, witness: object) -> str | None:
        """Why no mechanism meets the prescribed values: two sites too close for theirs, read again."""
        return bound.check_witness(self, witness)

    def terms(self, mechanism: Colouring) -> Terms:
        """What the certificate of a colouring is about."""
        return terms(self)

    def is_worst(self, mechanism: Colouring, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named edge leaks as much as any, with the answer named; None where only last digits differ."""
        return is_worst(self, mechanism, worst, where)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the graph's arrays, the budget, the boundary, the weights and the objective."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        head = (self.kind, self.graph.fingerprint, self.epsilon, self.delta, self.objective)
        digest = hashlib.sha256(repr(head).encode())
        free = self.boundary if not isinstance(self.boundary, Mapping) else "by vertex"
        digest.update(repr(free).encode())
        if isinstance(self.boundary, Mapping) and self.prescribed is not None:
            digest.update(self.prescribed.sites.tobytes() + self.prescribed.rows.tobytes())
        if self.weights is not None:
            digest.update(self.weights.tobytes())
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back.

        Raises
        ------
        InvalidModel
            If the graph has more than 2**20 edges, which is too much for a file.
        """
        return {
            "type": self.kind,
            "version": 1,
            "graph": self.graph.to_dict(),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "boundary": write_boundary(self.boundary),
            "weights": None if self.weights is None else self.weights.tolist(),
            "objective": self.objective,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the values do not make a graph or a problem.
        """
        check_schema(fields, "problem-boundary_colouring")
        return cls(
            DatasetGraph.from_dict({"type": "dataset_graph", **fields["graph"]}),
            fields["epsilon"],
            fields.get("delta", 0.0),
            boundary=read_boundary(fields.get("boundary", BALANCED)),
            weights=fields.get("weights"),
            objective=fields.get("objective", "accuracy"),
        )

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        worst = self.objective == "worst_case"
        return Quantity("least share of true answers" if worst else "true answers", SHARE, budget="ε")

    @classmethod
    def examples(cls) -> tuple[Example[Colouring], ...]:
        """Small instances, with optima that are public or follow from a closed form."""
        return examples(cls)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundaryColouring):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        # What is remembered of the last mechanism stays behind.
        made = partial(type(self), boundary=self.boundary, weights=self.weights, objective=self.objective)
        return made, (self.graph, self.epsilon, self.delta)

    def _repr_html_(self) -> str:
        from privopt.files.text import html_table

        rows = [("graph", self.graph), ("epsilon", self.epsilon), ("delta", self.delta)]
        rows += [("boundary", _brief(self.boundary)), ("objective", self.objective)]
        rows += [("weights", "equal" if self.weights is None else "given")]
        return html_table(rows, (type(self).__name__, ""))

    def __repr__(self) -> str:
        return (
            f"BoundaryColouring({self.graph!r}, epsilon={self.epsilon:g}, delta={self.delta:g}, "
            f"boundary={_brief(self.boundary)}"
            + ("" if self.weights is None else ", weights=...")
            + f", objective={self.objective!r})"
        )


def _brief(boundary: Boundary) -> str:
    if isinstance(boundary, Mapping):
        return f"{{{len(boundary)} values}}"
    return repr(boundary)


def _same_labels(a: Any, b: Any) -> bool:
    if isinstance(a, range) and isinstance(b, range):
        return a == b
    return len(a) == len(b) and tuple(a) == tuple(b)
