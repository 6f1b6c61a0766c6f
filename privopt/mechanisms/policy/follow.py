"""Whether data can be what the chain says: every letter known, every transition possible."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Bools, Ints
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, short
from privopt.mechanisms.policy.words import letter_of, reachable
from privopt.models import MarkovChain


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
    record 1: letter 1 cannot follow the letters before it under the chain; drop it or fit a chain that allows it
    """

    chain: MarkovChain
    fresh: bool
    record: int = 0
    can: Bools | None = field(default=None, repr=False)

    def check(self, letter: Label, places: dict[Label, int]) -> None:
        """Take the next letter.

        Raises
        ------
        InvalidMechanism
            If it is unknown or impossible, with its position in the stream.
        """
        try:
            code = places[letter]
        except (KeyError, TypeError):
            known = ", ".join(repr(s) for s in list(places)[:8])
            raise InvalidMechanism(
                f"record {self.record}: letter {short(letter)} is not one of the states {known}; recode or drop it"
            ) from None
        last = self.chain.max_length
        if last is not None and self.record >= last:
            raise InvalidMechanism(
                f"record {self.record} is beyond the chain, which has {last} records: give more matrices"
            )
        can = self._next()
        if self.exact:
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
        step = 0 if self.chain.homogeneous else self.record - 1
        return np.asarray(reachable(self.chain, step)[self.can].any(axis=0))

    @property
    def exact(self) -> bool:
        """Whether transitions are checked: a chain of many matrices is only followed from its beginning."""
        return self.fresh or self.chain.homogeneous


def refusal(where: str, letter: Label, record: int) -> str:
    """The sentence about a letter that cannot be there."""
    if record == 0:
        return f"{where}: letter {short(letter)} cannot come first under the chain; drop it or give another initial law"
    return (
        f"{where}: letter {short(letter)} cannot follow the letters before it under the chain; "
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
            step = reachable(chain, 0 if chain.homogeneous else t - 1)
            can = can.astype(np.float64) @ step > 0
        can &= own[None, :] == codes[:, t][:, None]
        bad = np.flatnonzero(~can.any(axis=1))
        if bad.size:
            user = int(bad[0])
            where = f"record {t}" if single else f"row {user}, record {t}"
            raise InvalidMechanism(refusal(where, chain.letters[int(codes[user, t])], t))
