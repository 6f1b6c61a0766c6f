"""The command line: ``privopt`` and ``python -m privopt``.

Exit codes: 0 done, 1 not solved or not proved, 2 misuse or a file that cannot be used, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from privopt import __version__
from privopt.cli.audit import audit
from privopt.cli.bundle import bundle
from privopt.cli.check_solver import check_solver
from privopt.cli.compare import compare
from privopt.cli.explain import explain
from privopt.cli.fit import fit
from privopt.cli.frontier import frontier
from privopt.cli.new import new, print_schema
from privopt.cli.places import places
from privopt.cli.prove import prove
from privopt.cli.publish import publish
from privopt.cli.release import release
from privopt.cli.reproduce import reproduce
from privopt.cli.show import complain
from privopt.cli.solve import solve
from privopt.cli.solvers import solvers
from privopt.cli.studio import studio
from privopt.cli.verify import verify
from privopt.errors import FileRefused, PrivoptError

# typer exports this one of its usage errors; their parent covers a missing argument and an unknown option too.
_Usage: type[Exception] = typer.BadParameter.mro()[1]


@contextmanager
def plainly() -> Iterator[None]:
    """Turn what a user did wrong into one sentence on standard error and exit code 2."""
    try:
        yield
        sys.stdout.flush()  # here, so that a reader who has left is noticed while it can be handled
    except PrivoptError as cause:
        complain(f"privopt: {cause}")
        raise typer.Exit(2) from cause
    except _Usage as cause:
        text = _usage_text(cause)
        if "\n" in text:  # the help of a group called without a command
            raise
        complain(f"privopt: {text}")
        raise typer.Exit(2) from cause
    except OSError as cause:
        if cause.filename is None:  # as of a pipe whose reader has left
            raise
        complain(f"privopt: {cause.filename}: cannot be used: {cause.strerror}; give another name")
        raise typer.Exit(2) from cause
    except KeyboardInterrupt as cause:
        raise typer.Exit(130) from cause


def _usage_text(cause: Any) -> str:
    """The sentence of a usage error, with the name of the option."""
    return str(cause.format_message())


# Contexts are Any here: their class moved between the versions of typer.
class Commands(TyperGroup):
    """The commands, with one way of failing, and with the benchmarks imported only when asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of help."""
        return [*super().list_commands(ctx), "bench"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name."""
        if cmd_name != "bench":
            return super().get_command(ctx, cmd_name)
        from privopt.benchmarks.cli import app as bench

        group = get_group(bench)
        group.name = "bench"
        return group

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments; none at all asks for help."""
        with plainly():
            for text in args:
                if "\0" in text:
                    raise FileRefused(
                        f"{text!a}: holds a zero byte, which no file name and no option can; leave it out"
                    )
            return super().parse_args(ctx, args or ["--help"])

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        with plainly():
            return super().invoke(ctx)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"privopt {__version__}")
        raise typer.Exit()


app = typer.Typer(
    cls=Commands,
    help="How useful can released data be while it leaks no more than a budget? Declare, solve, prove, release.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of privopt itself."""


for _command in (
    publish,
    solve,
    compare,
    frontier,
    fit,
    places,
    release,
    verify,
    explain,
    prove,
    audit,
    bundle,
    studio,
    solvers,
    check_solver,
    new,
    reproduce,
):
    app.command()(_command)
app.command("schema")(print_schema)


def main() -> None:
    """Run the command line with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a label may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="privopt")
