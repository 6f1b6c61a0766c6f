"""What every mechanism can do."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from privopt.files.labels import Labels
from privopt.models.columns import TableColumns


class Mechanism(ABC):
    """A mechanism: a frozen answer, a randomised map from data to released data, stored as probabilities.

    What is sampled, and what is certified, is the integer form given by :meth:`exact`; a quantised
    mechanism is one whose floats equal that form.
    """

    kind: ClassVar[str]
    simulation_only: bool
    columns: TableColumns | None = None

    @abstractmethod
    def release(self, data: Any, rng: np.random.Generator | None = None) -> Any:
        """Release data: drawn exactly from the operating system's generator, or simulated with ``rng``."""

    @abstractmethod
    def exact(self) -> object:
        """The integer form: rows of non-negative integer weights with their totals."""

    @abstractmethod
    def quantised(self) -> Self:
        """The mechanism whose probabilities are exactly those of the integer form."""

    @abstractmethod
    def validated(self, simulation_only: bool = False) -> Self:
        """A fresh copy that went through the constructor's checks again."""

    def described(self, columns: TableColumns | None, outputs: Labels | None) -> Self:
        """The mechanism with the columns of the table that it is for, and with its releases named; the default is itself.

        Parameters
        ----------
        columns : TableColumns or None
            What a model remembers of the table that it was counted from.
        outputs : tuple or None
            Labels of the releases where they are values.
        """
        return self

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal mechanism back."""

    @classmethod
    @abstractmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The mechanism that :meth:`to_dict` wrote."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form, without the columns that it is for."""
        fields = {name: _plain(value) for name, value in self.to_dict().items() if name != "columns"}
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    """A chain without the column that it remembers; anything else as it is."""
    if not isinstance(value, dict) or value.get("type") != "markov_chain":
        return value
    return {name: part for name, part in value.items() if name != "columns"}
