"""The shapes of noise: the level of privacy of a scale, how far it takes an answer from the truth, and how it is drawn.

An infinite scale stands for an answer that does not read the data. Errors are the same for all data. Noise for data
is drawn by OpenDP, noise for simulations by NumPy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import ball_ceiling, ball_floor
from privopt.errors import InvalidMechanism, MissingExtra
from privopt.mechanisms.noise.statistics import up

if TYPE_CHECKING:
    from flint import arb

OPENDP = 2.0**-50
"""OpenDP rounds the odds before it takes their logarithm: its map may exceed the exact level by less than this."""

EXACT_REPORTS = 512
"""Records up to which the distribution of randomised reports is written out."""

_ERROR_BITS = 128
_LEVEL_BITS = 160


class Shape(ABC):
    """Noise of one shape and any scale."""

    def level(self, scale: float, sensitivity: float) -> float:
        """The level tau of differential privacy of noise of a scale, rounded up.

        Parameters
        ----------
        scale : float, > 0, perhaps inf
        sensitivity : float, > 0

        Examples
        --------
        >>> SHAPES["laplace"].level(4.0, 1.0), SHAPES["laplace"].level(math.inf, 1.0)
        (0.25, 0.0)
        >>> round(SHAPES["randomised_response"].level(0.25, 1.0), 12)
        1.098612288668
        """
        return 0.0 if scale == math.inf else self._level(scale, sensitivity)

    def scale_for(self, tau: float, sensitivity: float) -> float:
        """The least scale, but for a few roundings, whose level is at most tau.

        Examples
        --------
        >>> scale = SHAPES["laplace"].scale_for(0.3, 1.0)
        >>> SHAPES["laplace"].level(scale, 1.0) <= 0.3, round(scale, 9)
        (True, 3.333333333)
        """
        if not tau >= 0:
            raise InvalidMechanism(f"tau must be >= 0 nats, got {tau}")
        if tau == 0:
            return math.inf
        return self._scale_for(tau, sensitivity)

    @abstractmethod
    def _level(self, scale: float, sensitivity: float) -> float:
        """The level of a finite scale."""

    @abstractmethod
    def _scale_for(self, tau: float, sensitivity: float) -> float:
        """The scale for a positive level."""

    @abstractmethod
    def expected_error(self, scale: float, length: int | None) -> float:
        """E|error| of a number (of one cell of a histogram), the largest over all data."""

    @abstractmethod
    def error_ball(self, scale: Fraction | float, length: int | None) -> arb:
        """A ball around what :meth:`expected_error` reads, for a finite scale."""

    @abstractmethod
    def quantile(self, scale: float, length: int | None, beta: float) -> float:
        """An alpha with Pr(|error| > alpha) <= beta, for every data set."""

    @abstractmethod
    def measurement(self, scale: float, vector: bool) -> Any:
        """OpenDP's measurement of this noise, once its contributions are enabled."""

    def opendp_level(self, scale: float, sensitivity: float, vector: bool = False) -> float:
        """The level that OpenDP's own privacy map gives to this noise.

        Raises
        ------
        MissingExtra
            If OpenDP is not installed.
        """
        return float(self._measured(scale, vector).map(self._distance(sensitivity)))

    def release(self, value: Any, scale: float, sensitivity: float, tau: float) -> Any:
        """A number, or a list of them, with OpenDP's noise; refused where OpenDP's map exceeds the level stated."""
        measured = self._measured(scale, isinstance(value, list))
        spent = measured.map(self._distance(sensitivity))
        if spent > tau:
            raise InvalidMechanism(
                f"OpenDP's map says that this noise has level {spent}, above the stated {tau}"
            )
        return self._drawn(measured, value)

    @abstractmethod
    def simulate(self, value: Any, scale: float, rng: np.random.Generator) -> Any:
        """The same distributions from a NumPy generator: a simulation, which protects nobody."""

    def _measured(self, scale: float, vector: bool) -> Any:
        if find_spec("opendp") is None:
            raise MissingExtra(
                "noise for data is drawn by OpenDP, which is not installed: pip install 'privopt[noise]', "
                "or give rng= for a simulation"
            )
        from opendp.mod import enable_features

        enable_features("contrib")
        return self.measurement(scale, vector)

    def _distance(self, sensitivity: float) -> float | int:
        """The sensitivity in the metric of OpenDP's measurement."""
        return sensitivity

    def _drawn(self, measured: Any, value: Any) -> Any:
        return measured(value)


