"""What a report concludes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """What a report says at its top: the sentences, and whether every certified claim was proved again."""

    holds: bool
    sentences: tuple[str, ...]
