"""Sequences of many users released in pieces, here or on the workers of a Dask cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.cluster.pieces import Packed
from privopt.cluster.scheduler import RETRIES, client
from privopt.errors import InvalidMechanism
from privopt.mechanisms import SequencePolicy
from privopt.mechanisms.columns import ReleasedArray
from privopt.mechanisms.policy.release import (
    check_transitions,
    codes_of,
    decode_releases,
    release_codes,
    release_from,
)

PIECE = 2000
"""Users in one piece of work."""
AHEAD = 64
"""Pieces that are on the cluster at a time."""

Piece = list[NDArray[np.int64]]


def release_users(
    policy: SequencePolicy,
    users: Any,
    *,
    scheduler: str | None = None,
    rng: np.random.Generator | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Any:
    """Release the sequences of many users, each by itself, in pieces of 2000 users.

    Parameters
    ----------
    policy : SequencePolicy
    users : array (users, records), or iterable of sequences
        Letters; the sequences of an iterable may differ in length, and are read as they are needed.
    scheduler : str, optional
        Address of a Dask scheduler, tcp://host:port, whose workers draw; the cluster sees the raw letters and must be trusted.
        At most 64 pieces are there at a time. A piece whose worker is lost is drawn again; what was lost nobody saw.
    rng : numpy.random.Generator, optional
        Simulate, with a generator of its own for each piece: the same releases here and on any cluster. They
        protect nobody.
    progress : callable (fraction, sentence), optional
        The fraction is 0 where the number of users is not known.

    Returns
    -------
    array (users, records), or an iterator of arrays
        In the order of the users. An iterator for an iterable, with memory for a piece (on a cluster, 64) only.

    Raises
    ------
    InvalidMechanism
        If letters are unknown or impossible under the chain, or the policy may only simulate and no ``rng`` is given.
    MissingExtra, InvalidProblem
        If there is no cluster to be had.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> policy = SequencePolicy(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0)
    >>> [len(sequence) for sequence in release_users(policy, [[0, 1, 1], [0]])]
    [3, 1]
    """
    policy.check_release(rng)
    known = len(users) if isinstance(users, (np.ndarray, list, tuple)) else 0
    pieces = _pieces(policy, iter(users))
    done = _here(policy, pieces, rng) if scheduler is None else _there(policy, pieces, rng, scheduler)
    sequences = _shown(policy, done, rng, known, progress)
    if not isinstance(users, np.ndarray) or users.ndim != 2:
        return sequences
    released = np.empty(users.shape, dtype=object).view(ReleasedArray)
    released.simulated = rng is not None
    for i, row in enumerate(sequences):
        released[i] = row
    return released


def _pieces(policy: SequencePolicy, users: Iterable[Any]) -> Iterator[Piece]:
    """Letters as positions, checked."""
    rows = enumerate(users)
    while some := list(islice(rows, PIECE)):
        piece = []
        for i, row in some:
            try:
                codes = codes_of(row, policy.letters)
                if codes.ndim != 1:
                    raise InvalidMechanism("give one sequence of letters a user")
                if codes.size:
                    check_transitions(policy.chain, codes[None, :], True, True)
            except InvalidMechanism as cause:
                raise InvalidMechanism(f"user {i}: {cause}") from cause
            piece.append(codes)
        yield piece


def _draw(policy: SequencePolicy, piece: Piece, rng: np.random.Generator | None) -> Piece:
    lengths = {len(codes) for codes in piece}
    if len(lengths) == 1 and lengths != {0}:
        return list(release_codes(policy, np.array(piece), rng, None))
    return release_from(policy, piece, [policy.start()] * len(piece), rng)[0]


def _draw_there(policy: SequencePolicy, piece: Packed, rng: np.random.Generator | None) -> Packed:
    return Packed.of(_draw(policy, piece.sequences(), rng))


def _own(rng: np.random.Generator | None) -> np.random.Generator | None:
    return None if rng is None else rng.spawn(1)[0]


def _here(
    policy: SequencePolicy, pieces: Iterator[Piece], rng: np.random.Generator | None
) -> Iterator[Piece]:
    for piece in pieces:
        yield _draw(policy, piece, _own(rng))


def _there(
    policy: SequencePolicy, pieces: Iterator[Piece], rng: np.random.Generator | None, scheduler: str
) -> Iterator[Piece]:
    with client(scheduler) as cluster:
        sent: deque[Any] = deque()
        for piece in pieces:
            arguments = policy, Packed.of(piece), _own(rng)
            sent.append(cluster.submit(_draw_there, *arguments, pure=False, retries=RETRIES))
            if len(sent) >= AHEAD:
                yield sent.popleft().result().sequences()
        while sent:
            yield sent.popleft().result().sequences()


def _shown(
    policy: SequencePolicy,
    done: Iterator[Piece],
    rng: np.random.Generator | None,
    known: int,
    progress: Callable[[float, str], None] | None,
) -> Iterator[Any]:
    count = 0
    for piece in done:
        for codes in piece:
            yield decode_releases(codes, None, policy, rng)
        count += len(piece)
        if progress is not None:
            progress(count / known if known else 0.0, f"{count} users")
