"""The command that opens the studio: a page on this computer for one table."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from privopt.cli import show
from privopt.errors import FileRefused

if TYPE_CHECKING:
    from privopt.studio.session import Session


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
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the release is written, once; left out, PEOPLE-release beside the table.",
            show_default=False,
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open nothing.")
    ] = False,
) -> None:
    """Open a page on which to pick columns and the secret, see the trade-off and the risk, and export a release.

    The page is served on the loopback address of this computer, under an address with a random token; nothing is sent anywhere
    else and nothing is loaded from elsewhere. The release is drawn once, into a folder: whoever asks for it again, also after
    a restart, gets what is there. Ctrl-C ends it.
    """
    from privopt.studio.server import Studio

    with Studio(data, port, output) as server:
        print(f"The studio is open at {server.address}", flush=True)
        print(
            f"Only this computer can reach it. A release goes into {server.session.folder}. Press Ctrl-C to end it.",
            flush=True,
        )
        Thread(target=_read, args=(server.session,), daemon=True).start()
        if not no_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nThe studio has ended.", file=sys.stderr)


def _read(session: Session) -> None:
    """Read the table while the page opens; what is wrong is said here too, and the page can read it again."""
    try:
        session.table()
    except FileRefused as cause:
        show.complain(f"privopt: {cause}")
