"""Files that are made to keep a checker busy: refused at once and in a sentence, whatever they declare."""

from __future__ import annotations

import copy
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oracles import crafted_files, crafted_kinds, crafted_proofs, crafted_streams
from oracles.planted_proofs import Lines

from privopt.proof.write import CHECKERS, FOLDER

MEMORY = 256 << 20
"""Bytes that a checker of a small file may have, its interpreter included."""
SECONDS = 20
"""Seconds of a processor that it may take."""
NUMBERS: dict[str, str] = {
    "a large count": str(10**18),
    "a negative count": "-1",
    "no integer": "1.5",
    "a text": '"1"',
    "a truth value": "true",
    "nothing": "null",
    "infinity": "1e999",
    "a million digits": "9" * 10**6,
    "a text of a million digits": f'"{"9" * 10**6}"',
    "a fraction of a million digits": f'"1/{"7" * 10**6}"',
    "lists in lists": "[" * 10**5 + "]" * 10**5,
    "objects in objects": '{"a":' * 10**5 + "1" + "}" * 10**5,
}
MARK = "hostile"


def base(kind: str) -> Lines:
    """A small file of a kind that is accepted."""
    made = [crafted_proofs.plain()] if kind == "linear" else list(crafted_kinds.MADE[kind]())
    return max(made, key=lambda lines: len(json.dumps(lines)))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a file holds anything, but of alike entries of a list only the first."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*path, key))
    if isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def put(lines: Lines, path: tuple[Any, ...]) -> Lines:
    """The file with a mark in a place."""
    changed = copy.deepcopy(lines)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = MARK
    return changed


def limited() -> None:
    """Little memory and little time, for a process that begins."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


RUN = """
import contextlib, importlib.util, io, json, sys
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
for path in json.load(sys.stdin):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            program.main(sys.argv[2], program.check, path)
        print("accepted", flush=True)
    except SystemExit as end:
        print(str(end.code)[:80].replace(chr(10), " "), flush=True)