class Laplace(Shape):
    """Laplace noise of scale b = sensitivity / tau, with the expected error b."""

    kind: ClassVar[str] = "f64"

    def _level(self, scale: float, sensitivity: float) -> float:
        return up(Fraction(sensitivity) / Fraction(scale))

    def _scale_for(self, tau: float, sensitivity: float) -> float:
        scale = float(sensitivity) / float(tau)
        if not 0 < scale < math.inf:
            return math.inf if scale else math.ulp(0.0)
        while self._level(scale, sensitivity) > tau:
            scale += math.ulp(scale)
        return scale

    def expected_error(self, scale: float, length: int | None) -> float:
        """The scale."""
        return scale

    def error_ball(self, scale: Fraction | float, length: int | None) -> arb:
        """The scale."""
        from flint import arb, fmpq

        return arb(fmpq(*Fraction(scale).as_integer_ratio()))

    def quantile(self, scale: float, length: int | None, beta: float) -> float:
        """Exact: b ln(1/beta)."""
        return scale * math.log(1.0 / beta)

    def measurement(self, scale: float, vector: bool) -> Any:
        """Noise on one number or on a vector of them."""
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import absolute_distance, l1_distance

        atom = atom_domain(T=self.kind, nan=False) if self.kind == "f64" else atom_domain(T=self.kind)
        if vector:
            return make_laplace(vector_domain(atom), l1_distance(T=self.kind), scale)
        return make_laplace(atom, absolute_distance(T=self.kind), scale)

    def _drawn(self, measured: Any, value: Any) -> Any:
        return measured([float(v) for v in value] if isinstance(value, list) else float(value))

    def simulate(self, value: Any, scale: float, rng: np.random.Generator) -> Any:
        """By NumPy's Laplace noise."""
        shape = len(value) if isinstance(value, list) else None
        return (np.asarray(value, dtype=np.float64) + rng.laplace(0.0, scale, shape)).tolist()


class DiscreteLaplace(Laplace):
    """Laplace noise on the integers: the density falls by e^(-1/b) with each step."""

    kind: ClassVar[str] = "i64"

    def expected_error(self, scale: float, length: int | None) -> float:
        """1 / sinh(1/b)."""
        if scale == math.inf:
            return scale
        return 1.0 / math.sinh(1.0 / scale) if scale > 1 / 700 else 0.0

    def error_ball(self, scale: Fraction | float, length: int | None) -> arb:
        """1 / sinh(1/b)."""
        ball: arb = 1 / (1 / super().error_ball(scale, length)).sinh()
        return ball

    def quantile(self, scale: float, length: int | None, beta: float) -> float:
        """Exact, an integer."""
        if scale == math.inf:
            return scale
        ratio = math.exp(-1.0 / scale)
        # Pr(|N| > a) = 2 ratio^(a + 1) / (1 + ratio)
        return float(max(0, math.ceil(scale * math.log(2.0 / (beta * (1.0 + ratio)))) - 1))

    def _distance(self, sensitivity: float) -> float | int:
        return int(sensitivity)

    def _drawn(self, measured: Any, value: Any) -> Any:
        return measured(value)

    def simulate(self, value: Any, scale: float, rng: np.random.Generator) -> Any:
        """The difference of two geometric variables."""
        shape = len(value) if isinstance(value, list) else None
        stop = -np.expm1(-1.0 / scale)
        return (np.asarray(value) + rng.geometric(stop, shape) - rng.geometric(stop, shape)).tolist()


