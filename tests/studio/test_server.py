"""What the server refuses: other tokens, hosts, sites, paths and bodies; and that its page asks for nothing from elsewhere."""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from instances.people import ROWS, write_people

from privopt.errors import FileRefused
from privopt.studio.server import MOST_BYTES, Studio


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    path = write_people(tmp_path_factory.mktemp("people") / "people.csv")
    with Studio(path) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    studio: Studio, path: str, body: bytes | None = None, method: str = "", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """One request, with headers as they are given; a path that starts with "api" or is empty gets the token."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.server_port, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        named = {"Content-Type": "application/json", **named}
    target = path if path.startswith("/") else f"/{studio.token}/{path}"
    try:
        connection.request(method or ("GET" if body is None else "POST"), target, body, named)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def post(studio: Studio, path: str, fields: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    status, _, content = ask(studio, path, json.dumps(fields).encode())
    return status, json.loads(content)


def test_it_listens_on_the_loopback_address_only(studio: Studio) -> None:
    assert studio.server_address[0] == "127.0.0.1"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", studio.address)
    with Studio(Path("people.csv")) as other:
        assert other.token != studio.token


def test_the_right_token_is_answered(studio: Studio) -> None:
    status, headers, page = ask(studio, "")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"privopt studio" in page
    status, _, content = ask(studio, "api/table")
    assert (status, json.loads(content)["rows"]) == (200, ROWS)


@pytest.mark.parametrize("route", ["", "api/table", "api/progress"])
def test_another_token_is_refused(studio: Studio, route: str) -> None:
    wrong = studio.token[:-1] + ("A" if studio.token[-1] != "A" else "B")
    for token in (wrong, "", studio.token[:-1], studio.token + "x", studio.token.swapcase(), "%00", "é"):
        path = f"/{token}/{route}".encode().decode("latin-1")
        raw = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{studio.server_port}\r\nConnection: close\r\n\r\n"
        assert b" 403 " in _raw(studio, raw.encode("latin-1")).splitlines()[0]
    assert ask(studio, "/")[0] == 403
    assert ask(studio, "/favicon.ico")[0] == 403
    assert ask(studio, f"/{wrong}/api/start", b"{}")[0] == 403


def _raw(studio: Studio, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", studio.server_port), timeout=60) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example", ""])
def test_another_host_is_refused(studio: Studio, host: str) -> None:
    status, _, content = ask(studio, "api/table", Host=host)
    assert status == 403
    assert b"rows" not in content


def test_localhost_is_a_name_of_this_computer(studio: Studio) -> None:
    assert ask(studio, "api/table", Host=f"localhost:{studio.server_port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://localhost:1"])
def test_another_site_is_refused(studio: Studio, origin: str) -> None:
    assert ask(studio, "api/start", b"{}", Origin=origin)[0] == 403


@pytest.mark.parametrize(
    "path",
    ["../page.html", "..%2f..%2fetc/passwd", "page.html", "people.csv", "../../../../etc/passwd", "//etc/passwd", "api/../server.py"],
)  # fmt: skip
def test_no_file_is_reached_through_a_path(studio: Studio, path: str) -> None:
    raw = f"GET /{studio.token}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{studio.server_port}\r\nConnection: close\r\n\r\n"
    answer = _raw(studio, raw.encode())
    assert b" 404 " in answer.splitlines()[0]
    assert b"root:" not in answer
    assert b"person 1" not in answer


def test_bodies_are_bounded(studio: Studio) -> None:
    head = f"POST /{studio.token}/api/start HTTP/1.1\r\nHost: 127.0.0.1:{studio.server_port}\r\nContent-Type: application/json\r\n"
    for length, status in ((str(MOST_BYTES + 1), 413), ("9" * 30, 413), ("-1", 411), ("many", 411)):
        answer = _raw(studio, f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert f" {status} ".encode() in answer.splitlines()[0]
    assert b" 411 " in _raw(studio, f"{head}Connection: close\r\n\r\n".encode()).splitlines()[0]
    chunked = f"{head}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{{}}"
    assert b" 411 " in _raw(studio, chunked.encode()).splitlines()[0]
    assert ask(studio, "api/start", b" " * (MOST_BYTES - 2) + b"{}")[0] == 400


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"secret": NaN}', b"\xff", b'{"a": 1, "a": 2}', b"[" * 5000]
)
def test_bodies_that_are_no_objects_are_refused(studio: Studio, body: bytes) -> None:
    assert ask(studio, "api/start", body)[0] == 400


def test_forms_of_other_pages_are_refused(studio: Studio) -> None:
    assert ask(studio, "api/start", b"{}", Content_Type="text/plain")[0] == 415
    assert ask(studio, "api/start", b"a=1", Content_Type="application/x-www-form-urlencoded")[0] == 415


def test_other_methods_are_refused(studio: Studio) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert ask(studio, "api/table", method=method)[0] == 501
    assert ask(studio, "api/start")[0] == 404
    assert ask(studio, "api/progress", b"{}")[0] == 404


def test_every_answer_forbids_what_the_page_does_not_need(studio: Studio) -> None:
    for route in ("", "api/table", "no-such-page"):
        headers = ask(studio, route)[1]
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'nonce-")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers


def test_the_page_names_no_other_place() -> None:
    folder = files("privopt.studio")
    page = "".join(
        folder.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[\w/.-]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert re.findall(r'(?:src|href)="(?!data:|#)', page) == []
    assert "url(" not in page


def test_the_page_is_sent_in_one_piece(studio: Studio) -> None:
    page = ask(studio, "")[2].decode()
    assert "{{" not in page
    assert page.count("</script>") == page.count("</style>") == 1


def test_nonces_differ(studio: Studio) -> None:
    policies = {ask(studio, "")[1]["Content-Security-Policy"] for _ in range(3)}
    assert len(policies) == 3


def test_what_is_wrong_comes_back_as_a_sentence(studio: Studio) -> None:
    status, told = post(studio, "api/start", {"secret": ["income"], "columns": ["name"]})
    assert (status, told["error"][-1]) == (400, ".")
    for route in ("draw", "script", "notebook", "command", "add", "stop"):
        status, told = post(studio, f"api/{route}", {"job": 99, "epsilon": 0.5})
        assert status == 400
        assert "compute it again" in told["error"]
    assert post(studio, "api/draw", {"job": "1", "epsilon": 0.5})[0] == 400
    assert post(studio, "api/release", {})[0] == 400


def test_it_answers_while_it_solves(studio: Studio) -> None:
    choice = {"secret": ["income"], "columns": ["age", "school", "city"], "bins": {"age": "width:5"}}
    status, told = post(studio, "api/start", choice)
    job = told["job"]
    assert status == 200
    assert ask(studio, "api/table")[0] == 200
    until = time.monotonic() + 120
    now = json.loads(ask(studio, f"api/progress?job={job}&since=0")[2])
    while now["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.05)
        now = json.loads(ask(studio, f"api/progress?job={job}&since=0")[2])
    assert now["state"] == "done"
    wish = {"job": now["job"], "epsilon": now["points"][-1]["epsilon"]}
    status, drawn = post(studio, "api/draw", wish)
    assert (status, drawn["rows"]) == (200, ROWS)
    for kind, start in (("script", b'"""Release'), ("notebook", b"{"), ("release", b"PK")):
        status, _, content = ask(studio, f"api/{kind}", json.dumps(wish).encode())
        assert (status, content[: len(start)]) == (200, start)
    wish["epsilon"] = now["points"][0]["epsilon"]
    status, told = post(studio, "api/draw", wish)
    assert status == 409
    assert "released once only" in told["error"]


def test_a_port_in_use_is_said(studio: Studio) -> None:
    with pytest.raises(FileRefused, match="leave --port out"):
        Studio(Path("people.csv"), studio.server_port)
