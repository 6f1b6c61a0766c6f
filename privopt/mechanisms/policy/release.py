"""Running a policy on streams, on one sequence, and on the sequences of many users, exactly or in simulation.

Many users go step by step with a bounded number of kernels in memory. Data that the chain rules out are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels
from privopt.files.private import shown
from privopt.mechanisms.columns import ReleasedArray, decode, encode
from privopt.mechanisms.policy.formulas.closed import capped
from privopt.mechanisms.policy.hamming import release_many
from privopt.mechanisms.policy.journal import PolicyJournal, PolicyState
from privopt.mechanisms.policy.kernel import draw
from privopt.mechanisms.policy.part import CELLS, Part
from privopt.mechanisms.policy.setting import letter_of, reachable
from privopt.mechanisms.policy.stepwise import StepwisePolicy
from privopt.models import MarkovChain
from privopt.models.validation import is_missing

Progress: TypeAlias = Callable[[float, str], None]


def release(
    policy: StepwisePolicy,
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
    labels = iter([policy.letters[code] if code >= 0 else None for code in codes.tolist()])
    words = list(stream(policy, labels, rng, journal))
    flat = words if policy.batch == 1 else [letter for word in words for letter in word]
    places: dict[Label | None, int] = {label: i for i, label in enumerate(outputs_of(policy))}
    places[None] = -1  # a gap
    return decode_releases(np.array([places[label] for label in flat]), data, policy, rng)


def outputs_of(policy: StepwisePolicy) -> Labels:
    """Labels of the releases of single letters."""
    return policy.part(1).setting.columns


def decode_releases(codes: Ints, like: Any, policy: StepwisePolicy, rng: np.random.Generator | None) -> Any:
    """Labels of released letters in the container of the data."""
    return decode(codes, codes < 0, like, outputs_of(policy), rng is not None)


def codes_of(data: Any, letters: Labels) -> Ints:
    """Positions of letters, -1 where they are missing; at once where the data are integers and the letters 0 .. n-1."""
    plain = letters == tuple(range(len(letters))) and not any(isinstance(a, bool) for a in letters)
    whole = type(data) in (np.ndarray, ReleasedArray) and data.dtype.kind in "iu" and data.ndim in (1, 2)
    if plain and whole and (data.size == 0 or (data.min() >= 0 and data.max() < len(letters))):
        return np.asarray(data, dtype=np.int64)
    return encode(data, letters, gaps=True)


def stream(
    policy: StepwisePolicy,
    data: Iterator[Label | None],
    rng: np.random.Generator | None,
    journal: PolicyJournal,
) -> Iterator[Any]:
    """One release at a time: drawn, recorded, then handed out; None, or a word of it, for what is missing.

    A word of which any letter is missing is missing whole.
    """
    follow = Follower(policy.chain, journal.step == 0)
    places = {label: i for i, label in enumerate(policy.letters)}
    while word := tuple(islice(data, policy.batch)):
        for letter in word:
            follow.check(letter, places)
        if any(map(is_missing, word)):
            journal.write(policy.skip_word(journal.current, len(word)), None)
            yield None if policy.batch == 1 else (None,) * len(word)
            continue
        released, state = policy.step(journal.current, word if policy.batch > 1 else word[0], rng)
        journal.write(state, released)
        yield released


def release_codes(
    policy: StepwisePolicy, codes: Ints, rng: np.random.Generator | None, progress: Progress | None
) -> Ints:
    """Released letters, as positions, for letters (users, records) given as positions.

    At most ``2**19`` cells of kernels are worked on at a time, about 50 MB, or one user if a kernel alone has more.
    """
    fast = rng is not None and _is_plain(policy) and bool((codes >= 0).all())
    chunk = max(1, CELLS // (8 * policy.chain.k)) if fast else policy.part(policy.batch).users
    released = np.empty_like(codes)
    for i in range(0, len(codes), chunk):
        some = codes[i : i + chunk]
        if fast and rng is not None:
            released[i : i + chunk] = _simulate(policy, some, rng)
        else:
            lengths = np.full(len(some), codes.shape[1])
            released[i : i + chunk], _ = _walk(policy, some, lengths, _begun(policy, len(some)), 0, rng)
        if progress is not None:
            done = min(i + chunk, len(codes))
            progress(done / len(codes), f"{done} of {len(codes)} users")
    return released


def release_from(
    policy: StepwisePolicy,
    codes: Sequence[Ints],
    states: Sequence[PolicyState],
    rng: np.random.Generator | None,
) -> tuple[list[Ints], list[PolicyState]]:
    """What users release of their next letters, and where that leaves them; sequences may differ in length.

    Parameters
    ----------
    codes : sequence of int arrays
        Positions of the next letters of each user, -1 for what is missing; a word with a missing letter is missing.
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
        drawn, moved = _walk(policy, table, lengths, beliefs, step, rng)
        for row, belief, i in zip(drawn, moved.tolist(), some, strict=True):
            released[i] = row[: len(codes[i])]
            steps, rest = divmod(len(codes[i]), policy.batch)
            after[i] = PolicyState(step + steps + (rest > 0), tuple(belief), rest > 0)
    return released, after


