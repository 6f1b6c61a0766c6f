"""What a run ran on: versions, processor, memory, system, and the commit of the code."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import numpy as np

import privopt
from privopt.core.folders import PATH, is_own
from privopt.core.registry import FOLDERS

GIB = 2**30
PATIENCE = 10.0
"""Seconds that asking for the commit may take."""
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def environment() -> dict[str, str]:
    """Commit, machine, and versions of Python, privopt and what it depends on; what is not known is left out.

    Examples
    --------
    >>> {"privopt", "Python", "system", "processor", "cores", "memory", "BLAS", "typer"} <= set(environment())
    True
    """
    told = {
        "privopt": privopt.__version__,
        "commit": commit(),
        "processor": processor(),
        "cores": cores(),
        "memory": memory(),
        "governor": _first_line(GOVERNOR),
        "system": system(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "NumPy": np.__version__,
        "BLAS": blas(),
        **dict(_dependencies()),
    }
    return {name: text for name, text in told.items() if text}


def commit() -> str:
    """The commit of the code, with a mark if files were changed since; empty where the code is in no repository of its own."""
    place = Path(privopt.__file__).resolve()
    if not _git(place.parent, "ls-files", "--error-unmatch", place.name):
        return ""
    name = _git(place.parent, "rev-parse", "--short=12", "HEAD")
    changed = _git(place.parent, "status", "--porcelain", "--untracked-files=no")
    return f"{name}, with changes" if name and changed else name


def _git(folder: Path, *arguments: str) -> str:
    """What git prints; empty where there is none, or it refuses."""
    try:
        said = subprocess.run(
            ("git", "-C", str(folder), *arguments),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.strip()


def processor() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def cores() -> str:
    """How many cores there are, and how many this process may use where that differs."""
    import psutil

    logical = psutil.cpu_count() or 1
    physical = psutil.cpu_count(logical=False) or logical
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not say
        usable = logical
    told = f"{logical}" if physical == logical else f"{physical} with {logical} threads"
    return told if usable == logical else f"{told}, {usable} usable"


def memory() -> str:
    """The memory of the machine."""
    import psutil

    return f"{psutil.virtual_memory().total / GIB:.1f} GiB"


def system() -> str:
    """The operating system with its kernel and the kind of machine."""
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:  # not Linux, or it does not say
        name = ""
    return ", ".join(filter(None, (name, f"{platform.system()} {platform.release()} {platform.machine()}")))


def blas() -> str:
    """The library that NumPy multiplies with, and its version."""
    built = np.show_config(mode="dicts") or {}
    library = built.get("Build Dependencies", {}).get("blas", {})
    return " ".join(str(library[name]) for name in ("name", "version") if library.get(name))


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _dependencies() -> Iterator[tuple[str, str]]:
    """Installed versions of the declared dependencies; optional ones that are absent are left out."""
    for line in requires("privopt") or ():
        name = line.partition(";")[0].strip()
        name = name[: next((i for i, c in enumerate(name) if not (c.isalnum() or c in "-_.")), len(name))]
        optional = "extra ==" in line
        if name in ("numpy", "privopt") or 'extra == "test"' in line or "extra == 'test'" in line:
            continue
        try:
            yield name, version(name)
        except PackageNotFoundError:
            if not optional:
                yield name, "not installed"


def own_paths() -> str:
    """The settings of folders of one's own that a command needs before it: where something was loaded from them.

    Examples
    --------
    >>> own_paths()
    ''
    """
    loaded = any(is_own(name) for name in list(sys.modules) if name.startswith("privopt."))
    needed = [PATH] * loaded + [FOLDERS]
    return "".join(f"{name}={shlex.quote(os.environ[name])} " for name in needed if os.environ.get(name))
