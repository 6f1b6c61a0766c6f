"""What a problem of metric privacy says: points and their distances, how likely each is, what a release costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats, Ints
from privopt.core.exact import IntegerRow, Number, integer_row
from privopt.errors import InvalidModel, InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.models import JointDistribution
from privopt.models.metric import Metric
from privopt.models.pairs import Pairs
from privopt.models.validation import Row, distinct_labels, exact_distribution, number_array
from privopt.problems.validation import level

LOSSES = ("distance", "squared")
"""Losses by name: the distance between a point and its release, and its square."""

Loss: TypeAlias = str | Floats
LossFunction: TypeAlias = Callable[[Any, Any], ArrayLike]
"""Of points (n, 1, k) and outputs (1, m, k), coordinates where there are any and else positions, to losses (n, m)."""

MOST_CELLS = 2**26
"""Points times outputs of a problem."""


@dataclass(frozen=True, init=False, eq=False)
class MetricData:
    """The fields of :class:`privopt.MetricPrivacy`, which says what they mean."""

    metric: Metric
    prior: tuple[Number, ...]
    loss: Loss
    epsilon: float
    outputs: Labels | None
    radius: float | None
    places: Floats | None

    def __init__(
        self,
        metric: Metric | ArrayLike,
        prior: Row | Mapping[Any, Number],
        loss: str | ArrayLike | LossFunction,
        epsilon: float,
        *,
        outputs: Iterable[Label] | Metric | None = None,
        radius: float | None = None,
    ) -> None:
        try:
            space = metric if isinstance(metric, Metric) else Metric(metric)
            chances = _prior(prior, space.labels)
            names, places = _outputs(outputs, space)
        except InvalidModel as cause:
            raise InvalidProblem(str(cause)) from cause
        values: dict[str, object] = {
            "metric": space,
            "prior": chances,
            "epsilon": level(epsilon, "epsilon"),
            "outputs": names,
            "radius": _radius(radius),
            "places": places,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "loss", self._read_loss(loss))

    def _read_loss(self, loss: object) -> Loss:
        shape = (len(self.metric), len(self.metric) if self.outputs is None else len(self.outputs))
        if shape[0] * shape[1] > MOST_CELLS:
            raise InvalidProblem(
                f"{shape[0]} points and {shape[1]} outputs make {shape[0] * shape[1]} cells, at most {MOST_CELLS}: name fewer outputs"
            )
        if isinstance(loss, str):
            if loss not in LOSSES:
                raise InvalidProblem(
                    f"loss must be {', '.join(map(repr, LOSSES))}, a table or a function, got {loss!r}"
                )
            if self.metric.kind in ("graph", "matrix"):
                self._check_joined(loss)
            return loss
        if callable(loss):
            loss = _called(loss, *self._sites)
        try:
            table = np.array(loss, dtype=np.float64) + 0.0
        except (TypeError, ValueError) as cause:
            raise InvalidProblem(f"loss must be a table of numbers, a row a point: {cause}") from cause
        if table.shape != shape and (self.outputs is not None or table.ndim != 2 or len(table) != shape[0]):
            raise InvalidProblem(
                f"loss has shape {table.shape}; there are {shape[0]} points and {shape[1]} outputs"
            )
        bad = np.argwhere(~(np.abs(table) <= 1e150))
        if bad.size:
            x, y = bad[0].tolist()
            raise InvalidProblem(f"loss[{x}, {y}] = {table[x, y]} is not a finite number")
        table.setflags(write=False)
        return table

    def _check_joined(self, loss: str) -> None:
        """Every point has a distance to every other one."""
        away = np.flatnonzero(
            ~np.isfinite(self.metric.between(np.zeros(1, np.int64), np.arange(len(self.metric)))[0])
        )
        if away.size:
            labels = self.metric.labels
            raise InvalidProblem(
                f"the loss {loss!r} is infinite between {labels[0]!r} and {labels[away[0]]!r}, which no path joins: give a "
                "table of losses, or leave out what is not joined, as by graph.subgraph(max(nx.connected_components(graph), key=len))"
            )

    @property
    def _sites(self) -> tuple[Any, Any]:
        """Points and outputs as a function of losses reads them."""
        where = self.metric.places
        if self.places is not None:
            assert where is not None
            return where[:, None], self.places[None, :]
        index = {label: i for i, label in enumerate(self.metric.labels)}
        chosen = np.array([index[label] for label in self.outputs or self.metric.labels], dtype=np.int64)
        if where is not None:
            return where[:, None], where[None, chosen]
        return np.arange(len(self.metric))[:, None], chosen[None, :]

    @property
    def released(self) -> Labels:
        """The labels of the outputs: those of the points, or 0 .. m-1 for a table of losses that is not square."""
        if self.outputs is not None:
            return self.outputs
        width = len(self.metric) if isinstance(self.loss, str) else self.loss.shape[1]
        return self.metric.labels if width == len(self.metric) else tuple(range(width))

    @cached_property
    def positions(self) -> Ints | None:
        """Where the outputs stand among the points; None where they are elsewhere or only numbers."""
        index = {label: i for i, label in enumerate(self.metric.labels)}
        if self.places is not None or len(self.released) != len(self.outputs or self.metric.labels):
            return None
        return np.array([index[label] for label in self.released], dtype=np.int64)

    @cached_property
    def apart(self) -> Floats | None:
        """Distances from points to outputs, shape (n, m), inf where there is no path; None for outputs without a place."""
        if self.places is not None:
            return self.metric.to_points(self.places)
        if self.positions is None:
            return None
        return self.metric.between(np.arange(len(self.metric)), self.positions)

    @cached_property
    def losses(self) -> Floats:
        """The loss of every release of every point, shape (n, m)."""
        if not isinstance(self.loss, str):
            return self.loss
        assert self.apart is not None
        return self.apart if self.loss == "distance" else self.apart**2

    @cached_property
    def pairs(self) -> Pairs:
        """The promised pairs from which all others follow."""
        return self.metric.pairs(self.radius)

    @cached_property
    def components(self) -> Ints:
        """The number of the component of each point: points that no chain of promised pairs joins differ in it."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        pairs, n = self.pairs, len(self.metric)
        table = coo_array((np.ones(len(pairs)), (pairs.first, pairs.second)), shape=(n, n))
        return np.asarray(connected_components(table, directed=False)[1], dtype=np.int64)

    @property
    def component_count(self) -> int:
        """How many components there are."""
        return int(self.components.max()) + 1

    @cached_property
    def exact_prior(self) -> IntegerRow:
        """The prior divided by its exact sum."""
        return integer_row(self.prior)

    @cached_property
    def p(self) -> Floats:
        """The prior in floats, each rounded once."""
        return JointDistribution.normalised([self.prior]).p_x

    @property
    def sizes(self) -> tuple[int, ...]:
        """Points, outputs, and promised pairs, at least 1."""
        return len(self.metric), len(self.released), max(1, len(self.pairs))

    @cached_property
    def cheapest(self) -> int:
        """The one release for all points of least expected loss."""
        return int(np.argmin(self.p @ self.losses))