def _begun(policy: StepwisePolicy, users: int) -> Floats:
    return np.tile(np.array(policy.start().belief), (users, 1))


def _is_plain(policy: StepwisePolicy) -> bool:
    """Whether the closed form in floats may stand for the integer kernels in a simulation."""
    first = policy.batch == 1 and policy.chain.order == 1 and policy.enforced and policy.ambiguity is None
    first = first and not policy.rounding
    return first and policy.rule == "closed-form" and policy.distortion == "hamming" and not policy.prepared


def _simulate(policy: StepwisePolicy, codes: Ints, rng: np.random.Generator) -> Ints:
    """The closed form without a kernel written out: the same distribution within the margin of the integers."""
    beliefs = _begun(policy, len(codes))
    epsilon = capped(policy.epsilon)
    released = np.empty_like(codes)
    last = codes.shape[1] - 1
    for t in range(codes.shape[1]):
        policy.record(t)
        released[:, t], after = release_many(beliefs, epsilon, codes[:, t], rng)
        if t < last:
            beliefs = after @ policy.chain.step(t)
            beliefs /= beliefs.sum(axis=1, keepdims=True)
    return released


def _walk(
    policy: StepwisePolicy,
    codes: Ints,
    lengths: Ints,
    beliefs: Floats,
    step: int,
    rng: np.random.Generator | None,
) -> tuple[Ints, Floats]:
    """Releases (users, records), and the beliefs in the end; rows beyond their lengths are left alone."""
    released, beliefs = codes.copy(), beliefs.copy()
    for first in range(0, codes.shape[1], policy.batch):
        record = policy.record(step)
        left = np.minimum(lengths - first, policy.batch)
        for length in np.unique(left[left > 0]).tolist():
            users = np.flatnonzero(left == length)
            part = policy.part(length)
            missing = (codes[users, first : first + length] < 0).any(axis=1)
            if missing.any():  # a gap, see StepwisePolicy.skip
                gone, users = users[missing], users[~missing]
                released[gone, first : first + length] = -1
                beliefs[gone] = part.filter.after(beliefs[gone], np.ones((len(gone), part.shape[0])), record)
                if not users.size:
                    continue
            kernels = part.weights(beliefs[users], record)
            at = np.arange(len(users))
            drawn = draw(kernels[at, _inputs(part, codes[users, first : first + length])], rng)
            released[users, first : first + length] = _letters(part, drawn)
            columns = kernels[at, :, drawn].astype(np.float64)
            beliefs[users] = part.filter.after(beliefs[users], columns, record)
        step += 1
    return released, beliefs


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


