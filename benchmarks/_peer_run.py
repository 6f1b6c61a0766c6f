"""Run peers: each task in a limited process of its own, in which privopt does the same work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

from privopt._numbers import encode_float
from privopt._problem import Problem
from privopt.benchmarks._peer_rows import PeerRow, filled
from privopt.benchmarks._peers import Peer, peers
from privopt.benchmarks.runner.process import GRACE, PROVING, WARMING, Limits, Server, death
from privopt.benchmarks.runner.suite import Instance
from privopt.errors import InvalidProblem

EASIER = 0.8
"""Of the budget of the smallest instance that a peer takes: the question that warms both tools up."""
PRELOADED = ("cvxpy", "networkx")
"""What many peers need, imported once before their processes are forked."""
Listener = Callable[[int, int, str], None]
"""Told how many tasks are done, of how many, and which one begins."""


def chosen_peers(names: Collection[str] = (), questions: Collection[str] = ()) -> tuple[Peer, ...]:
    """The peers of some names ("highs" or "belief_release/highs") and questions; all where none is given.

    Raises
    ------
    InvalidProblem
        If there is no peer or no question of that name.
    """
    every = tuple(peers().values())
    known = {"peer": {n for p in every for n in (p.name, p.key)}, "question": {p.question for p in every}}
    for what, given in (("peer", names), ("question", questions)):
        for name in sorted(set(given) - known[what]):
            raise InvalidProblem(f"there is no {what} {name!r}; there are {', '.join(sorted(known[what]))}")
    return tuple(
        p
        for p in every
        if (not names or {p.name, p.key} & set(names)) and (not questions or p.question in questions)
    )


def compare_with(
    chosen: Sequence[Peer],
    instances: Sequence[Instance],
    limit: float,
    memory: float = 4.0,
    listener: Listener | None = None,
) -> tuple[PeerRow, ...]:
    """Every peer at every instance of its question and every budget, one after another.

    Parameters
    ----------
    chosen, instances
        The first instance that a peer takes warms it up.
    limit : float
        Seconds that either tool has.
    memory : float
        GiB of address space of each process.
    """
    tasks = [task for peer in chosen for task in _tasks(peer, instances)]
    rows = []
    with ExitStack() as open_servers:
        server: Server | None = None
        for i, (peer, instance, easy) in enumerate(tasks):
            if listener is not None:
                listener(i, len(tasks), f"{peer.key} at {instance.name}")
            why = peer.refusal(instance.problem)
            if why is not None or easy is None:
                rows.append(PeerRow(**_labels(peer, instance), status="refused", reason=why or ""))
                continue
            if server is None:  # it takes a second to start, which a run of refusals need not pay
                server = open_servers.enter_context(closing(Server(Limits(memory), _shared(chosen))))
            rows.append(_run(server, peer, instance, easy, limit))
    return tuple(rows)


def _shared(chosen: Sequence[Peer]) -> list[str]:
    """What to import before processes are forked."""
    return [name for name in PRELOADED if any(name in peer.requires for peer in chosen)]


def _labels(peer: Peer, instance: Instance) -> dict[str, Any]:
    return {
        "question": peer.question,
        "peer": peer.name,
        "instance": instance.name,
        "size": instance.size,
        "budget": instance.problem.budget,
    }


def _tasks(peer: Peer, instances: Sequence[Instance]) -> Iterator[tuple[Peer, Instance, Problem[Any] | None]]:
    """A peer's instances with one budget each, and its easy question, None where it takes no instance."""
    own = [one for one in instances if one.problem.kind == peer.question]
    expanded = [
        replace(one, problem=one.problem.with_budget(budget), budgets=())
        for one in own
        for budget in (one.budgets or (one.problem.budget,))
    ]
    first = next((one.problem for one in expanded if peer.refusal(one.problem) is None), None)
    easy = None if first is None else first.with_budget(EASIER * first.budget)
    for one in expanded:
        yield peer, one, easy


def _run(server: Server, peer: Peer, instance: Instance, easy: Problem[Any], limit: float) -> PeerRow:
    ended = server.run(asked_of(peer, instance.problem, easy, limit))
    row = filled(_labels(peer, instance), ended["told"])
    if row.status != "ended":
        return row
    if ended["code"] is None:
        return replace(row, reason=_late(ended["told"], limit))
    return replace(row, reason=death(ended["code"], ended["noise"], server.limits.memory))


def _late(told: Mapping[str, Any], limit: float) -> str:
    """Why a task was ended at a deadline, from how far it came."""
    if "seconds" in told:
        return f"judging its mechanism did not end within {PROVING:g} s"
    if "ours" in told:
        return f"did not stop within {GRACE:g} s after its limit of {limit:g} s"
    return f"the easy question and privopt's answer did not end within {WARMING:g} s"


def asked_of(peer: Peer, problem: Problem[Any], easy: Problem[Any], limit: float) -> dict[str, Any]:
    """What the process of one task needs, JSON-safe."""
    return {"peer": peer.key, "time_limit": limit, "easy": _written(easy), "hard": _written(problem)}


def _written(problem: Problem[Any]) -> dict[str, Any]:
    return {"problem": problem.to_dict(), "budget": encode_float(problem.budget)}