"""
"""The same as the program alone, for many files: an interpreter takes longer to begin than a file to be refused."""


def verdicts(kind: str, texts: list[str], folder: Path) -> list[str]:
    """What a checker with little memory says of files."""
    paths = []
    for i, text in enumerate(texts):
        paths.append(str(folder / f"{i}.txt"))
        Path(paths[-1]).write_text(text, encoding="utf-8")
    command = [sys.executable, "-I", "-S", "-c", RUN, str(FOLDER / CHECKERS[kind]), kind]
    ended = subprocess.run(
        command, input=json.dumps(paths), capture_output=True, text=True, check=False, preexec_fn=limited
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout.splitlines()


def text_of(lines: Lines, value: str) -> str:
    """A file as text, a value in place of the mark."""
    return "".join(json.dumps(line).replace(f'"{MARK}"', value) + "\n" for line in lines)


@pytest.mark.parametrize("kind", CHECKERS)
def test_whatever_a_number_is_a_checker_ends_at_once(kind: str, tmp_path: Path) -> None:
    lines = base(kind)
    marked = [put(lines, path) for path in places(lines)]
    few = {name: NUMBERS[name] for name in NUMBERS if "million" not in name}
    texts = [text_of(lines, ""), *(text_of(m, v) for m in marked for v in few.values())]
    said = verdicts(kind, texts, tmp_path)
    assert len(said) == len(texts)
    assert said[0] == "accepted"
    assert all(line == "accepted" or line.startswith("REFUSED: ") for line in said)
    nested = [i for i, text in enumerate(texts) if "[[[[[[[[" in text or '{"a":{"a":' in text]
    assert nested
    assert all("RecursionError" in said[i] for i in nested)


@pytest.mark.parametrize("kind", CHECKERS)
def test_numbers_of_a_million_digits_are_not_read(kind: str, tmp_path: Path) -> None:
    lines = base(kind)
    marked = [put(lines, path) for path in places(lines)]
    read = [put(lines, (0, "bits"))]
    values = [value for name, value in NUMBERS.items() if "million" in name]
    texts = [text_of(m, values[0]) for m in marked[:: max(1, len(marked) // 10)]]
    said = verdicts(kind, texts + [text_of(m, v) for m in read for v in values], tmp_path)
    assert len(said) == len(texts) + len(values)
    assert all(line.startswith("REFUSED: ValueError") for line in said)


def _linear(**fields: Any) -> Lines:
    """A file without claims about inputs that are all released alike."""
    lines = crafted_proofs.plain(notion="pairs", pairs=[], levels={}, **fields)[:4]
    inputs = len(lines[1]["distribution"][0])
    lines[2], lines[3] = {"rows": [[1]], "of": [0] * inputs}, {}
    return lines


def _information() -> Iterator[tuple[str, Lines]]:
    lines = crafted_files.lines("information", _LIP, {"rows": [[1]]}, {"information": 0})
    lines[1]["distribution"], lines[2]["of"] = [[1] * 30_000], [0] * 30_000
    yield "up to 1000 symbols", lines
    lines = crafted_files.lines(
        "information", _LIP, {"rows": [[1]]}, {"information": 0}, {"prices": [0] * 60, "bound": 9}
    )
    lines[1]["distribution"], lines[2]["of"] = (
        [[int(i == j) + 60 for j in range(60)] for i in range(60)],
        [0] * 60,
    )
    yield "too many vertices", lines


_LIP: Any = {"notion": "lip", "slack": 0, "levels": {"upper": crafted_files.HALF}}
_CHAIN: Any = {
    **crafted_streams.CHAIN,
    "initial": [1] * 10**4,
    "steps": [],
    "step_of": [],
    "weights": [1],
    "private": [0],
}


def large() -> Iterator[tuple[str, Lines]]:
    """What a checker says, and a small file with which it would fill its memory."""
    make, half = crafted_files.lines, crafted_files.HALF
    secrets = _linear(distribution=[[1]] * 30_000)
    secrets[1].update(notion="ldp", levels={"upper": half})
    yield "up to 2000 secrets", secrets
    cells = _linear(distribution=[[1] * 10**5])
    cells[2]["rows"] = [[1] * 10**4]
    yield "up to 4 million probabilities", cells
    losses = _linear(distribution=[[1] * 10**4], loss=[[0] * 10**4], loss_of=[0] * 10**4)
    losses[3] = {"cost": 0}
    yield "up to 4 million losses", losses
    yield from _information()
    exceptions = {"distribution": [[1]] * 40, "delta": 1, "levels": {"upper": half}, "loss": [[0]]}
    yield (
        "up to 10 secrets",
        make("exceptions", exceptions, {"rows": [[1]]}, {"cost": 0}, {"price": 0, "prices": [], "bound": 0}),
    )
    priced = {"secret": 1, "useful": -1, "prices": [0], "tree": [{"slopes": [0], "r": [1]}], "bound": 9}
    yield (
        "up to 1000 symbols",
        make("trade_off", {"distribution": [[1]] * 30_000}, {"rows": [[1]]}, {}, priced),
    )
    whole = {"kind": "interval", "lower": [0] * 20_000, "upper": [1] * 20_000}
    point = {"kind": "interval", "lower": [1], "upper": [1]}
    over = {
        "distribution": [[1] * 20_000],
        "notion": "lip",
        "levels": {"upper": half},
        "rows": [whole],
        "prior": point,
    }
    yield "up to 1000 symbols", make("sets", over, {"rows": [[1]], "of": [0] * 20_000}, {})
    yield "up to 1000 values", make("redaction", _CHAIN, {"hide": [[1] * 10**4], "total": 1}, {})
    known = {"depths": [0, 0], "tree": [None], "nodes": [0, 2**60], "bound": 1}
    yield "up to 1000 values", make("redaction_bounds", _CHAIN, {}, {}, known)
    letters = {
        "initial": [1, 1],
        "steps": [[[3, 1], [2, 2]]],
        "step_of": [0] * 60,
        "loss": [[0, 1], [1, 0]],
        "levels": {"letter": crafted_streams.NOISE["leak"]},
    }
    yield (
        "one belief",
        make("sequence", letters, {"kernels": [{"rows": [[1, 2], [2, 1]]}], "next": [[0, 0]]}, {"cost": 1}),
    )
    apart = {
        "levels": crafted_streams.NOISE,
        "sensitivity": 1,
        "apart": 1,
        "grid": 1,
        "covariance": [[int(i == j) for j in range(40)] for i in range(40)],
    }
    yield (
        "up to 12 records",
        make("gaussian_noise", apart, {"noise": "laplace", "scale": 2}, {}, {"method": "subsets"}),
    )


@pytest.mark.parametrize("place", range(len(list(large()))))
def test_a_small_file_does_not_fill_the_memory(place: int, tmp_path: Path) -> None:
    why, lines = list(large())[place]
    (said,) = verdicts(lines[0]["kind"], [text_of(lines, "")], tmp_path)
    assert said.startswith("REFUSED: ValueError: ")
    assert why in said


def test_inputs_that_never_occur_take_no_table(tmp_path: Path) -> None:
    lines = _linear(distribution=[[0] * 10**4 + [1]])
    lines[1].update(_LIP)
    assert verdicts("linear", [text_of(lines, "")], tmp_path) == ["accepted"]
