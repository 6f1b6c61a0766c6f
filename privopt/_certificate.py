"""Certificates: what was proved about a mechanism, and how."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from privopt._labels import decode_labels, encode_labels
from privopt._numbers import decode_float, encode_float
from privopt._text import html_table, number
from privopt.errors import FileRefused

VERSION = 1


@dataclass(frozen=True, slots=True)
class Certificate:
    """The outcome of an exact check of the integer form of a mechanism.

    Parameters
    ----------
    ok : bool
        True only if the claim is proved.
    claim : str
        What is proved, in words; for budgets on leakage "leakage <= budget".
    reason : str
        Why the claim holds or fails.
    budget : float
        The budget of the claim, in its problem's own unit: nats where it bounds a leakage.
    leakage : (lo, hi)
        Proved enclosure of the exact leakage.
    utility : (lo, hi)
        Proved enclosure of the exact utility.
    worst, where : names of the worst pair, and the output at which it leaks.
    problem, mechanism : str
        Fingerprints of what was checked.
    method : str
        The arithmetic used.
    law : str
        What is assumed of the data.

    Examples
    --------
    >>> certificate = Certificate(True, "leakage <= budget", "largest ratio 2 < e^1", 1.0, (0.69, 0.70), (0.5, 0.5))
    >>> bool(certificate), Certificate.from_dict(certificate.to_dict()) == certificate
    (True, True)
    """

    ok: bool
    claim: str
    reason: str
    budget: float
    leakage: tuple[float, float] = (0.0, math.inf)
    utility: tuple[float, float] = (-math.inf, math.inf)
    worst: tuple[Hashable, ...] = ()
    where: str = ""
    problem: str = ""
    mechanism: str = ""
    method: str = ""
    law: str = ""

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lo, hi = (number(x, 9) for x in self.leakage)
        verdict = "PROVED" if self.ok else "NOT PROVED"
        pair = f"; worst pair {self.worst!r}, {self.where}" if self.worst else ""
        return (
            f"{verdict}: {self.claim} (budget {number(self.budget, 9)}, exact leakage in [{lo}, {hi}] nats){pair}. "
            f"{self.reason} [{self.method}]"
        )

    def _repr_html_(self) -> str:
        return html_table([(key, value) for key, value in asdict(self).items()])

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self)},
            "version": VERSION,
            "budget": encode_float(self.budget),
            "leakage": [encode_float(x) for x in self.leakage],
            "utility": [encode_float(x) for x in self.utility],
            "worst": encode_labels(self.worst),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The certificate that :meth:`to_dict` wrote.

        Raises
        ------
        FileRefused
            If a field is missing or not of its type.
        """
        try:
            lo, hi = (decode_float(x) for x in given["leakage"])
            low, high = (decode_float(x) for x in given["utility"])
            texts = {
                name: str(given[name])
                for name in ("claim", "reason", "where", "problem", "mechanism", "method", "law")
            }
            return cls(
                ok=given["ok"] is True,
                budget=decode_float(given["budget"]),
                leakage=(lo, hi),
                utility=(low, high),
                worst=decode_labels(given["worst"]),
                **texts,
            )
        except (KeyError, TypeError, ValueError) as cause:
            raise FileRefused(f"the certificate is malformed: {type(cause).__name__} {cause}") from cause
