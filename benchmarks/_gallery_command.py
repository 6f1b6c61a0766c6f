"""What ``privopt bench gallery`` does."""

from __future__ import annotations

from pathlib import Path

from privopt._cli_show import emit, progress
from privopt.benchmarks._gallery import write_gallery
from privopt.benchmarks._pictures import pictures


def gallery_command(output: Path, as_json: bool) -> None:
    """Compute every picture, write page, figures and data, say where they are.

    Raises
    ------
    FileRefused
        If the folder cannot be written.
    MissingExtra
        If matplotlib is not installed.
    """
    chosen = tuple(pictures().values())
    begun: list[str] = []
    with progress("drawing the gallery") as told:

        def listen(name: str) -> None:
            told(len(begun) / len(chosen), name)
            begun.append(name)

        files = write_gallery(output, chosen, listen)
    if as_json:
        emit({"pictures": [picture.name for picture in chosen], "files": [str(file) for file in files]})
        return
    print(f"{len(chosen)} pictures: {files[-1]}")
