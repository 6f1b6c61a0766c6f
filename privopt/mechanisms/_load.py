"""Mechanisms from their dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privopt.errors import InvalidMechanism
from privopt.mechanisms._base import Mechanism
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.colouring import Colouring
from privopt.mechanisms.merging import Merging
from privopt.mechanisms.noisy_query import NoisyQuery
from privopt.mechanisms.redaction import RedactionMechanism
from privopt.mechanisms.sequence_policy import SequencePolicy

_TYPES: dict[str, type[Mechanism]] = {
    kind.kind: kind for kind in (Channel, Colouring, Merging, NoisyQuery, RedactionMechanism, SequencePolicy)
}


def mechanism_from_dict(fields: Mapping[str, Any]) -> Mechanism:
    """The mechanism that ``mechanism.to_dict()`` wrote.

    Raises
    ------
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
    return _TYPES[kind].from_dict(fields)