@dataclass
class Follower:
    """The states that the letters of a stream leave possible.

    Parameters
    ----------
    chain : MarkovChain
    fresh : bool
        Whether the stream begins with record 0; later on nothing is known of the letter before, which no journal holds.

    Examples
    --------
    >>> follow = Follower(MarkovChain([[0.5, 0.5], [1.0, 0.0]]), True)
    >>> follow.check(1, {0: 0, 1: 1})
    >>> try:
    ...     follow.check(1, {0: 0, 1: 1})
    ... except InvalidMechanism as fault:
    ...     print(fault)
    record 1: the letter cannot follow the letters before it under the chain; drop it or fit a chain that allows it
    """

    chain: MarkovChain
    fresh: bool
    record: int = 0
    can: Bools | None = field(default=None, repr=False)

    def check(self, letter: Label | None, places: dict[Label, int]) -> None:
        """Take the next letter; one that is missing may have been any.

        Raises
        ------
        InvalidMechanism
            If it is unknown or impossible, with its position in the stream.
        """
        code = -1
        try:
            if not is_missing(letter):
                code = places[letter]
        except (KeyError, TypeError):
            known = ", ".join(repr(s) for s in list(places)[:8])
            raise InvalidMechanism(
                f"record {self.record}: {shown(letter, 'the letter')} is not one of the states {known}; recode or drop it"
            ) from None
        last = self.chain.max_length
        if last is not None and self.record >= last:
            raise InvalidMechanism(
                f"record {self.record} is beyond the chain, which has {last} records: give more matrices"
            )
        can = self._next()
        if self.exact and code >= 0:
            can = can & (letter_of(self.chain) == code)
        if not can.any():
            raise InvalidMechanism(refusal(f"record {self.record}", letter, self.record))
        self.can, self.record = can, self.record + 1

    def _next(self) -> Bools:
        """The states that may follow."""
        if self.can is None:
            return _initial(self.chain) if self.fresh else np.ones(self.chain.k, dtype=np.bool_)
        if not self.exact:
            return self.can
        step = self.chain.phase(self.record - 1)
        return np.asarray(reachable(self.chain, step)[self.can].any(axis=0))

    @property
    def exact(self) -> bool:
        """Whether transitions are checked: a chain of many matrices is only followed from its beginning."""
        return self.fresh or self.chain.homogeneous


def refusal(where: str, letter: Label | None, record: int) -> str:
    """The sentence about a letter that cannot be there."""
    if record == 0:
        return (
            f"{where}: {shown(letter, 'the letter')} cannot come first under the chain; "
            "drop it or give another initial distribution"
        )
    return (
        f"{where}: {shown(letter, 'the letter')} cannot follow the letters before it under the chain; "
        "drop it or fit a chain that allows it"
    )


def _initial(chain: MarkovChain) -> Bools:
    return np.array([weight > 0 for weight in chain.exact_initial.weights])


def check_transitions(chain: MarkovChain, codes: Ints, single: bool, fresh: bool) -> None:
    """Refuse tables of letters (users, records) that the chain does not allow.

    Raises
    ------
    InvalidMechanism
        With the first such record.
    """
    if chain.max_length is not None and codes.shape[1] > chain.max_length:
        raise InvalidMechanism(
            f"data has {codes.shape[1]} records, the chain {chain.max_length}: cut it or give more matrices"
        )
    if not fresh and not chain.homogeneous:
        return
    own = letter_of(chain)
    full = chain.homogeneous and bool(reachable(chain, 0).all()) and bool(_initial(chain).all() or not fresh)
    if full:
        return
    can: Bools = np.tile(_initial(chain) if fresh else np.ones(chain.k, dtype=bool), (len(codes), 1))
    for t in range(codes.shape[1]):
        if t:
            step = reachable(chain, chain.phase(t - 1))
            can = can.astype(np.float64) @ step > 0
        can &= (own[None, :] == codes[:, t][:, None]) | (codes[:, t] < 0)[:, None]
        bad = np.flatnonzero(~can.any(axis=1))
        if bad.size:
            user = int(bad[0])
            where = f"record {t}" if single else f"row {user}, record {t}"
            raise InvalidMechanism(refusal(where, chain.letters[int(codes[user, t])], t))
