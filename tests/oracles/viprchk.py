"""The outside program viprchk: found, or built from a checkout of https://github.com/scipopt/vipr where a compiler and gmp are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path


class Missing(Exception):
    """There is no viprchk, with the reason."""


@cache
def program() -> Path:
    """The program that VIPRCHK names, the one on the path, or one built from the checkout that VIPR_SOURCE names.

    Raises
    ------
    Missing
        If there is none, or it cannot be built.
    """
    known = os.environ.get("VIPRCHK") or shutil.which("viprchk")
    if known is not None:
        return Path(known)
    source = os.environ.get("VIPR_SOURCE")
    if source is None:
        raise Missing(
            "no viprchk: name it in VIPRCHK, or a checkout of github.com/scipopt/vipr in VIPR_SOURCE"
        )
    code, compiler = Path(source) / "code", shutil.which("g++")
    if compiler is None or not (code / "viprchk.cpp").is_file():
        raise Missing(f"viprchk is not built: no compiler, or {code} has no viprchk.cpp")
    folder = Path(tempfile.mkdtemp(prefix="viprchk"))
    header = (code / "CMakeConfig.hpp.in").read_text(encoding="utf-8")
    plain = re.sub(r"#cmakedefine.*", "", header).replace("@PROJECT_VERSION_MAJOR@", "1")
    (folder / "CMakeConfig.hpp").write_text(plain.replace("@PROJECT_VERSION_MINOR@", "1"), encoding="utf-8")
    built = folder / "viprchk"
    command = [compiler, "-O1", "-std=c++17", f"-I{folder}", "-o", str(built), str(code / "viprchk.cpp")]
    made = subprocess.run([*command, "-lgmpxx", "-lgmp"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Missing(f"viprchk does not build, gmp may be missing: {made.stderr.strip().splitlines()[-1]}")
    return built


def accepts(path: Path) -> bool:
    """Whether viprchk accepts a file."""
    ended = subprocess.run([program(), path], capture_output=True, text=True, check=False)
    return ended.returncode == 0 and "Successfully verified" in ended.stdout
