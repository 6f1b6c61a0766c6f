"""Files that are no files, names that are no names, and contents that would fill the memory: one sentence, and nothing is harmed."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import privopt as po
from privopt.errors import FileRefused
from privopt.files import json as json_files
from privopt.files import paths
from privopt.files.csv import raw_cell, read_table, safe_cell, write_table
from privopt.files.json import check_schema, parse_json, read_json, write_json, writing
from privopt.files.paths import reading, writing_bytes
from privopt.mechanisms.policy.journal import alone
from privopt.publication.released import read_released

READERS: dict[str, Callable[[Path], object]] = {
    "json": read_json,
    "csv": lambda path: read_table(path, ["a"]),
    "released": read_released,
    "problem": po.load_problem,
}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def mask() -> Any:
    """New files would be open to everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_that_nobody_writes_to_is_given_up(
    tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "PATIENCE", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileRefused, match=r"pipe: is a pipe into which nobody wrote for 0\.05 seconds"):
        READERS[reader](tmp_path / "pipe")


def test_a_pipe_is_read_to_its_end_however_slowly_it_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        with (tmp_path / "pipe").open("w") as stream:
            for part in ('{"a"', ": [1,", " 2]}"):
                stream.write(part)
                stream.flush()
                time.sleep(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    assert read_json(tmp_path / "pipe") == {"a": [1, 2]}
    writer.join()


def test_a_writer_who_falls_silent_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "PATIENCE", 0.05)
    os.mkfifo(tmp_path / "pipe")
    ended = threading.Event()

    def write() -> None:
        with (tmp_path / "pipe").open("w") as stream:
            stream.write('{"a"')
            stream.flush()
            ended.wait(20)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(FileRefused, match="nobody wrote"):
        read_json(tmp_path / "pipe")
    ended.set()
    writer.join()


NAMES = {
    "zero byte": ("a\0b", "zero byte"),
    "300 letters": ("x" * 300, "of 300 characters"),
    "a folder of 300 letters": ("x" * 300 + "/a", "too long"),
    "half of a character": ("a\ud800", "lone surrogate"),
}


@pytest.mark.parametrize("name", NAMES)
def test_what_no_file_can_be_called_is_said_in_one_sentence(tmp_path: Path, name: str) -> None:
    path, fragment = tmp_path / NAMES[name][0], NAMES[name][1]
    acts: list[Callable[[], object]] = [lambda read=read: read(path) for read in READERS.values()]  # type: ignore[misc]
    acts += [
        lambda: write_json(path, {}),
        lambda: write_table(path, {"a": ["1"]}),
        lambda: alone(path).__enter__(),
    ]
    for act in acts:
        with pytest.raises(FileRefused, match=fragment) as caught:
            act()
        assert "\n" not in str(caught.value)
        str(caught.value).encode()
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_250_letters_can_be_written(tmp_path: Path) -> None:
    write_json(tmp_path / ("x" * 250), {"a": 1})
    assert read_json(tmp_path / ("x" * 250)) == {"a": 1}


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to(os.devnull)
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    for name, what in (("pipe", "a pipe"), ("device", "a device"), ("loop", "a link to itself")):
        with pytest.raises(FileRefused, match=f"{name}: cannot be written: is {what}"):
            write_json(tmp_path / name, {})
    with pytest.raises(FileRefused, match="is a device"):
        write_json(os.devnull, {})
    assert sorted(tmp_path.iterdir()) == before
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_a_device_node_stays_one(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no device nodes can be made here")
    with pytest.raises(FileRefused, match="is a device"):
        write_json(tmp_path / "null", {})
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)


def test_a_link_stays_one_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/file")
    write_json(tmp_path / "link", {"a": 1})  # it led nowhere
    write_json(tmp_path / "link", {"a": 2})
    assert (tmp_path / "link").is_symlink()
    assert read_json(tmp_path / "there" / "file") == {"a": 2}
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["file"]


def test_modes_are_kept_and_private_files_are_for_their_owner(tmp_path: Path, mask: None) -> None:
    write_json(tmp_path / "public", {})
    write_json(tmp_path / "private", {}, private=True)
    assert (mode(tmp_path / "public"), mode(tmp_path / "private")) == (0o666, 0o600)
    for old in (0o600, 0o640, 0o644):
        os.chmod(tmp_path / "public", old)
        write_json(tmp_path / "public", {"a": old})
        assert mode(tmp_path / "public") == old
    os.umask(0o077)
    write_json(tmp_path / "masked", {})
    assert mode(tmp_path / "masked") == 0o600


