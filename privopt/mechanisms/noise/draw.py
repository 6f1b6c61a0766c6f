"""Drawing noise: by OpenDP for data, by NumPy for simulations."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from privopt.errors import InvalidMechanism, MissingExtra
from privopt.mechanisms.columns import ReleasedArray
from privopt.mechanisms.noise.level import keep


class ReleasedFloat(float):
    """A released number; ``simulated`` says whether it was drawn with a simulation generator."""

    simulated: bool = False


class ReleasedInt(int):
    """A released count; ``simulated`` says whether it was drawn with a simulation generator."""

    simulated: bool = False


def mark(value: Any, simulated: bool) -> Any:
    """A number or an array that says whether it is a simulation."""
    if isinstance(value, list):
        found = np.array(value).view(ReleasedArray)
        found.simulated = simulated
        return found
    number = ReleasedInt(value) if isinstance(value, int) else ReleasedFloat(value)
    number.simulated = simulated
    return number


def measurement(noise: str, scale: float, vector: bool) -> Any:
    """OpenDP's measurement of this noise.

    Raises
    ------
    MissingExtra
        If OpenDP is not installed.
    """
    if find_spec("opendp") is None:
        raise MissingExtra(
            "noise for data is drawn by OpenDP, which is not installed: pip install 'privopt[noise]', "
            "or give rng= for a simulation"
        )
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace, make_randomized_response_bool
    from opendp.metrics import absolute_distance, l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    if noise == "randomised_response":
        return make_randomized_response_bool(keep(scale))
    kind = "f64" if noise == "laplace" else "i64"
    atom = atom_domain(T=kind, nan=False) if noise == "laplace" else atom_domain(T=kind)
    if vector:
        return make_laplace(vector_domain(atom), l1_distance(T=kind), scale)
    return make_laplace(atom, absolute_distance(T=kind), scale)


def opendp_level(noise: str, scale: float, sensitivity: float, vector: bool) -> float:
    """The level that OpenDP's own privacy map gives to this noise.

    Raises
    ------
    MissingExtra
        If OpenDP is not installed.
    """
    made = measurement(noise, scale, vector)
    if noise == "randomised_response":
        return float(made.map(1))
    return float(made.map(sensitivity if noise == "laplace" else int(sensitivity)))


def add_noise(noise: str, scale: float, sensitivity: float, tau: float, value: Any) -> Any:
    """A number, or a list of them, with OpenDP's noise; refused where OpenDP's map exceeds the level stated."""
    vector = isinstance(value, list)
    spent = opendp_level(noise, scale, sensitivity, vector)
    if spent > tau:
        raise InvalidMechanism(f"OpenDP's map says that this noise has level {spent}, above the stated {tau}")
    if noise == "laplace":
        value = [float(v) for v in value] if vector else float(value)
    return measurement(noise, scale, vector)(value)


def lie(scale: float, tau: float, truth: list[int]) -> list[int]:
    """Each bit kept or flipped by OpenDP's randomised response."""
    made = measurement("randomised_response", scale, False)
    if made.map(1) > tau:
        raise InvalidMechanism(f"OpenDP's map says that these lies have level {made.map(1)}, above {tau}")
    return [int(made(bool(bit))) for bit in truth]


def simulate(noise: str, scale: float, value: Any, rng: np.random.Generator) -> Any:
    """The same laws from a NumPy generator: a simulation, which protects nobody."""
    shape = len(value) if isinstance(value, list) else None
    if noise == "laplace":
        return (np.asarray(value, dtype=np.float64) + rng.laplace(0.0, scale, shape)).tolist()
    stop = -np.expm1(-1.0 / scale)
    return (np.asarray(value) + rng.geometric(stop, shape) - rng.geometric(stop, shape)).tolist()
