"""What a problem of post-randomisation says: who is protected how, what a change costs, and which tables stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.errors import InvalidModel, InvalidProblem
from privopt.files.labels import Labels, encode_labels
from privopt.mechanisms import Channel
from privopt.models import JointDistribution
from privopt.models.channel_data import Observation, observation
from privopt.models.distance import Distance
from privopt.models.metric import Metric
from privopt.models.validation import Row
from privopt.problems import validation as checks
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.metric_privacy.problem import MetricPrivacy

HAMMING = "hamming"
MARGINAL = "marginal"

Notion: TypeAlias = str | Metric
Kept: TypeAlias = str | JointDistribution | Sequence[JointDistribution]


@dataclass(frozen=True, init=False, eq=False)
class PostRandomisationData:
    """The fields of :class:`privopt.PostRandomisation`, which says what they mean."""

    joint: JointDistribution
    distortion: str | checks.Matrix
    epsilon: float
    notion: Notion
    tables: tuple[JointDistribution, ...]

    def __init__(
        self,
        joint: JointDistribution | Row | Mapping[Any, float],
        distortion: str | ArrayLike | Distance,
        epsilon: float,
        *,
        notion: Notion = "lip",
        preserve: Kept = MARGINAL,
    ) -> None:
        model = _joint(joint)
        observed = observation(model)
        checks.joint(observed)
        if observed.unseen:
            raise InvalidProblem(
                f"the symbol {model.useful[observed.unseen[0]]!r} has probability 0, and a release could not keep it there: leave it out"
            )
        values: dict[str, object] = {
            "joint": model,
            "distortion": _distortion(
                checks.placed(distortion, model.useful, model.columns), len(model.useful)
            ),
            "epsilon": checks.level(epsilon, "epsilon"),
            "notion": _notion(notion, model.useful),
            "tables": _tables(preserve, model),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def preserve(self) -> str | tuple[JointDistribution, ...]:
        """What stays as it is beside the distribution of one release: "marginal", or joint tables."""
        return self.tables or MARGINAL

    @property
    def symbols(self) -> Labels:
        """What is read and released."""
        return self.joint.useful

    @cached_property
    def observation(self) -> Observation:
        """The distribution of (S, X)."""
        return observation(self.joint)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Integer weights of the symbols: what is released has exactly their distribution."""
        return tuple(self.observation.weights)

    @cached_property
    def costs(self) -> Floats:
        """What it costs to release y for x, shape (n, n)."""
        n = len(self.symbols)
        return np.ones((n, n)) - np.eye(n) if isinstance(self.distortion, str) else np.array(self.distortion)

    @cached_property
    def kept_rows(self) -> list[list[Fraction]]:
        """The rows T[z] of which sum_x T[z][x] M[x, y] = T[z][y] is asked: the distribution of X, and those of each table."""
        total = sum(self.counts)
        rows = [[Fraction(c, total) for c in self.counts]]
        for table in self.tables:
            n, exact = len(table.useful), table.exact
            lines = [exact.weights[i : i + n] for i in range(0, len(exact.weights), n)]
            rows += [[Fraction(w, exact.total) for w in line] for line in lines if any(line)]
        return rows

    @cached_property
    def kept_floats(self) -> Floats:
        """The same in floats, each rounded once."""
        return np.array([[float(v) for v in row] for row in self.kept_rows])

    @cached_property
    def target(self) -> LocalInformationPrivacy | MetricPrivacy:
        """The problem that bounds the leakage in the same way and keeps no table."""
        if isinstance(self.notion, Metric):
            return self.metric_problem(self.costs)
        return LocalInformationPrivacy(
            self.joint, self.epsilon, notion=self.notion, utility=self.costs, outputs=self.symbols
        )

    def metric_problem(self, loss: Floats) -> MetricPrivacy:
        """The problem of metric privacy with these symbols as points, at another loss."""
        assert isinstance(self.notion, Metric)
        total = sum(self.counts)
        prior = [Fraction(c, total) for c in self.counts]
        return MetricPrivacy(self.notion, prior, loss, self.epsilon)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Values of S (or promised pairs), symbols, and rows of tables that stay as they are."""
        protected = (
            max(1, len(self.notion.pairs())) if isinstance(self.notion, Metric) else len(self.observation.p_s)
        )
        return protected, len(self.symbols), len(self.kept_rows)

    def answer(self, matrix: object) -> Channel:
        """The channel from the symbols to themselves with a matrix of shape (n, n); rows may hold Fractions."""
        return Channel(matrix, self.symbols, self.symbols)

    @cached_property
    def classes(self) -> list[list[int]]:
        """Symbols, by position, that all tables treat alike: P(z | x) is the same for them."""
        found: dict[tuple[Fraction, ...], list[int]] = {}
        rows = self.kept_rows
        for x in range(len(self.symbols)):
            profile = tuple(row[x] / rows[0][x] for row in rows[1:])
            found.setdefault(profile, []).append(x)
        return list(found.values())

    @cached_property
    def shuffled(self) -> list[list[Fraction]]:
        """The channel that redraws a symbol among those that all tables treat alike: it keeps every table."""
        n = len(self.symbols)
        matrix = [[Fraction(0)] * n for _ in range(n)]
        for alike in self.classes:
            size = sum(self.counts[x] for x in alike)
            for x in alike:
                for y in alike:
                    matrix[x][y] = Fraction(self.counts[y], size)
        return matrix


def _joint(joint: object) -> JointDistribution:
    """The joint distribution, or that of a secret which is the symbol itself, from its distribution or counts."""
    if isinstance(joint, JointDistribution):
        return joint
    labels = list(joint) if isinstance(joint, Mapping) else None
    values = list(joint.values()) if isinstance(joint, Mapping) else joint
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if (
        not isinstance(values, Sequence)
        or isinstance(values, str)
        or any(isinstance(v, Sequence) for v in values)
    ):
        raise InvalidProblem(
            f"give a JointDistribution of secret and symbol, or how often each symbol occurs, got {type(joint).__name__}"
        )
    table = [[v if x == y else 0 for y in range(len(values))] for x, v in enumerate(values)]
    try:
        return JointDistribution.normalised(table, labels, labels)
    except InvalidModel as cause:
        raise InvalidProblem(str(cause)) from cause


def _distortion(value: object, symbols: int) -> str | checks.Matrix:
    if isinstance(value, str):
        if value != HAMMING:
            raise InvalidProblem(f'the distortion is "{HAMMING}" or a table D[x, y], got {value!r}')
        return value
    table = checks.distortion(value, symbols)
    if len(table[0]) != symbols:
        raise InvalidProblem(
            f"the distortion D[x, y] has {len(table[0])} columns: symbols are released as symbols, of which there are {symbols}"
        )
    return table


def _notion(notion: object, symbols: Labels) -> Notion:
    """The notion by name, or the distances between the symbols, in their order."""
    if not isinstance(notion, Metric):
        if notion not in checks.NOTIONS:
            raise InvalidProblem(f'notion must be "lip", "ldp" or a Metric of the symbols, got {notion!r}')
        return str(notion)
    if len(notion) != len(symbols):
        raise InvalidProblem(f"the metric has {len(notion)} points, and there are {len(symbols)} symbols")
    if notion.labels == symbols:
        return notion
    if notion.labels != tuple(range(len(symbols))):
        raise InvalidProblem("the points of the metric must be the symbols, in their order")
    return Metric.from_dict({**notion.to_dict(), "labels": encode_labels(symbols)})


def _tables(preserve: object, model: JointDistribution) -> tuple[JointDistribution, ...]:
    """Joint tables of other columns and the symbol, each with exactly the distribution of the symbol."""
    if isinstance(preserve, str):
        if preserve != MARGINAL:
            raise InvalidProblem(f'preserve must be "{MARGINAL}", or joint tables, got {preserve!r}')
        return ()
    tables = (preserve,) if isinstance(preserve, JointDistribution) else preserve
    if not isinstance(tables, Sequence) or not all(isinstance(t, JointDistribution) for t in tables):
        raise InvalidProblem(
            f'preserve must be "{MARGINAL}", or JointDistributions whose useful values are the symbols'
        )
    own = _shares(model)
    for table in tables:
        if table.useful != model.useful:
            raise InvalidProblem(
                "the useful values of a table to preserve must be the symbols, in their order"
            )
        if _shares(table) != own:
            raise InvalidProblem(
                "a table to preserve must have exactly the distribution of the symbols: count both from the same rows, and make "
                "them with JointDistribution.normalised or from_frame"
            )
    return tuple(tables)


def _shares(joint: JointDistribution) -> list[Fraction]:
    """The exact distribution of the useful symbol."""
    return [Fraction(w, joint.exact.total) for w in observation(joint).weights]