def test_nobody_else_can_read_the_half_of_a_private_file(tmp_path: Path, mask: None) -> None:
    (tmp_path / "file").write_text("old")
    os.chmod(tmp_path / "file", 0o600)
    with writing(tmp_path / "file") as stream:
        stream.write("new")
        assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    with writing_bytes(tmp_path / "other", private=True):
        assert {mode(path) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    os.chown(tmp_path / "file", 4321, 4322)
    write_json(tmp_path / "file", {})
    told = (tmp_path / "file").stat()
    assert (told.st_uid, told.st_gid) == (4321, 4322)


def test_a_document_that_is_too_large_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parsed(*args: object, **kwargs: object) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(json, "loads", parsed)
    with (tmp_path / "large.json").open("wb") as stream:
        stream.write(b'{"a": [')
        stream.truncate(200 * 10**6)
    with pytest.raises(FileRefused, match=f"more than {128 * 2**20} bytes"):
        read_json(tmp_path / "large.json")
    monkeypatch.setattr(json_files, "MAX_MARKS", 1000)
    for part, times in ((b"[],", 334), (b"{},", 200), (b"1,", 995)):
        (tmp_path / "many.json").write_bytes(b'{"a": [' + part * times + b"1]}")
        with pytest.raises(FileRefused, match="more values than fit into memory"):
            read_json(tmp_path / "many.json")


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MAX_BYTES", 100)
    write_json(tmp_path / "file.json", {"a": "x" * 50})
    with pytest.raises(FileRefused, match="more than 100 bytes"):
        write_json(tmp_path / "file.json", {"a": "x" * 100})
    assert read_json(tmp_path / "file.json") == {"a": "x" * 50}
    assert os.listdir(tmp_path) == ["file.json"]


def test_marks_of_order_and_halves_of_characters_in_a_document(tmp_path: Path) -> None:
    (tmp_path / "bom.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "bom.json") == {"a": 1}
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbfa\n1\n")
    assert read_table(tmp_path / "bom.csv", ["a"]).columns == {"a": ["1"]}
    for text in ('{"a": "x\\ud800"}', '{"\\udfff": 1}', '{"a": ["\\udc00\\ud800"]}'):
        with pytest.raises(FileRefused, match="half of a character"):
            parse_json(text)
    assert parse_json('{"a": "\\ud83d\\ude00"}') == {"a": "😀"}
    for start in (b"\xff\xfe", b"\xfe\xff"):
        (tmp_path / "wide.json").write_bytes(start + '{"a": 1}'.encode("utf-16-le"))
        with pytest.raises(FileRefused, match="is not UTF-8 text"):
            read_json(tmp_path / "wide.json")


def test_a_row_without_names_is_not_quoted_as_if_it_were_the_names(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("39,Bachelors,secret-diagnosis\n50,Masters,none\n")
    with pytest.raises(FileRefused, match="is the line of column names missing") as caught:
        read_table(path, ["age"])
    assert "secret" not in str(caught.value)
    path.write_text("39,secret,secret\n")
    with pytest.raises(FileRefused, match="is the line of column names missing") as caught:
        read_table(path, ["age"])
    assert "secret" not in str(caught.value)


FORMULAS = ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "\rx", "'=1", "''@a", "-", "+", "-1 to 2", "=", "'-1"]
PLAIN = ["-1", "+1.5", "-1e5", "-.5", "2", "plain", "'quoted'", "a=b", "", "'", "(-1, 2]"]


def test_texts_that_a_spreadsheet_would_run_are_made_safe_and_come_back(tmp_path: Path) -> None:
    assert [safe_cell(cell) for cell in PLAIN] == PLAIN
    for cell in FORMULAS:
        assert safe_cell(cell) == f"'{cell}"
    every = FORMULAS + PLAIN
    assert [raw_cell(safe_cell(cell)) for cell in every] == every
    assert len({*map(safe_cell, every)}) == len(every)
    write_table(tmp_path / "table.csv", {"=name": every, "plain": every}, safe=True)
    assert read_released(tmp_path / "table.csv") == {"=name": every, "plain": every}
    assert read_released(tmp_path / "table.csv", raw=True)["'=name"] == [safe_cell(cell) for cell in every]


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("chain", "transition", 0, 0), None, 'expected a number, or an exact fraction such as "1/3"'),
        (
            ("chain", "states"),
            7,
            "7 does not fit; expected null, or a list of which each item is a text, a number",
        ),
        (("epsilon",), "much", "'much' does not fit; expected a number of at least 0, or \"inf\""),
    ],
)
def test_what_does_not_fit_a_schema_is_said_with_what_would(
    place: tuple[str | int, ...], value: object, expected: str
) -> None:
    fields: Any = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 4, 1, 1.0).to_dict()
    part = fields
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(FileRefused) as caught:
        check_schema(fields, "problem-redaction")
    assert expected in str(caught.value)
    assert "given schemas" not in str(caught.value)


def test_one_thread_or_process_at_a_time_and_the_same_one_again(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    order: list[str] = []

    def other() -> None:
        with alone(tmp_path / "link"):  # the same file by another name
            order.append("other")

    with alone(tmp_path / "file"), alone(tmp_path / "file"):
        waiting = threading.Thread(target=other)
        waiting.start()
        time.sleep(0.05)
        order.append("first")
    waiting.join()
    assert order == ["first", "other"]
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_reading_says_what_is_wrong_with_a_place(tmp_path: Path) -> None:
    for place, what in (
        (tmp_path, "Is a directory"),
        (tmp_path / "no", "No such file"),
        ("/dev/zero", "is a device"),
    ):
        with pytest.raises(FileRefused, match=what), reading(place) as stream:
            stream.read()