def _prior(prior: object, points: Labels) -> tuple[Number, ...]:
    """Probabilities in the order of the points; of a mapping from points, those that it lacks have 0."""
    count = len(points)
    if prior is None:
        raise InvalidProblem(
            f"prior is None: say how likely each point is, [1 / {count}] * {count} if all are alike; the promise does not rest on it"
        )
    if isinstance(prior, Mapping):
        known = set(points)
        odd = [point for point in prior if point not in known]
        if odd:
            raise InvalidProblem(f"prior names {odd[0]!r}, which is no point of the metric")
        prior = [prior.get(point, 0) for point in points]
    values = number_array(prior, "prior")
    if values.shape != (count,):
        raise InvalidProblem(
            f"prior has shape {values.shape}: give one probability for each of {count} points"
        )
    chances = tuple(values.tolist())
    exact_distribution(chances, "prior", "prior / sum(prior)")
    return chances


def _outputs(outputs: Iterable[Label] | Metric | None, space: Metric) -> tuple[Labels | None, Floats | None]:
    """Names of the outputs, and where they are if they are not among the points."""
    if outputs is None:
        return None, None
    if isinstance(outputs, Metric):
        if outputs.places is None or outputs.kind != space.kind:
            raise InvalidProblem(
                "outputs elsewhere are a Metric of the same kind as the points, with coordinates"
            )
        space.to_points(outputs.places[:1])
        return outputs.labels, outputs.places
    names = distinct_labels(outputs, "outputs")
    known = set(space.labels)
    odd = next((name for name in names if name not in known), None)
    if odd is not None or not names:
        what = "outputs is empty" if not names else f"the output {odd!r} is none of the points"
        raise InvalidProblem(
            f"{what}: name points, or give places elsewhere as a Metric, such as Metric.euclidean(places)"
        )
    return names, None


def _radius(radius: object) -> float | None:
    plain = radius.item() if isinstance(radius, np.generic) else radius
    if plain is None or plain == math.inf:
        return None
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 < plain < math.inf:
        raise InvalidProblem(f"radius must be a distance > 0, or None for all pairs, got {radius!r}")
    return float(plain)


def _called(function: Callable[..., Any], points: Any, outputs: Any) -> object:
    """What a function of losses makes of points and outputs."""
    try:
        return function(points, outputs)
    except (TypeError, ValueError, IndexError) as cause:
        raise InvalidProblem(
            f"the loss function takes points of shape {points.shape} and outputs of shape {outputs.shape}, and failed: {cause}"
        ) from cause
