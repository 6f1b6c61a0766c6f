"""The command itself, in a process of its own: it prints its address, answers there, and ends with Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from instances.people import write_people

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent to a process in another way")


def started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """The process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "privopt", "studio", *arguments, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    told = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", line)
    assert told, line
    return process, told[0]


def ended(process: subprocess.Popen[str]) -> str:
    """What it said on standard error, after Ctrl-C."""
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    return told


@pytest.mark.long
def test_it_serves_a_table_until_it_is_ended(tmp_path: Path) -> None:
    process, address = started(str(write_people(tmp_path / "people.csv", 40)))
    with urllib.request.urlopen(f"{address}api/table", timeout=60) as answer:
        assert b'"rows": 40' in answer.read()
    assert ended(process).strip() == "The studio has ended."
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=60)


def test_a_missing_table_is_said_at_once_and_on_the_page(tmp_path: Path) -> None:
    process, address = started(str(tmp_path / "people.csv"))
    with pytest.raises(urllib.error.HTTPError, match="400") as refused:
        urllib.request.urlopen(f"{address}api/table", timeout=60)
    with refused.value as answer:
        assert b"No such file" in answer.read()
    assert "No such file or directory; check its name and folder" in ended(process)


@pytest.mark.long
def test_a_port_that_is_taken_is_misuse(tmp_path: Path) -> None:
    path = str(write_people(tmp_path / "people.csv", 40))
    process, address = started(path)
    port = address.split(":")[2].partition("/")[0]
    again = subprocess.run(
        [sys.executable, "-m", "privopt", "studio", path, "--port", port, "--no-browser"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert again.returncode == 2
    assert "leave --port out" in again.stderr
    ended(process)
