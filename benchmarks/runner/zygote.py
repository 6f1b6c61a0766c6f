"""The process that forks tasks: it has imported what all need, has run none of it, and watches each child.

Started by :mod:`privopt.benchmarks.runner.process` as ``python -m privopt.benchmarks.runner.zygote DESCRIPTOR [MODULE ...]``.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, NoReturn

from privopt.benchmarks.runner.process import GRACE, PROVING, WARMING, Limits

LINGERING = 1.0
"""Seconds that a process may take to end after its last word."""
PRELOADED = (
    "numpy",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "flint",
    "jsonschema",
)


def main() -> None:
    """Serve tasks until the other end of the descriptor closes."""
    connection = Connection(int(sys.argv[1]))
    begun = time.monotonic()
    preload(sys.argv[2:])
    with contextlib.suppress(EOFError, ConnectionError):  # the caller went away: nothing is left to do
        connection.send_bytes(json.dumps({"start_seconds": time.monotonic() - begun}).encode())
        gc.collect()
        gc.freeze()
        while True:
            task = json.loads(connection.recv_bytes())
            connection.send_bytes(json.dumps(run(task, connection)).encode())


def preload(more: Sequence[str] = ()) -> None:
    """Import what every task needs, and more where it is installed; nothing is run, and no thread is started."""
    from privopt.core.folders import import_below

    for name in ("privopt.benchmarks.runner.work", "privopt.benchmarks.peers.peer", *PRELOADED):
        importlib.import_module(name)
    for package in ("privopt.problems", "privopt.solvers"):
        import_below(package)
    for name in more:
        if find_spec(name) is not None:
            importlib.import_module(name)


def run(task: Mapping[str, Any], caller: Connection) -> dict[str, Any]:
    """One task in a forked process: what it told, how it ended, its largest memory.

    ``told`` merges its messages; ``phases`` counts them; ``code`` is the exit code, negative for a
    signal, None if it was ended here at its deadline.
    """
    reader, writer = Pipe(duplex=False)
    with tempfile.TemporaryFile() as noise:
        child = os.fork()
        if child == 0:
            caller.close()
            reader.close()
            _be_the_task(task, writer, noise.fileno())
        writer.close()
        told, late = _watch(child, reader, caller, task["time_limit"])
        reader.close()
        code, peak = _reap(child)
        noise.seek(max(0, noise.seek(0, os.SEEK_END) - 4096))
        words = noise.read().decode(errors="replace")
    return {"told": told, "code": None if late else code, "peak_memory": peak, "noise": words}


def _be_the_task(task: Mapping[str, Any], writer: Connection, noise: int) -> NoReturn:
    """In the child: bind it, work, end without running anything that was inherited."""
    from privopt.benchmarks.peers.peer import peer_work
    from privopt.benchmarks.runner.work import work

    code = 1
    try:
        Limits(task["memory"]).apply()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor, target in ((nowhere, 0), (nowhere, 1), (noise, 2)):
            os.dup2(descriptor, target)
        do = peer_work if "peer" in task else work
        do(task, lambda told: writer.send_bytes(json.dumps(told, allow_nan=False).encode()))
        writer.send_bytes(b'{"end": true}')
        code = 0
    except BaseException as cause:  # noqa: BLE001 - the process ends here; its last words are kept
        os.write(2, f"{type(cause).__name__}: {cause}".encode(errors="replace"))
    finally:
        os._exit(code)


def _watch(child: int, reader: Connection, caller: Connection, limit: float) -> tuple[dict[str, Any], bool]:
    """Collect what the child reports, and whether it missed the deadline of its phase."""
    told: dict[str, Any] = {"phase": 0}
    ended = os.pidfd_open(child)
    deadline = time.monotonic() + WARMING
    try:
        while True:
            ready = wait([reader, caller, ended], max(0.0, deadline - time.monotonic()))
            if not ready or caller in ready:  # the caller speaks to a busy server only by going away
                _kill(child)
                if ready:
                    os._exit(0)
                return told, True
            if reader not in ready:
                return told, False
            if not _hear(reader, told):
                return told, False
            deadline = time.monotonic() + (limit + GRACE if told["phase"] == 1 else PROVING)
    finally:
        os.close(ended)


def _kill(child: int) -> None:
    """End a task with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
        os.killpg(child, signal.SIGKILL)


def _hear(reader: Connection, told: dict[str, Any]) -> bool:
    """Take one message in; False at the last."""
    try:
        message = json.loads(reader.recv_bytes())
    except (EOFError, OSError):
        return False
    told.update(message)
    told["phase"] += 1
    return "end" not in message


def _reap(child: int) -> tuple[int, float]:
    """End whatever is left of the child's session; its exit code and largest resident size in MiB."""
    deadline = time.monotonic() + LINGERING
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.001)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # grandchildren; the number is still ours: the child is not reaped
    for name in Path("/dev/shm").glob(f"sem.loky-{child}-*"):  # loky's semaphores outlive a killed process
        name.unlink(missing_ok=True)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
