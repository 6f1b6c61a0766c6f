"""What a reader of releases sees of each: its probability given each word, by the kernel that was in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels, short
from privopt.measures.sequence._hidden_words import Seen
from privopt.mechanisms import Channel
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.policy import SequencePolicy


@dataclass(frozen=True, eq=False)
class Reading:
    """Releases in order, and the letters whose positions make up their words."""

    releases: tuple[Seen, ...]
    letters: Labels


def read(policy: SequencePolicy | Channel, released: Sequence[Label]) -> Reading:
    """A released sequence, read with a policy or with the one kernel of all letters.

    Raises
    ------
    InvalidMechanism
        If something in it is not a release, or cannot follow the releases before it.

    Examples
    --------
    >>> seen = read(Channel([[0.75, 0.25], [0.5, 0.5]]), [1, 0])
    >>> [release.likelihood.tolist() for release in seen.releases]
    [[0.25, 0.5], [0.75, 0.5]]
    """
    if not len(released):
        raise InvalidMechanism("nothing was released: give at least one release")
    if isinstance(policy, Channel):
        return Reading(tuple(_of_channel(policy, released)), policy.inputs)
    return Reading(tuple(_of_policy(policy, _flat(policy, released))), policy.letters)


def _of_channel(channel: Channel, released: Sequence[Label]) -> Iterator[Seen]:
    codes = {label: i for i, label in enumerate(channel.outputs)}
    keys = np.arange(len(channel.inputs))
    for number, label in enumerate(released):
        yield Seen(1, keys, channel.matrix[:, _code(codes, label, number)])


def _of_policy(policy: SequencePolicy, flat: Sequence[Label]) -> Iterator[Seen]:
    belief = np.array(policy.start().belief)[None, :]
    n = len(policy.letters)
    for number in range(-(-len(flat) // policy.batch)):
        word = tuple(flat[number * policy.batch : (number + 1) * policy.batch])
        part, record = policy.part(len(word)), policy.record(number)
        code = _code(part.codes, word[0] if len(word) == 1 else word, number)
        column = part.weights(belief, record)[:, :, code].astype(np.float64)
        words = part.setting.paths.words
        keys = words @ n ** np.arange(words.shape[1] - 1, -1, -1, dtype=np.int64)
        yield Seen(len(word), keys, column[0] / TOTAL)
        try:
            belief = part.filter.after(belief, column, record)
        except InvalidMechanism as cause:
            raise InvalidMechanism(
                f"release {number}, {short(word)}, cannot follow those before it"
            ) from cause


def _flat(policy: SequencePolicy, released: Sequence[Label]) -> list[Label]:
    """Words laid end to end."""
    single = policy.part(1).codes
    found: list[Label] = []
    for item in released:
        if policy.batch > 1 and isinstance(item, tuple) and item not in single:
            found.extend(item)
        else:
            found.append(item)
    return found


def _code(codes: Mapping[Label, int], label: Label, number: int) -> int:
    if label not in codes:
        raise InvalidMechanism(
            f"release {number}, {short(label)}, is none of the {len(codes)} that can be released"
        )
    return codes[label]
