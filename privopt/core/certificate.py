"""Certificates: what was proved about a mechanism, and how."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from privopt.core.words import NATS, measured
from privopt.errors import FileRefused
from privopt.files.labels import decode_labels, encode_labels
from privopt.files.numbers import decode_float, encode_float
from privopt.files.text import html_table, number

VERSION = 2

WIDE = 1e-6
"""An enclosure wider than this, relatively, is not a reading of the number in it."""

ONE_RELEASE = (
    "more than one release of the same records (one draw of a mechanism certified at 0 says nothing of a secret bit, yet "
    "two draws let it be guessed with probability 31/32, and with more symbols as near 1 as one likes)"
)
"""What every certificate does not cover, whatever the problem."""

FRESH_RECORD = (
    "the records of a sample that the set or the mechanism was computed from: the claim is about a fresh record of the "
    "population, and what the mechanism itself says of that sample is not bounded"
)
"""What a certificate for a set of distributions does not cover, whatever the problem."""

KINDS = {
    "privacy": "it holds for every release",
    "average": "it is an average over releases, and a single one may tell much more",
    "utility": "it says how useful the release is, and bounds nothing that is told",
}
"""What the kinds of certificates promise."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a certificate is about, in plain sentences: everything but the numbers.

    Parameters
    ----------
    kind : "privacy", "average" or "utility"
        Whether the claim bounds every release, an average over releases, or only says how useful the release is.
    statement : str
        The claim in one sentence that names the private thing.
    assumption : str
        The distribution of the data that is assumed, or the set of distributions for which the claim holds.
    adversary : str
        Who is kept from learning, and what they know besides the release.
    unit : str
        Of what the budget is: a release, a letter, a record.
    uncovered : tuple of str
        What the claim says nothing about; that it is for one release is added to each certificate, and for a set
        :data:`FRESH_RECORD`.
    distributions : str
        The set of distributions for every one of which the claim holds, in words; empty where it holds for one only.
    confidence : float, optional
        How often, over samples, a set that was made from one holds the distribution of the population.
    """

    kind: str
    statement: str
    assumption: str
    adversary: str
    unit: str
    uncovered: tuple[str, ...] = ()
    distributions: str = ""
    confidence: float | None = None


def over_set(claim: str) -> str:
    """A claim about one distribution, made of every distribution in a set.

    Examples
    --------
    >>> over_set("leakage <= budget")
    'for every distribution in the set, leakage <= budget'
    """
    return f"for every distribution in the set, {claim}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate: the outcome of an exact check of the integer form of a mechanism.

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
        Proved enclosure of the exact leakage, in :attr:`leakage_unit`.
    utility : (lo, hi)
        Proved enclosure of the exact utility.
    worst, where : names of the worst pair, and the output at which it leaks.
    problem, mechanism : str
        Fingerprints of what was checked.
    method : str
        The arithmetic used.
    assumption : str
        What is assumed of the data: the distribution, or the set of distributions for which the claim holds.
    kind : str
        "privacy" (every release), "average" (an average over releases) or "utility"; empty in files of 0.1.0.
    statement, adversary, unit : str
        The claim in a plain sentence, against whom, and of what the budget is; see :class:`Terms`.
    uncovered : tuple of str
        What the claim says nothing about.
    remarks : tuple of str
        Where a record differs from what was proved although the claim holds; see :func:`privopt.verify`.
    distributions : str
        The set of distributions for every one of which the claim holds, in words; empty where it holds for one only.
    confidence : float or None
        How often, over samples, such a set made from one holds the distribution of the population.
    leakage_unit : str
        Nats, nats per unit of a distance, or nothing for a plain number, such as a chi-squared divergence.

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
    assumption: str = ""
    kind: str = ""
    statement: str = ""
    adversary: str = ""
    unit: str = ""
    uncovered: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    distributions: str = ""
    confidence: float | None = None
    leakage_unit: str = NATS

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return " ".join(self.sentences())

    @property
    def law(self) -> str:
        """The name that version 0.1.0 gave to :attr:`assumption`."""
        return self.assumption

    @property
    def only_bounded(self) -> bool:
        """Whether the leakage is bounded rather than enclosed, although the utility is not merely simulated."""
        (lo, hi), (low, high) = self.leakage, self.utility
        return hi - lo > WIDE * hi and not high - low > WIDE * max(1.0, abs(low))

    def sentences(self) -> list[str]:
        """Everything the certificate says, a sentence each, the verdict first.

        Examples
        --------
        >>> Certificate(True, "leakage <= budget", "largest ratio 2 < e^1", 1.0, (0.69, 0.70)).sentences()[0]
        'PROVED: leakage <= budget (budget 1, exact leakage in [0.69, 0.7] nats).'
        """
        lo, hi = (number(x, 9) for x in self.leakage)
        verdict = "PROVED" if self.ok else "NOT PROVED"
        kind = f" ({self.kind})" if self.kind else ""
        pair = f"; worst pair {self.worst!r}, {self.where}" if self.worst else ""
        plain = [f"In words: {self.statement}."] if self.statement and self.ok else []
        plain += [f"Kind: {KINDS[self.kind]}."] if self.kind in KINDS else []
        ends = measured(f"[{lo}, {hi}]", self.leakage_unit)
        said = [
            f"{verdict}{kind}: {self.claim} (budget {number(self.budget, 9)}, exact leakage in {ends}){pair}."
        ]
        named = (("Assumed", self.assumption), ("Against", self.adversary), ("Budget per", self.unit))
        said += [*plain, f"{self.reason}{f' [{self.method}]' if self.method else ''}."]
        said += (
            [f"Holds for every distribution in the set: {self.distributions}."] if self.distributions else []
        )
        if self.confidence is not None:
            said.append(
                f"Confidence: of such sets at least {number(100 * self.confidence, 9)} % hold the distribution of the "
                "population, over the samples they are made from."
            )
        said += [f"{name}: {text}." for name, text in named if text]
        said += [f"Not covered: {'; '.join(self.uncovered)}."] if self.uncovered else []
        return [*said, *(f"Remark: {text}." for text in self.remarks)]

    def _repr_html_(self) -> str:
        shown = {**asdict(self), "uncovered": "; ".join(self.uncovered), "remarks": "; ".join(self.remarks)}
        return html_table([(key, value) for key, value in shown.items()])

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; what a certificate for one distribution has not is left out, and nats are."""
        unset = [name for name in ("distributions", "confidence") if not getattr(self, name)]
        unset += ["leakage_unit"] if self.leakage_unit == NATS else []
        return {
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in unset},
            "version": VERSION,
            "budget": encode_float(self.budget),
            "leakage": [encode_float(x) for x in self.leakage],
            "utility": [encode_float(x) for x in self.utility],
            "worst": encode_labels(self.worst),
            "uncovered": list(self.uncovered),
            "remarks": list(self.remarks),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The certificate that :meth:`to_dict` wrote.

        Raises
        ------
        FileRefused
            If a field is missing or not of its type.
        """
        try:
            lo, hi = (decode_float(x) for x in fields["leakage"])
            low, high = (decode_float(x) for x in fields["utility"])
            texts = {
                name: str(fields[name])
                for name in ("claim", "reason", "where", "problem", "mechanism", "method")
            }
            names = ("kind", "statement", "adversary", "unit", "distributions")
            later = {name: str(fields.get(name, "")) for name in names}
            sure = fields.get("confidence")
            return cls(
                ok=fields["ok"] is True,
                budget=decode_float(fields["budget"]),
                leakage=(lo, hi),
                utility=(low, high),
                worst=decode_labels(fields["worst"]),
                assumption=str(fields["law"] if "law" in fields else fields["assumption"]),
                uncovered=tuple(str(text) for text in fields.get("uncovered", ())),
                remarks=tuple(str(text) for text in fields.get("remarks", ())),
                confidence=None if sure is None else decode_float(sure),
                leakage_unit=str(fields.get("leakage_unit", NATS)),
                **texts,
                **later,
            )
        except (KeyError, TypeError, ValueError) as cause:
            raise FileRefused(f"the certificate is malformed: {type(cause).__name__} {cause}") from cause
