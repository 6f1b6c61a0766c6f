"""Where a run took place: versions and machine, as words."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

import numpy as np

import privopt


def environment() -> dict[str, str]:
    """Versions of Python, privopt and what it depends on, and the kind of machine.

    Examples
    --------
    >>> {"privopt", "Python", "system", "typer"} <= set(environment())
    True
    """
    return {
        "privopt": privopt.__version__,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "NumPy": np.__version__,
        **dict(_dependencies()),
    }


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
