"""Cells and users in messages: never quoted, but where the owner of the data wishes to see them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from privopt.files.labels import short

_SHOWN: ContextVar[bool] = ContextVar("shown", default=False)

HINT = "--show-values says which"
"""What a message adds where a place is not enough to find what it is about."""


@contextmanager
def showing_values(shown: bool = True) -> Iterator[None]:
    """Messages of the block quote private cells and name users; for their owner's eyes.

    Examples
    --------
    >>> with showing_values():
    ...     shown("Anna", "another value")
    "'Anna'"
    """
    before = _SHOWN.set(shown)
    try:
        yield
    finally:
        _SHOWN.reset(before)


def shown(value: object, instead: str) -> str:
    """A private value as it stands in a message: only in :func:`showing_values`, else what is said instead of it.

    Examples
    --------
    >>> shown("Anna", "another value")
    'another value'
    """
    return short(value) if _SHOWN.get() else instead


def beside(value: object) -> str:
    """A private value in brackets after a sentence about it; nothing but in :func:`showing_values`.

    Examples
    --------
    >>> beside("Anna")
    ''
    """
    return f" ({short(value)})" if _SHOWN.get() else ""


def user(name: str, number: int) -> str:
    """A user in a message, by their place among all users; the one without a name is the only one.

    Examples
    --------
    >>> user("Anna", 3)
    'user number 3 (--show-values says which)'
    >>> user("", 1)
    'this stream'
    """
    if not name:
        return "this stream"
    return shown(name, f"user number {number} ({HINT})")
