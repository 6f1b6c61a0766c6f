"""Groups of records of which nothing is known but their size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, cast

import numpy as np

from privopt.errors import InvalidModel
from privopt.models.codec import VERSION, document


@dataclass(frozen=True)
class GroupModel:
    """Records in groups that are independent of each other; inside a group, any dependence at all.

    Source: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy", Section 4: the number of correlated records m.

    Parameters
    ----------
    size : int
        Largest number of records in a group, >= 1; 1 means that all records are independent.

    Raises
    ------
    InvalidModel
        If the size is not a whole number of at least 1.

    Examples
    --------
    >>> GroupModel(4).to_dict()
    {'type': 'group', 'version': 1, 'size': 4}
    """

    size: int

    def __post_init__(self) -> None:
        given: object = self.size
        if isinstance(given, np.integer):
            object.__setattr__(self, "size", int(given))
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise InvalidModel(
                f"size is {self.size!r}: give the whole number of records in the largest group"
            )

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal model."""
        return {"type": "group", "version": VERSION, "size": self.size}

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or the size is not a whole number of at least 1.

        Examples
        --------
        >>> GroupModel.from_dict({"type": "group", "size": 3})
        GroupModel(size=3)
        """
        return cls(cast(int, document(d, "group", {"size": ...})["size"]))
