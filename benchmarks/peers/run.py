"""Peers asked, each in a process of its own, their answers judged, and the command that does it."""

from __future__ import annotations

import csv
import shlex
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from privopt.benchmarks.peers.instances import left_out, peer_instances
from privopt.benchmarks.peers.page import HEADER, cells, page, sentences
from privopt.benchmarks.peers.peer import Peer, peers
from privopt.benchmarks.peers.rows import PeerRow, filled, summaries
from privopt.benchmarks.runner.folder import prepare
from privopt.benchmarks.runner.machine import environment
from privopt.benchmarks.runner.process import GRACE, PROVING, WARMING, Limits, Server, death
from privopt.benchmarks.runner.suite import Instance
from privopt.cli.show import check_output, emit, progress, table
from privopt.core.problem import Problem
from privopt.errors import InvalidProblem
from privopt.files.json import writing
from privopt.files.numbers import encode_float

EASIER = 0.8
"""Of the budget of the smallest instance that a peer takes: the problem that warms both tools up."""
PRELOADED = ("cvxpy", "networkx")
"""What many peers need, imported once before their processes are forked."""
Listener = Callable[[int, int, str], None]
"""Told how many tasks are done, of how many, and which one begins."""


def chosen_peers(names: Collection[str] = (), kinds: Collection[str] = ()) -> tuple[Peer, ...]:
    """The peers of some names ("highs" or "belief_release/highs") and problems; all where none is given.

    Raises
    ------
    InvalidProblem
        If there is no peer or no problem of that name.
    """
    every = tuple(peers().values())
    known = {"peer": {n for p in every for n in (p.name, p.key)}, "problem": {p.kind for p in every}}
    for what, wanted in (("peer", names), ("problem", kinds)):
        for name in sorted(set(wanted) - known[what]):
            raise InvalidProblem(f"there is no {what} {name!r}; there are {', '.join(sorted(known[what]))}")
    return tuple(
        p for p in every if (not names or {p.name, p.key} & set(names)) and (not kinds or p.kind in kinds)
    )


def compare_with(
    chosen: Sequence[Peer],
    instances: Sequence[Instance],
    limit: float,
    memory: float = 4.0,
    listener: Listener | None = None,
) -> tuple[PeerRow, ...]:
    """Every peer at every instance of its problem and every budget, one after another.

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
        "question": peer.kind,
        "peer": peer.name,
        "instance": instance.name,
        "size": instance.size,
        "budget": instance.problem.budget,
    }


def _tasks(peer: Peer, instances: Sequence[Instance]) -> Iterator[tuple[Peer, Instance, Problem[Any] | None]]:
    """A peer's instances with one budget each, and its easy problem, None where it takes no instance."""
    own = [one for one in instances if one.problem.kind == peer.kind]
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
    ended = server.run(task_of(peer, instance.problem, easy, limit))
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
    return f"the easy problem and privopt's answer did not end within {WARMING:g} s"


def task_of(peer: Peer, problem: Problem[Any], easy: Problem[Any], limit: float) -> dict[str, Any]:
    """What the process of one task needs, JSON-safe."""
    return {"peer": peer.key, "time_limit": limit, "easy": _written(easy), "hard": _written(problem)}


def _written(problem: Problem[Any]) -> dict[str, Any]:
    return {"problem": problem.to_dict(), "budget": encode_float(problem.budget)}


CSV = "peers.csv"
LIMITS = {True: 1.0, False: 5.0}
"""Seconds that either tool has, by whether the run is quick."""


def peers_command(
    quick: bool,
    folder: Path,
    report: Path,
    names: Collection[str] = (),
    kinds: Collection[str] = (),
    time_limit: float | None = None,
    as_json: bool = False,
) -> None:
    """Compare with peers, write the rows and the page, print the table.

    Raises
    ------
    InvalidProblem
        If there is no peer or problem of a name.
    FileRefused
        If the folder or the page cannot be written.
    """
    chosen, limit = chosen_peers(names, kinds), time_limit or LIMITS[quick]
    prepare(folder)
    check_output(report)
    when, begun = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), time.monotonic()
    with progress("comparing with peers") as tell:
        rows = compare_with(
            chosen, peer_instances(quick), limit, listener=lambda i, n, what: tell(i / max(n, 1), what)
        )
    write_peers(folder / CSV, rows)
    with writing(report) as stream:
        stream.write(page(rows, when, time.monotonic() - begun, environment(), _command(quick, names, kinds)))
    if as_json:
        emit(_document(rows, folder, report))
        return
    table(map(cells, summaries(rows)), HEADER)
    absent = [left_out()] if not quick and any(peer.kind == "metric_privacy" for peer in chosen) else []
    print("\n".join((*sentences(rows), *filter(None, absent), f"Rows: {folder / CSV}", f"Report: {report}")))


def _command(quick: bool, names: Collection[str], kinds: Collection[str]) -> str:
    chosen = [word for name in names for word in ("--peer", name)]
    chosen += [word for name in kinds for word in ("--problem", name)]
    return shlex.join(("privopt", "bench", "peers", *(["--quick"] if quick else []), *chosen))


def write_peers(path: Path, rows: Sequence[PeerRow]) -> None:
    """Write every row as CSV, whole or not at all.

    Raises
    ------
    FileRefused
        If the file cannot be written.
    """
    with writing(path) as stream:
        lines = [row.to_dict() for row in rows]
        names = list(lines[0]) if lines else []
        sheet = csv.DictWriter(stream, names, lineterminator="\n")
        sheet.writeheader()
        sheet.writerows(lines)


def _document(rows: Sequence[PeerRow], folder: Path, report: Path) -> dict[str, Any]:
    lines = [
        {k: encode_float(v) if isinstance(v, float) else v for k, v in asdict(one).items()}
        for one in summaries(rows)
    ]
    return {
        "peers": lines,
        "rows": [row.to_dict() for row in rows],
        "summary": list(sentences(rows)),
        "folder": str(folder),
        "report": str(report),
    }
