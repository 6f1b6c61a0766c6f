"""Many users at once, step by step: a bounded number of kernels in memory, exact or simulated draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy._codec import Progress
from privopt.mechanisms.policy._draw import draw
from privopt.mechanisms.policy.hamming_kernel import release_many
from privopt.mechanisms.policy.part import CELLS, Part
from privopt.mechanisms.policy.rules import capped
from privopt.mechanisms.policy.state import PolicyState

if TYPE_CHECKING:
    from privopt.mechanisms.policy.policy import SequencePolicy


def release_codes(
    policy: SequencePolicy, codes: Ints, rng: np.random.Generator | None, progress: Progress | None
) -> Ints:
    """Released letters, as positions, for letters (users, records) given as positions.

    At most ``2**19`` cells of kernels are worked on at a time, about 50 MB, or one user if a kernel alone has more.
    """
    fast = rng is not None and _is_plain(policy)
    chunk = max(1, CELLS // (8 * policy.chain.k)) if fast else policy.part(policy.batch).users
    found = np.empty_like(codes)
    for i in range(0, len(codes), chunk):
        some = codes[i : i + chunk]
        if fast and rng is not None:
            found[i : i + chunk] = _simulate(policy, some, rng)
        else:
            lengths = np.full(len(some), codes.shape[1])
            found[i : i + chunk], _ = _walk(policy, some, lengths, _begun(policy, len(some)), 0, rng)
        if progress is not None:
            done = min(i + chunk, len(codes))
            progress(done / len(codes), f"{done} of {len(codes)} users")
    return found


def release_from(
    policy: SequencePolicy,
    codes: Sequence[Ints],
    states: Sequence[PolicyState],
    rng: np.random.Generator | None,
) -> tuple[list[Ints], list[PolicyState]]:
    """What users release of their next letters, and where that leaves them; sequences may differ in length.

    Parameters
    ----------
    codes : sequence of int arrays
        Positions of the next letters of each user.
    states : sequence of PolicyState
        Where each user stands.
    rng : numpy.random.Generator or None

    Raises
    ------
    InvalidMechanism
        If a user's sequence has ended and there are more letters.
    """
    released, after = list(codes), list(states)
    busy = [i for i in range(len(codes)) if len(codes[i])]
    for i in busy:
        if states[i].ended:
            raise InvalidMechanism(f"user {i}: a word of fewer letters has ended this sequence")
    busy.sort(key=lambda i: (states[i].step, -len(codes[i])))
    chunk = policy.part(policy.batch).users
    while busy:
        step = states[busy[0]].step
        some = [i for i in busy[:chunk] if states[i].step == step]
        busy = busy[len(some) :]
        lengths = np.array([len(codes[i]) for i in some])
        table = np.zeros((len(some), int(lengths.max())), dtype=np.int64)
        for row, i in zip(table, some, strict=True):
            row[: len(codes[i])] = codes[i]
        beliefs = np.array([states[i].belief for i in some])
        found, moved = _walk(policy, table, lengths, beliefs, step, rng)
        for row, belief, i in zip(found, moved.tolist(), some, strict=True):
            released[i] = row[: len(codes[i])]
            steps, rest = divmod(len(codes[i]), policy.batch)
            after[i] = PolicyState(step + steps + (rest > 0), tuple(belief), rest > 0)
    return released, after


def _begun(policy: SequencePolicy, users: int) -> Floats:
    return np.tile(np.array(policy.start().belief), (users, 1))


def _is_plain(policy: SequencePolicy) -> bool:
    """Whether the closed form in floats may stand for the integer kernels in a simulation."""
    first = policy.batch == 1 and policy.chain.order == 1 and policy.enforced
    return first and policy.rule == "closed-form" and policy.distortion == "hamming" and not policy.prepared


def _simulate(policy: SequencePolicy, codes: Ints, rng: np.random.Generator) -> Ints:
    """The closed form without a kernel written out: the same law within the margin of the integers."""
    beliefs = _begun(policy, len(codes))
    epsilon = capped(policy.epsilon)
    found = np.empty_like(codes)
    last = codes.shape[1] - 1
    for t in range(codes.shape[1]):
        policy.record(t)
        found[:, t], after = release_many(beliefs, epsilon, codes[:, t], rng)
        if t < last:
            beliefs = after @ policy.chain.step(t)
            beliefs /= beliefs.sum(axis=1, keepdims=True)
    return found


def _walk(
    policy: SequencePolicy,
    codes: Ints,
    lengths: Ints,
    beliefs: Floats,
    step: int,
    rng: np.random.Generator | None,
) -> tuple[Ints, Floats]:
    """Releases (users, records), and the beliefs in the end; rows beyond their lengths are left alone."""
    found, beliefs = codes.copy(), beliefs.copy()
    for first in range(0, codes.shape[1], policy.batch):
        record = policy.record(step)
        left = np.minimum(lengths - first, policy.batch)
        for length in np.unique(left[left > 0]).tolist():
            users = np.flatnonzero(left == length)
            part = policy.part(length)
            kernels = part.weights(beliefs[users], record)
            at = np.arange(len(users))
            drawn = draw(kernels[at, _inputs(part, codes[users, first : first + length])], rng)
            found[users, first : first + length] = _letters(part, drawn)
            columns = kernels[at, :, drawn].astype(np.float64)
            beliefs[users] = part.filter.after(beliefs[users], columns, record)
        step += 1
    return found, beliefs


def _inputs(part: Part, codes: Ints) -> Ints:
    """Positions of words given by the positions of their letters."""
    if part.setting.batch == 1:
        return codes[:, 0]
    n = len(part.setting.letters)
    scale = n ** np.arange(part.setting.batch - 1, -1, -1, dtype=np.int64)
    return np.searchsorted(part.setting.paths.words @ scale, codes @ scale).astype(np.int64)


def _letters(part: Part, drawn: Ints) -> Ints:
    """Positions of the letters, or columns, of released words; shape (users, letters)."""
    if part.setting.batch == 1:
        return drawn[:, None]
    n, m = part.setting.letter_cost.shape
    if n == m:
        return part.setting.paths.words[drawn]
    scale = m ** np.arange(part.setting.batch - 1, -1, -1, dtype=np.int64)
    return np.asarray(drawn[:, None] // scale % m)
