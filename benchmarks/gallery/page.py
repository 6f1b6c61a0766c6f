"""What ``privopt bench gallery`` does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from privopt.benchmarks.gallery.picture import Drawn, Picture, pictures, styled
from privopt.benchmarks.report.document import svg
from privopt.cli.show import emit, progress
from privopt.errors import FileRefused
from privopt.files.json import writing

if TYPE_CHECKING:
    import pandas as pd


PAGE, FOLDER = "gallery.md", "gallery"
DIGITS = "%.6g"
"""Of the numbers in the files: more than can be seen, and fewer than differ between machines."""
OPENING = """# Gallery

One picture a problem, computed from data that ship with the library: frosts of Seattle (2012 to 2015, NOAA), an election
survey (ANES 1996), and examples that are printed in papers and lectures. Each links to its numbers. The whole page
is made again by

```sh
privopt bench gallery --output docs
```

Wherever something is drawn hollow or dashed as published, it is what the formula gives, private or not; ours are certified.
"""
COLOURS = "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#d0d7de}}</style>"
"""Text and axes of a figure that stands alone take the ink of the reader's theme."""


def write_gallery(
    output: Path, chosen: Sequence[Picture], listener: Callable[[str], None] | None = None
) -> tuple[Path, ...]:
    """Compute the pictures and write page, figures and data; returns the files.

    Raises
    ------
    FileRefused
        If the folder cannot be made or written.
    MissingExtra
        If matplotlib is not installed.
    """
    folder = output / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise FileRefused(
            f"{folder}: cannot be made: {cause.strerror or cause}; give another folder"
        ) from cause
    files = []
    for picture in chosen:
        if listener is not None:
            listener(picture.name)
        drawn = picture.make()
        texts = {"svg": standalone(picture, drawn), "csv": table(drawn.frame)}
        for ending, text in texts.items():
            files.append(folder / f"{picture.name}.{ending}")
            with writing(files[-1]) as stream:
                stream.write(text)
    files.append(output / PAGE)
    with writing(files[-1]) as stream:
        stream.write(page(chosen))
    return tuple(files)


def page(chosen: Sequence[Picture]) -> str:
    """The page, which shows the figures beside it."""
    return "\n".join([OPENING, *(_section(picture) for picture in chosen)])


def _section(picture: Picture) -> str:
    place = f"{FOLDER}/{picture.name}"
    return (
        f"## {picture.title}\n\n![{picture.title}]({place}.svg)\n\n{picture.caption}\n\n"
        f"[Numbers]({place}.csv); more in `docs/{picture.guide}`.\n"
    )


def table(frame: pd.DataFrame) -> str:
    """The data as CSV; what is below 1e-12 is rounding, and written as 0."""
    frame = frame.copy()
    for name in frame.select_dtypes("number").columns:
        frame[name] = frame[name].mask(frame[name].abs() < 1e-12, 0)
    return frame.to_csv(index=False, float_format=DIGITS, lineterminator="\n")


def standalone(picture: Picture, drawn: Drawn) -> str:
    """The figure as a file of its own, with the size that it was drawn in.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with styled():
        text = svg(drawn.draw(), picture.name, picture.title)
    text = re.sub(r"\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}", text)
    sizes = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    if sizes is None:
        raise ValueError(f"the figure {picture.name!r} has no size; its drawing must be an SVG of matplotlib")
    size = f'width="{float(sizes[1]) * 4 / 3:.0f}" height="{float(sizes[2]) * 4 / 3:.0f}"'
    head, _, body = text.partition(">")
    return f"{head} {size}>{COLOURS}{body}"


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
