"""Running a policy on streams, on one sequence, and on the sequences of many users."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.arrays import Bools, Ints
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels
from privopt.mechanisms.columns import ReleasedArray, decode, encode
from privopt.mechanisms.policy._codec import Progress
from privopt.mechanisms.policy.follow import Follower, check_transitions
from privopt.mechanisms.policy.journal import PolicyJournal
from privopt.mechanisms.policy.users import release_codes

if TYPE_CHECKING:
    from privopt.mechanisms.policy.policy import SequencePolicy


def release(
    policy: SequencePolicy,
    data: Any,
    rng: np.random.Generator | None,
    journal: PolicyJournal | None,
    progress: Progress | None,
) -> Any:
    """Release data of any of the kinds; see :meth:`privopt.SequencePolicy.release`."""
    policy.check_release(rng)
    if journal is not None and journal.policy != policy.fingerprint:
        raise InvalidMechanism("the journal is that of another policy: use journal = policy.state(path)")
    if isinstance(data, Iterator):
        return stream(policy, data, rng, policy.state() if journal is None else journal)
    codes = codes_of(data, policy.letters)
    if codes.size == 0:
        return decode_releases(codes, data, policy, rng)
    if codes.ndim == 2 and journal is not None:
        raise InvalidMechanism(
            "a journal is of one sequence: release the users one by one, each with its own"
        )
    first = 0 if journal is None else journal.step
    check_transitions(policy.chain, np.atleast_2d(codes), codes.ndim == 1, first == 0)
    if journal is None:
        released = release_codes(policy, np.atleast_2d(codes), rng, progress).reshape(codes.shape)
        return decode_releases(released, data, policy, rng)
    labels = iter([policy.letters[code] for code in codes.tolist()])
    words = list(stream(policy, labels, rng, journal))
    flat = words if policy.batch == 1 else [letter for word in words for letter in word]
    places = {label: i for i, label in enumerate(outputs_of(policy))}
    return decode_releases(np.array([places[label] for label in flat]), data, policy, rng)


def outputs_of(policy: SequencePolicy) -> Labels:
    """Labels of the releases of single letters."""
    n, m = policy.part(1).setting.letter_cost.shape
    return policy.letters if n == m else tuple(range(m))


def decode_releases(codes: Ints, like: Any, policy: SequencePolicy, rng: np.random.Generator | None) -> Any:
    """Labels of released letters in the container of the data."""
    return decode(codes, _none(codes), like, outputs_of(policy), rng is not None)


def _none(codes: Ints) -> Bools:
    return np.zeros(codes.shape, dtype=bool)


def codes_of(data: Any, letters: Labels) -> Ints:
    """Positions of letters; at once where the data are integers and the letters 0 .. n-1."""
    plain = letters == tuple(range(len(letters))) and not any(isinstance(a, bool) for a in letters)
    whole = type(data) in (np.ndarray, ReleasedArray) and data.dtype.kind in "iu" and data.ndim in (1, 2)
    if plain and whole and (data.size == 0 or (data.min() >= 0 and data.max() < len(letters))):
        return np.asarray(data, dtype=np.int64)
    return encode(data, letters)


def stream(
    policy: SequencePolicy, data: Iterator[Label], rng: np.random.Generator | None, journal: PolicyJournal
) -> Iterator[Any]:
    """One release at a time: drawn, recorded, then handed out."""
    follow = Follower(policy.chain, journal.step == 0)
    places = {label: i for i, label in enumerate(policy.letters)}
    while word := tuple(islice(data, policy.batch)):
        for letter in word:
            follow.check(letter, places)
        found, state = policy.step(journal.current, word if policy.batch > 1 else word[0], rng)
        journal.write(state, found)
        yield found
