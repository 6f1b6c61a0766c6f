"""The fingerprint of a problem about many Gaussian records: the canonical JSON form, written row by row.

A covariance of thousands of records holds few different numbers where records are alike, and each twice: every number is
written once, and its text is used again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

MANY = 200
"""Records from which it pays."""
KEPT = 2**20
"""Texts of numbers that are kept at once."""
_MARK = "3f0c2e1b-covariance"


class _Texts(dict[float, str]):
    """Numbers as JSON writes them."""

    def __missing__(self, number: float) -> str:
        if number == 0:  # with a sign or without one, which is equal
            return str(number)
        text = self[number] = float.__repr__(number)
        return text


def large_fingerprint(fields: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON form of a problem with a covariance, without what its model remembers of columns.

    Examples
    --------
    >>> from privopt.core.problem import fingerprint_of
    >>> fields = {"model": {"type": "gaussian", "covariance": [[1.0, -0.0], [0.0, 1e-7]], "columns": ["a"]}, "epsilon": 0.5}
    >>> large_fingerprint(fields) == fingerprint_of(fields)
    True
    """
    model = {name: part for name, part in fields["model"].items() if name != "columns"}
    plain = {**fields, "model": {**model, "covariance": _MARK}}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    before, after = text.split(f'"covariance":"{_MARK}"', 1)
    digest = hashlib.sha256(f'{before}"covariance":['.encode())
    texts = _Texts()
    for i, row in enumerate(fields["model"]["covariance"]):
        if len(texts) > KEPT:
            texts.clear()
        digest.update(f"{',' if i else ''}[{','.join(map(texts.__getitem__, row))}]".encode())
    digest.update(f"]{after}".encode())
    return digest.hexdigest()
