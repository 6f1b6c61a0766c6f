"""The tutorials as notebooks: ``python docs/notebooks.py table officer`` runs their blocks and writes them, outputs included.

Without names all are written. A block for the shell is a cell of bash, which stops a notebook where a command fails, unless
the page says that it is refused. What the page prints is left out: the output stands below the cell.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parent
PAGES = DOCS / "tutorials"
ORDER = ("table", "officer", "stream", "families", "graph", "solver", "survey", "counts")
AFTER = {"officer": "table"}
"""A tutorial, and the one in whose folder it goes on."""
EXTERNAL = "PRIVOPT_DATA"
"""Blocks that name it need data that do not ship; they stay text."""
BLOCK = re.compile(r"^```(?P<kind>sh|python|text)\n(?P<text>.*?)^```\n", re.MULTILINE | re.DOTALL)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PATIENCE = 600
"""Seconds for one cell."""


def notebook_of(name: str) -> Any:
    """The notebook of a tutorial, without outputs."""
    text, cells, end, refused = (PAGES / f"{name}.md").read_text(encoding="utf-8"), [], 0, False
    for match in BLOCK.finditer(text):
        said, end = text[end : match.start()], match.end()
        headings = re.findall(r"^## (.+)$", said, flags=re.MULTILINE)
        refused = headings[-1] == "Refused" if headings else refused
        if said.strip():
            cells.append(nbformat.v4.new_markdown_cell(said.strip()))
        if EXTERNAL in match["text"]:
            cells.append(nbformat.v4.new_markdown_cell(match.group().strip()))
        elif match["kind"] == "python":
            tags = {"tags": ["raises-exception"]} if refused else {}
            cells.append(nbformat.v4.new_code_cell(match["text"].strip(), metadata=tags))
        elif match["kind"] == "sh":
            line = "%%bash --no-raise-error" if refused else "%%bash"
            body = match["text"].strip() if refused else f"set -e\n{match['text'].strip()}"
            cells.append(nbformat.v4.new_code_cell(f"{line}\n{body}"))
    if text[end:].strip() and not text[end:].strip().startswith("The same page as a notebook"):
        cells.append(nbformat.v4.new_markdown_cell(text[end:].strip()))
    for number, cell in enumerate(cells):
        cell["id"] = f"{name}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def executed(name: str, folder: Path) -> Any:
    """The notebook, run in a folder; a cell that fails raises ``nbclient.exceptions.CellExecutionError``."""
    notebook = notebook_of(name)
    programs = Path(sys.executable).parent
    client = NotebookClient(
        notebook, timeout=PATIENCE, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"})
    for cell in notebook["cells"]:
        cell["metadata"].pop("execution", None)
        if "outputs" in cell:
            cell["outputs"] = merged(cell["outputs"])
            for output in cell["outputs"]:
                plain(output, folder)
    notebook["metadata"]["language_info"] = {"name": "python"}
    return notebook


def merged(outputs: list[Any]) -> list[Any]:
    """Outputs with pieces of one stream that follow each other in one piece."""
    whole: list[Any] = []
    for output in outputs:
        stream = output["output_type"] == "stream"
        if stream and whole and whole[-1].get("name") == output["name"]:
            whole[-1]["text"] += output["text"]
        else:
            whole.append(output)
    return whole


def plain(output: Any, folder: Path) -> None:
    """An output without colours, without the paths of whoever ran it, and of an exception only its last line."""
    if output["output_type"] == "error":
        output["traceback"] = [f"{output['ename']}: {output['evalue']}"]
    if output["output_type"] == "stream":
        output["text"] = COLOUR.sub("", output["text"]).replace(f"{folder}/", "")


def main(names: list[str]) -> None:
    """Write the notebooks of tutorials beside their pages; officers go on in the folder of what they check."""
    chosen = names or list(ORDER)
    with tempfile.TemporaryDirectory() as work:
        for name in sorted({*chosen, *(AFTER[name] for name in chosen if name in AFTER)}, key=ORDER.index):
            folder = Path(work) / AFTER.get(name, name)
            folder.mkdir(exist_ok=True)
            notebook = executed(name, folder)
            if name in chosen:
                text = nbformat.writes(notebook)
                (PAGES / f"{name}.ipynb").write_text(text.rstrip() + "\n", encoding="utf-8")
                print(f"docs/tutorials/{name}.ipynb: {len(text) / 1024:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
