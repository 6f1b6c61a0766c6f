"""The server of the studio: the loopback address only, a random token in every address, nothing read but the page and the table."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from privopt.errors import FileRefused, PrivoptError
from privopt.files.json import parse_json
from privopt.studio.folder import Drawn
from privopt.studio.session import Session, refusal

LOOPBACK = "127.0.0.1"
MOST_BYTES = 2**20
"""Of the body of a request."""
SECONDS = 30.0
"""After which a connection that says nothing is closed."""

Reply = tuple[str, bytes]
JSON, HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"


class Refused(Exception):
    """A request that is not answered."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Studio(ThreadingHTTPServer):
    """A studio for one table.

    Parameters
    ----------
    path : Path
        The table.
    port : int
        0 takes a free one.
    folder : Path, optional
        Of the release; by default beside the table.

    Raises
    ------
    FileRefused
        If the port is taken.

    Examples
    --------
    >>> with Studio(Path("people.csv")) as studio:
    ...     studio.address.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, path: Path, port: int = 0, folder: Path | None = None) -> None:
        self.session = Session(path, folder)
        self.token = secrets.token_urlsafe(32)
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as cause:
            raise FileRefused(
                f"port {port} cannot be used: {cause}; leave --port out to take a free one"
            ) from cause

    @property
    def address(self) -> str:
        """What to open in a browser; whoever knows it can use the studio."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names that a browser may ask for: no other, so that no other site can be pointed here."""
        return f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server_version = "privopt"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = SECONDS
    nonce = ""

    @property
    def studio(self) -> Studio:
        """The server that it answers for."""
        if not isinstance(self.server, Studio):
            raise TypeError("the handler is for the studio only")
        return self.server

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: addresses hold the token."""

    def _answer(self, how: Callable[[str], Reply]) -> None:
        self.nonce = secrets.token_urlsafe(16)
        try:
            kind, content = how(self._route())
            self._send(HTTPStatus.OK, kind, content)
        except Refused as cause:
            self.close_connection = True  # its body may not have been read
            self._say(cause.status, str(cause))
        except Drawn as cause:
            self._say(HTTPStatus.CONFLICT, refusal(cause))
        except PrivoptError as cause:
            self._say(HTTPStatus.BAD_REQUEST, refusal(cause))
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        except Exception:
            self._say(
                HTTPStatus.INTERNAL_SERVER_ERROR, "The studio failed; the window of its command says how."
            )
            raise

    def _route(self) -> str:
        """What stands behind the token in the address, after the request was found to come from the page."""
        if self.headers.get("Host", "") not in self.studio.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "This address is not the one of the studio.")
        first, _, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(first.encode(), self.studio.token.encode()):
            raise Refused(
                HTTPStatus.FORBIDDEN,
                "The address lacks the right token; open the one that the command printed.",
            )
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.studio.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "Another site may not ask.")
        return rest

    def _get(self, route: str) -> Reply:
        session = self.studio.session
        if route == "":
            return HTML, _page(self.nonce)
        if route == "api/table":
            return _json(session.describe())
        if route == "api/progress":
            return _json(session.progress(self._asked("job"), self._asked("since")))
        raise Refused(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _asked(self, name: str) -> int:
        """A whole number of the query, 0 where it is none."""
        text = parse_qs(urlsplit(self.path).query).get(name, ["0"])[0]
        return int(text) if text.isdecimal() and len(text) < 9 else 0

    def _post(self, route: str) -> Reply:
        session = self.studio.session
        takers: dict[str, Callable[[Mapping[str, Any]], Reply]] = {
            "api/table": lambda fields: _json(session.describe(again=True)),
            "api/start": lambda fields: _json(session.start(fields)),
            "api/add": lambda fields: _json(session.add(fields)),
            "api/stop": lambda fields: _json(session.stop(fields)),
            "api/command": lambda fields: _json(session.exports(fields)),
            "api/script": lambda fields: ("text/x-python; charset=utf-8", session.script(fields).encode()),
            "api/notebook": lambda fields: ("application/x-ipynb+json", session.notebook(fields).encode()),
            "api/draw": lambda fields: _json(session.draw(fields)),
            "api/release": lambda fields: ("application/zip", session.release()),
        }
        if route not in takers:
            raise Refused(HTTPStatus.NOT_FOUND, "There is no such page.")
        return takers[route](self._body())

    def _body(self) -> dict[str, Any]:
        """The JSON object of a request."""
        if self.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body of a request is JSON.")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or self.headers.get("Transfer-Encoding") is not None:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "A request says how long its body is.")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {MOST_BYTES} bytes.")
        try:
            text = self.rfile.read(int(length)).decode()
        except UnicodeDecodeError as cause:
            raise Refused(HTTPStatus.BAD_REQUEST, "The body of a request is UTF-8.") from cause
        return parse_json(text, "request")

    def _say(self, status: HTTPStatus, sentence: str) -> None:
        kind, content = _json({"error": sentence})
        self._send(status, kind, content)

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", _policy(self.nonce)),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _json(fields: Mapping[str, Any]) -> Reply:
    return JSON, json.dumps(fields, allow_nan=False).encode()


def _page(nonce: str) -> bytes:
    """The page in one piece, whose script and style carry the nonce of this answer."""
    folder = files("privopt.studio")
    page, style, script = (
        folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")
    )
    page = page.replace("{{nonce}}", nonce)
    return page.replace("{{style}}", style).replace("{{script}}", script).encode()


def _policy(nonce: str) -> str:
    """What the page may load: its own script and style, and answers of this server."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