class RandomisedResponse(Shape):
    """Lies of probability q = scale about each record by itself, of level ln((1 - q) / q); values are lists of bits."""

    def _level(self, scale: float, sensitivity: float) -> float:
        from flint import arb, ctx, fmpq

        truth = Fraction(keep(scale))
        odds = truth / (1 - truth)
        if odds <= 1:
            return 0.0
        with ctx.workprec(_LEVEL_BITS):
            exact = ball_ceiling(arb(fmpq(odds.numerator, odds.denominator)).log())
        return math.nextafter(exact + OPENDP, math.inf)

    def _scale_for(self, tau: float, sensitivity: float) -> float:
        if tau > 36:
            raise InvalidMechanism(f"randomised response of level {tau} is all but the truth: take tau <= 36")
        scale = 1.0 / (1.0 + math.exp(tau))
        while self._level(scale, sensitivity) > tau:
            scale += 2.0**-53
        return math.inf if scale >= 0.5 else scale

    def expected_error(self, scale: float, length: int | None) -> float:
        """The mean deviation of the unbiased estimate for the worst true count; beyond 512 records the standard one."""
        if scale == math.inf:
            return scale
        n, truth = length or 1, keep(scale)
        gain = 2.0 * truth - 1.0
        if n > EXACT_REPORTS:
            return math.sqrt(n * truth * (1 - truth)) / gain
        return max(_deviation(n, k, truth) for k in range(n // 2 + 1)) / gain

    def error_ball(self, scale: Fraction | float, length: int | None) -> arb:
        """As :meth:`expected_error`, of the float that is stored."""
        from flint import arb, fmpq

        n, truth = length or 1, Fraction(keep(float(scale)))
        p = arb(fmpq(truth.numerator, truth.denominator))
        q = 1 - p
        if n > EXACT_REPORTS:
            return (n * p * q).sqrt() / (p - q)
        largest = arb(0)
        for k in range(n // 2 + 1):
            largest = largest.max(_exact_deviation(n, k, p, q))
        return largest / (p - q)

    def quantile(self, scale: float, length: int | None, beta: float) -> float:
        """By Hoeffding's inequality."""
        if scale == math.inf:
            return scale
        return math.sqrt((length or 1) * math.log(2.0 / beta) / 2.0) / (2.0 * keep(scale) - 1.0)

    def measurement(self, scale: float, vector: bool) -> Any:
        """Of one bit."""
        from opendp.measurements import make_randomized_response_bool

        return make_randomized_response_bool(keep(scale))

    def _distance(self, sensitivity: float) -> float | int:
        return 1

    def _drawn(self, measured: Any, value: Any) -> Any:
        return [int(measured(bool(bit))) for bit in value]

    def simulate(self, value: Any, scale: float, rng: np.random.Generator) -> Any:
        """Each bit kept or flipped."""
        bits = np.asarray(value, dtype=np.int64)
        return (bits ^ (rng.random(len(bits)) >= keep(scale))).tolist()


SHAPES: dict[str, Shape] = {
    "laplace": Laplace(),
    "discrete_laplace": DiscreteLaplace(),
    "randomised_response": RandomisedResponse(),
}
"""The shapes by name."""


def keep(lie: float) -> float:
    """The probability of the truth, as the float that is sampled."""
    return min(1.0 - lie, math.nextafter(1.0, 0.0))


@lru_cache(maxsize=1024)
def enclosed_error(noise: str, scale: Fraction | float, length: int | None) -> tuple[float, float]:
    """Floats around what :meth:`Shape.expected_error` reads, proved in balls; for lies the scale is the float that is stored.

    Examples
    --------
    >>> enclosed_error("laplace", Fraction(1, 4), None)
    (0.25, 0.25)
    >>> lo, hi = enclosed_error("discrete_laplace", 2.0, None)
    >>> lo <= SHAPES["discrete_laplace"].expected_error(2.0, None) <= hi, hi - lo < 1e-15
    (True, True)
    """
    from flint import ctx

    if scale == math.inf:
        return math.inf, math.inf
    with ctx.workprec(_ERROR_BITS):
        ball = SHAPES[noise].error_ball(scale, length)
        low, high = ball_floor(ball), ball_ceiling(ball)
    return (max(low, 0.0), high) if math.isfinite(high) else (0.0, math.inf)


def _exact_deviation(n: int, count: int, p: arb, q: arb) -> arb:
    """E|reports - their mean| for a true count, from the generating polynomial of the reports."""
    from flint import arb, arb_poly

    reports = arb_poly([q, p]) ** count * arb_poly([p, q]) ** (n - count)
    mean = count * p + (n - count) * q
    return sum((weight * abs(i - mean) for i, weight in enumerate(reports.coeffs())), arb(0))


def _deviation(n: int, count: int, truth: float) -> float:
    """E|reports - their mean| for a true count; by symmetry the same for n - count."""
    reports = np.convolve(_binomial(count, truth), _binomial(n - count, 1 - truth))
    mean = count * truth + (n - count) * (1 - truth)
    return float(reports @ np.abs(np.arange(n + 1) - mean))


def _binomial(n: int, p: float) -> Floats:
    """The probabilities of 0 .. n successes; the libraries that have them take a second to import."""
    at = np.arange(n + 1)
    chances: Floats = _choices(n) * np.power(p, at) * np.power(1.0 - p, n - at)
    return chances


@lru_cache(maxsize=1024)
def _choices(n: int) -> Floats:
    """The binomial coefficients of n, at most 512."""
    return np.array([math.comb(n, k) for k in range(n + 1)], dtype=np.float64)
