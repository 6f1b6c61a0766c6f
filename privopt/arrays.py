"""The names of array types, for the whole package."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Numbers in double precision."""
Ints: TypeAlias = NDArray[np.int64]
"""Indices, counts and integer weights of 64 bits."""
Bools: TypeAlias = NDArray[np.bool_]
"""Masks."""
