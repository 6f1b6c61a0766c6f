"""Where a released sequence stands, in memory and on disk before anybody sees it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from privopt.errors import FileRefused, InvalidModel
from privopt.files.labels import Label, Labels, decode_label, encode_label
from privopt.files.paths import PRIVATE, reading, target_of, writing_bytes

MAX_BYTES = 2**26


@dataclass(frozen=True)
class PolicyState:
    """What the releases so far tell everybody; nothing else.

    Parameters
    ----------
    step : int
        Number of releases so far.
    belief : tuple of float
        Probabilities of the states of the chain at the next record, given the releases; over a set of chains followed by
        what each is at least over the set, and at most.
    ended : bool
        Whether a word of fewer letters than a batch has ended the sequence.
    """

    step: int
    belief: tuple[float, ...]
    ended: bool = False


@dataclass
class PolicyJournal:
    """The steps of one sequence, each recorded before its release is handed out.

    A run that stopped goes on after the last recorded step and never draws one again: a second draw for the same
    letter would tell more about it than the budget allows. The release of the last recorded step is kept as ``last``, for a
    reader who did not get it. The file is replaced whole (temporary file, flush to disk, rename). It holds what
    everybody may know, beliefs given releases, and no raw letter. Of two runs at once only one records a step; an empty
    file ``.<name>.lock`` beside the journal keeps them apart while it is written.

    Parameters
    ----------
    path : Path or None
        None keeps it in memory.
    policy : str
        Fingerprint of the policy.
    current : PolicyState
        What comes next.
    last : label or None
        The last release recorded; None before the first, and where a gap came last.
    outputs : tuple
        Labels of the releases.

    Examples
    --------
    >>> from privopt.mechanisms import SequencePolicy
    >>> from privopt.models import MarkovChain
    >>> policy = SequencePolicy(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0)
    >>> journal = policy.state()
    >>> first = next(policy.release(iter([0, 1]), state=journal))
    >>> journal.step, journal.last == first
    (1, True)
    """

    path: Path | None
    policy: str
    current: PolicyState
    last: Label | None = None
    outputs: Labels = field(default=(), repr=False)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str] | None, policy: str, start: PolicyState, outputs: Labels
    ) -> Self:
        """The journal in a file, or a new one where there is none.

        Raises
        ------
        FileRefused
            If the file is not a journal, or is that of another policy.
        """
        place = None if path is None else Path(path)
        journal = cls(place, policy, start, None, outputs)
        if place is not None and place.exists():
            journal.current, journal.last = _read(place, policy, start)
        return journal

    @property
    def step(self) -> int:
        """Number of releases recorded."""
        return self.current.step

    def write(self, state: PolicyState, release: Label | None) -> None:
        """Record a release (None for a gap) and the state after it; on return it is on the disk.

        Raises
        ------
        FileRefused
            If it cannot be written, or somebody else has recorded this step meanwhile; nothing is released then.
        """
        if self.path is not None:
            with alone(self.path):
                self._check_step(self.path)
                _write(self.path, document(self.policy, state, release))
        self.current, self.last = state, release

    def _check_step(self, path: Path) -> None:
        if not path.exists():
            return
        recorded, _ = _read(path, self.policy, self.current)
        if recorded.step != self.current.step:
            raise FileRefused(
                f"{path}: step {recorded.step} is recorded, this run stands at {self.current.step}: "
                "another run uses the same journal; stop one of them"
            )


GAP_VERSION = 2
"""Of journals in which a gap came last, and so no release; earlier gaps are in the step and the belief alone."""


def document(policy: str, state: PolicyState, last: Label | None) -> dict[str, Any]:
    """A journal as plain JSON values."""
    return {
        "type": "policy_journal",
        "version": GAP_VERSION if last is None and state.step else 1,
        "policy": policy,
        "step": state.step,
        "belief": list(state.belief),
        "ended": state.ended,
        "last": None if last is None else {"release": encode_label(last)},
    }


def read_document(
    fields: Mapping[str, Any], what: str, policy: str, k: int, over_set: bool = False
) -> tuple[PolicyState, Any]:
    """The state and the last release that :func:`document` wrote, for a policy of k states, perhaps over a set of chains.

    Raises
    ------
    FileRefused
        If it is not of that form, or of another policy.
    """
    version = fields.get("version")
    if fields.get("type") != "policy_journal" or version not in (1, GAP_VERSION):
        raise FileRefused(f"{what}: is not a policy journal of version 1 or {GAP_VERSION}")
    if fields.get("policy") != policy:
        raise FileRefused(f"{what}: is the journal of another policy: give that policy, or another file")
    step, belief, ended, last = (fields.get(name) for name in ("step", "belief", "ended", "last"))
    if type(step) is not int or step < 0 or type(ended) is not bool:
        raise FileRefused(f"{what}: the step is not a number of releases")
    if not isinstance(belief, list) or not all(type(p) in (int, float) and 0 <= p <= 1.1 for p in belief):
        raise FileRefused(f"{what}: the belief is not a list of probabilities")
    if len(belief) != k * (3 if over_set else 1) or not math.isclose(sum(belief[:k]), 1.0, abs_tol=1e-9):
        raise FileRefused(f"{what}: the belief is not one of {k} states")
    if last is not None and (not isinstance(last, dict) or list(last) != ["release"]):
        raise FileRefused(f"{what}: the last release is not of its form")
    if (last is None) != (step == 0 or version == GAP_VERSION):
        raise FileRefused(f"{what}: a last release belongs to a step above 0, and to each of these")
    try:
        label = None if last is None else decode_label(last["release"], "last")
    except InvalidModel as cause:
        raise FileRefused(f"{what}: {cause}") from cause
    return PolicyState(step, tuple(map(float, belief)), ended), label


def _read(path: Path, policy: str, like: PolicyState) -> tuple[PolicyState, Label | None]:
    with reading(path) as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise FileRefused(f"{path}: more than {MAX_BYTES} bytes; no journal is that large")
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as cause:
        raise FileRefused(f"{path}: not valid JSON: {cause}") from cause
    if not isinstance(fields, dict):
        raise FileRefused(f"{path}: is not a policy journal")
    over_set = not math.isclose(sum(like.belief), 1.0, abs_tol=1e-6)
    return read_document(fields, str(path), policy, len(like.belief) // (3 if over_set else 1), over_set)


_HELD: ContextVar[tuple[Path, ...]] = ContextVar("held", default=())
"""The locks that the running thread holds."""


@contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other runs, and other threads, from a file while the block runs; the system lets go when a run is killed.

    The lock is on a file of its own, because the file itself is replaced. Who holds it may take it again within the block.

    Raises
    ------
    FileRefused
        If the lock cannot be had.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with alone(folder / "journal.json"):
    ...     [place.name for place in folder.iterdir()]
    ['.journal.json.lock']
    """
    target = target_of(path)
    place = Path(os.path.realpath(target.parent)) / f".{target.name}.lock"
    if place in _HELD.get():
        yield
        return
    handle = _locked(place)
    before = _HELD.set((*_HELD.get(), place))
    try:
        yield
    finally:
        _HELD.reset(before)
        place.unlink(missing_ok=True)  # still locked: who waits for it finds it gone and makes another
        os.close(handle)


def _locked(place: Path) -> int:
    """An open file of this name that is locked, and was not removed by its last owner meanwhile."""
    import fcntl  # not on every system, where journals in memory still work

    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, PRIVATE)
        except OSError as cause:
            raise FileRefused(f"{place}: cannot be written: {cause.strerror or cause}") from cause
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_open(place, handle):
                return handle
        except OSError as cause:
            os.close(handle)
            raise FileRefused(f"{place}: cannot be locked: {cause.strerror or cause}") from cause
        os.close(handle)


def _is_open(place: Path, handle: int) -> bool:
    """Whether the name still belongs to the open file."""
    try:
        return os.path.samestat(place.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _write(path: Path, fields: Mapping[str, Any]) -> None:
    """Replace a file whole; on return its bytes and its name are on the disk."""
    with writing_bytes(path, private=True) as stream:
        stream.write(json.dumps(fields, allow_nan=False).encode())
