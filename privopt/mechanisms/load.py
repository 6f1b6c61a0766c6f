"""Mechanisms from their dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privopt.errors import FileRefused, InvalidMechanism
from privopt.mechanisms.base import Mechanism
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.colouring import Colouring
from privopt.mechanisms.merging import Merging
from privopt.mechanisms.noise.noisy_query import NoisyQuery
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.mechanisms.redaction import RedactionMechanism

_TYPES: dict[str, type[Mechanism]] = {
    kind.kind: kind for kind in (Channel, Colouring, Merging, NoisyQuery, RedactionMechanism, SequencePolicy)
}


VERSION = 1
"""Of the documents of all mechanisms."""


def is_stored_kind(mechanism: Mechanism) -> bool:
    """Whether :func:`mechanism_from_dict` gives back what ``mechanism.to_dict()`` writes: a kind of the package, not one of one's own.

    Examples
    --------
    >>> is_stored_kind(RedactionMechanism([[1, 1], [0.5, 1]]))
    True
    """
    return type(mechanism) in _TYPES.values()


def mechanism_from_dict(fields: Mapping[str, Any]) -> Mechanism:
    """The mechanism that ``mechanism.to_dict()`` wrote.

    Raises
    ------
    FileRefused
        If it is of another version, or names an unknown rule; a document without a version is of version 1.
    InvalidMechanism
        If the type is missing or unknown, or the numbers do not make a mechanism.

    Examples
    --------
    >>> from privopt.mechanisms import RedactionMechanism
    >>> mechanism = RedactionMechanism([[1, 1], [0.5, 1]])
    >>> mechanism_from_dict(mechanism.to_dict()) == mechanism
    True
    """
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise InvalidMechanism(f'mechanism type {kind!r} is not one of {sorted(_TYPES)}; give it as "type"')
    version = fields.get("version", VERSION)
    if isinstance(version, bool) or version != VERSION:
        raise FileRefused(
            f"the mechanism is of version {version!r}, this version of privopt reads version {VERSION}: update privopt"
        )
    return _TYPES[kind].from_dict(fields)
