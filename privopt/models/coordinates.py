"""Distances between coordinates; whatever is computed may be rounded down, so that a promise per unit of distance holds."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats

EARTH = {"km": 6371.0088, "m": 6371008.8, "mi": 3958.7613}
"""Mean radius of the Earth (IUGG), in the units in which a great circle is measured."""

PLACED = ("euclidean", "manhattan", "great_circle")
"""Kinds of metrics that are computed from coordinates."""


def measure(kind: str, a: Floats, b: Floats, unit: str, down: bool) -> Floats:
    """Distances between coordinates whose last axis holds them; rounded down where that is wished.

    Examples
    --------
    >>> float(measure("euclidean", np.array([0.0, 0.0]), np.array([3.0, 4.0]), "", True))
    5.0
    """
    if kind == "great_circle":
        return _on_sphere(a, b, EARTH[unit], down)
    apart = np.abs(a - b)
    whole = bool((a == np.round(a)).all() and (b == np.round(b)).all() and apart.max(initial=0.0) < 2.0**24)
    slack = 1.0 - (a.shape[-1] + 4) * 2.0**-52
    if kind == "manhattan":
        total = apart.sum(axis=-1)
        return np.asarray(total if whole or not down else total * slack)
    squares = (apart * apart).sum(axis=-1)
    root = np.sqrt(squares)
    if not down:
        return np.asarray(root)
    exact = (root * root == squares) & (root == np.round(root)) & whole
    return np.asarray(np.where(exact, root, root * slack))


def _on_sphere(a: Floats, b: Floats, radius: float, down: bool) -> Floats:
    """Great circles by haversines, which keep the digits of near points."""
    first, second = np.radians(a), np.radians(b)
    up = np.sin((first[..., 0] - second[..., 0]) / 2) ** 2
    along = np.sin((first[..., 1] - second[..., 1]) / 2) ** 2
    chord = up + np.cos(first[..., 0]) * np.cos(second[..., 0]) * along
    # Degrees to radians lose digits of near points: their difference is off by a few ulp of the coordinates.
    if not down:
        return np.asarray(2.0 * radius * np.arcsin(np.sqrt(np.clip(chord, 0.0, 1.0))))
    half = np.sqrt(np.clip(chord, 0.0, 1.0)) * (1.0 - 2.0**-44)
    return np.asarray(np.maximum(0.0, 2.0 * radius * np.arcsin(half) * (1.0 - 2.0**-44) - radius * 2.0**-48))
