"""The commands that show how a problem file is written: a template that solves as it is, and the schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privopt.cli import show
from privopt.core.registry import problem_types
from privopt.errors import FileRefused
from privopt.files.json import schema, schema_names, writing
from privopt.files.template import problem_template


def new(
    problem: Annotated[
        str | None,
        typer.Argument(metavar="[PROBLEM]", help="Its type, such as redaction; without it, the types."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there; an existing file is not overwritten.")
    ] = None,
) -> None:
    """Print a problem file that solves as it is, with a comment on every field."""
    if problem is None:
        titles = {name: schema(name)["title"] for name in schema_names()}
        known = [
            (kind, titles.get(f"problem-{kind}", "one of your own, without a schema"))
            for kind in problem_types()
        ]
        show.table(known, ("type", "problem"))
        return
    text = problem_template(problem)
    if output is None:
        print(text, end="")
        return
    if output.exists():
        raise FileRefused(f"{output}: exists; choose another name, or remove it first")
    with writing(output) as stream:
        stream.write(text)
    show.facts([("written", output), ("next", f"privopt solve {output} --output solution.json")])


def print_schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Of a kind of file, such as solution or problem-redaction; without it, all names.",
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of file, or the names of all."""
    if name is None:
        show.table(
            [(known, schema(known).get("title", "")) for known in schema_names()],
            ("name", "what it describes"),
        )
        return
    if name not in schema_names():
        raise FileRefused(f"there is no schema {name!r}; `privopt schema` lists all names")
    show.emit(schema(name))
