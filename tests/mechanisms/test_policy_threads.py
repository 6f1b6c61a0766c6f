"""One policy used by many threads at once, one journal by two, and a day of one stream."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import privopt as po
from privopt.errors import FileRefused
from privopt.mechanisms.policy import part

CHAIN = po.MarkovChain([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], states=["home", "way", "work"])


def letters(seed: int, count: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [CHAIN.states[i] for i in rng.integers(0, 3, count).tolist()]  # type: ignore[misc]


def released(policy: po.SequencePolicy, seed: int, count: int) -> list[object]:
    return list(policy.release(iter(letters(seed, count)), np.random.default_rng(seed)))


@pytest.mark.parametrize("rule", ["closed-form", "randomised-response"], ids=["computed", "remembered"])
def test_64_threads_on_one_policy_release_what_each_would_alone(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "MEMORY", 40)  # what is remembered is forgotten all the time
    shared = po.SequencePolicy(CHAIN, 1.0, rule=rule)
    expected = [released(po.SequencePolicy(CHAIN, 1.0, rule=rule), seed, 5) for seed in range(4)]
    told: dict[int, list[object]] = {}
    faults: list[BaseException] = []
    start = threading.Barrier(64)

    def act(i: int) -> None:
        try:
            start.wait(60)
            told[i] = released(shared, i % 4, 5)
        except BaseException as cause:  # noqa: BLE001 - shown below, in the thread of the test
            faults.append(cause)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=act, args=(i,)) for i in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert faults == []
    assert [told[i] for i in range(64)] == [expected[i % 4] for i in range(64)]


def test_a_kernel_that_is_forgotten_while_it_is_looked_up_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = po.SequencePolicy(CHAIN, 1.0, rule="randomised-response")
    here = policy.part(1)
    beliefs = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    expected = here.weights(beliefs, 0)
    chunked = part.Part._chunked

    def forgetful(self: part.Part, some: np.ndarray, record: int) -> np.ndarray:  # type: ignore[type-arg]
        self._memory.clear()  # as another thread would, between the two looks of this one
        return chunked(self, some, record)

    monkeypatch.setattr(part.Part, "_chunked", forgetful)
    more = np.vstack([beliefs, [[0.1, 0.1, 0.8]]])
    assert (here.weights(more, 0)[:2] == expected).all()
    assert (here.weights(more, 0).sum(axis=2) == 2**52).all()


def test_of_threads_on_one_journal_one_records_each_step(tmp_path: Path) -> None:
    policy = po.SequencePolicy(CHAIN, 1.0)
    stream, refused = letters(0, 6), list[str]()
    handed: list[object] = []
    start = threading.Barrier(8)

    def act() -> None:
        journal = policy.state(tmp_path / "journal.json")
        start.wait(60)
        try:
            handed.extend(policy.release(iter(stream), state=journal))
        except FileRefused as cause:
            refused.append(str(cause))

    threads = [threading.Thread(target=act) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert policy.state(tmp_path / "journal.json").step == 6
    assert all("another run uses the same journal" in text for text in refused)
    assert len(refused) == 7


class Clock:
    """Seconds that pass only when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def ticks(self, every: float, until: float) -> Iterator[str]:
        """A letter at each tick."""
        rng = np.random.default_rng(7)
        while self.now < until:
            self.now += every
            yield CHAIN.states[int(rng.integers(3))]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("every", "warm"),
    [(300.0, 60), pytest.param(10.0, 2000, marks=pytest.mark.long)],
    ids=["minutes", "seconds"],
)
def test_a_day_of_a_stream_takes_no_more_memory_than_its_begin(every: float, warm: int) -> None:
    clock, policy = Clock(), po.SequencePolicy(CHAIN, 1.0)
    total = int(86_400 / every)
    most, count = [0, 0], 0
    for count, _ in enumerate(policy.release(clock.ticks(every, 86_400.0), np.random.default_rng(0)), 1):
        if count >= warm:
            half = int(2 * count > total + warm)
            most[half] = max(most[half], sys.getallocatedblocks())
    assert count == total
    assert clock.now == 86_400.0
    assert most[1] < most[0] + 300
