"""The command that opens the studio: a page on this computer for one table."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from privopt.cli import show
from privopt.errors import FileRefused


def studio(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="PEOPLE.csv", help="Comma-separated, with a header; a row a person.", show_default=False
        ),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the loopback address; 0 takes a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open nothing.")
    ] = False,
) -> None:
    """Open a page on which to pick columns and the secret, see the trade-off and the risk, and export a release.

    The page is served on the loopback address of this computer, under an address with a random token; nothing is sent anywhere
    else and nothing is loaded from elsewhere. Ctrl-C ends it.
    """
    from privopt.studio.server import Studio

    with Studio(data, port) as server:
        try:
            server.session.table()
        except FileRefused as cause:
            show.complain(f"privopt: {cause}")  # the page says it too, and can read the file again
        print(f"The studio is open at {server.address}", flush=True)
        print("Only this computer can reach it. Press Ctrl-C to end it.", flush=True)
        if not no_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nThe studio has ended.", file=sys.stderr)
