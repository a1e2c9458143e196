"""The review as a page on this computer: the standard library's server, for one browser that was given the address.

The address has a token that is good once; then a cookie opens the page, which no other site is sent (SameSite=Strict).
A request that names another host (a name that somebody points here) or comes from another page is refused. Nothing is
loaded from anywhere else, and no text is read as markup.
"""

from __future__ import annotations

import json
import secrets
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from ruleminer.errors import InputError, RuleminerError
from ruleminer.problem.decisions import FACTS, KEEPING, NAMED, Said, UserDecision
from ruleminer.progress import Say
from ruleminer.review.editor import check_rules, run_rules
from ruleminer.review.naming import fact_in_fields
from ruleminer.review.questions import Question
from ruleminer.review.screen import change_json, question_json, screen
from ruleminer.review.session import Change, ReviewSession
from ruleminer.review.words import rule_words

_LONGEST = 1_000_000  # bytes of a request
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_IDS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")

Json = dict[str, Any]


class ReviewServer(ThreadingHTTPServer):
    """Serves one session; bound to 127.0.0.1 only."""

    daemon_threads = True

    def __init__(self, session: ReviewSession, port: int = 0) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as problem:
            raise InputError(f"port {port} cannot be used ({problem.strerror}); ‹port=0› takes a free one") from None
        self.session = session
        self.token: str | None = secrets.token_urlsafe(24)
        self.cookie = secrets.token_urlsafe(32)
        self.guard = threading.Lock()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """What the user opens, once."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which a browser on this computer may call us."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def redeem(self, token: str) -> bool:
        """Whether a token opens the page: the right one, for the first time."""
        with self.guard:
            if self.token is None or not secrets.compare_digest(token.encode(), self.token.encode()):
                return False
            self.token = None
            return True


def serve(session: ReviewSession, say: Say, *, port: int = 0, browse: bool = True) -> None:
    """Serve the page until the process is interrupted."""
    server = ReviewServer(session, port)
    try:
        say(f"Review at {server.address}")
        say("The address opens once, in one browser. Ctrl-C ends the review; every answer is on disk already.")
        if browse:
            with suppress(webbrowser.Error):
                webbrowser.open(server.address)
        server.serve_forever()
    except KeyboardInterrupt:
        say(f"{len(session.said.standing)} decisions in {session.run.decisions}")
    finally:
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    server_version = "ruleminer"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        if not self._is_ours() or (url := self._url()) is None:
            return
        asked = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        if url.path == "/" and "token" in asked:
            self._enter(asked["token"])
        elif not self._is_known():
            self._page(HTTPStatus.FORBIDDEN, _closed("This page opens with the address that the terminal shows."))
        elif url.path in _STATIC:
            self._send(HTTPStatus.OK, *_STATIC[url.path]())
        elif url.path == "/api/screen":
            self._json(lambda session: screen(session, asked.get("focus") or None))
        elif url.path == "/api/version":
            self._json(lambda session: {"version": len(session.said.lines)})
        elif url.path == "/api/schema":
            self._json(_schema)
        else:
            self._page(HTTPStatus.NOT_FOUND, _closed("There is no such page."))

    def do_POST(self) -> None:
        if not self._is_ours() or not self._is_same_origin():
            return
        if not self._is_known():
            self._page(HTTPStatus.FORBIDDEN, _closed("This page opens with the address that the terminal shows."))
            return
        if (url := self._url()) is None:
            return
        action = _ACTIONS.get(url.path)
        told = self._body()
        if action is None or told is None:
            status = HTTPStatus.NOT_FOUND if action is None else HTTPStatus.BAD_REQUEST
            self._page(status, _closed("There is no such page, or what was sent is no JSON."))
            return
        self._json(lambda session: action(session, told))

    def _enter(self, token: str) -> None:
        if self._is_known() or self.server.redeem(token):
            cookie = f"{self._cookie_name}={self.server.cookie}; Path=/; HttpOnly; SameSite=Strict"
            self._send(HTTPStatus.SEE_OTHER, b"", "text/plain", {"Location": "/", "Set-Cookie": cookie})
        else:
            told = "This address was opened before, or is of an earlier review. Start `ruleminer review` again."
            self._page(HTTPStatus.FORBIDDEN, _closed(told))

    @property
    def _cookie_name(self) -> str:
        return f"ruleminer-{self.server.port}"  # cookies do not tell ports apart

    def _is_ours(self) -> bool:
        """Whether the request was meant for us: a foreign name that leads here is none of ours."""
        if self.headers.get_all("Host", []) in ([host] for host in self.server.hosts):
            return True
        self._page(HTTPStatus.MISDIRECTED_REQUEST, _closed("This is not the host that you asked for."))
        return False

    def _url(self) -> SplitResult | None:
        """What is asked for; None, and refused, if it is no address."""
        try:
            return urlsplit(self.path)
        except ValueError:
            self._page(HTTPStatus.BAD_REQUEST, _closed("This is no address."))
            return None

    def _is_same_origin(self) -> bool:
        origins = [f"http://{host}" for host in self.server.hosts]
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        if self.headers.get("Origin") in origins and site == "same-origin" and kind == "application/json":
            return True
        self._page(HTTPStatus.FORBIDDEN, _closed("Only the review's own page may say anything."))
        return False

    def _is_known(self) -> bool:
        try:
            cookies = SimpleCookie(self.headers.get("Cookie", ""))
        except CookieError:
            return False
        given = cookies.get(self._cookie_name)
        return given is not None and secrets.compare_digest(given.value.encode(), self.server.cookie.encode())

    def _body(self) -> Json | None:
        try:
            length = int(self.headers.get("Content-Length", ""))
            if not 0 <= length <= _LONGEST:
                return None
            told = json.loads(self.rfile.read(length))
        except (ValueError, UnicodeDecodeError):
            return None
        return told if isinstance(told, dict) else None

    def _json(self, make: Callable[[ReviewSession], Json]) -> None:
        status = HTTPStatus.OK
        try:
            told = make(self.server.session)
        except RuleminerError as problem:
            status, told = HTTPStatus.BAD_REQUEST, {"problem": str(problem)}
        text = json.dumps(told, ensure_ascii=False, allow_nan=False, default=str)
        self._send(status, text.encode("utf-8", "replace"), "application/json; charset=utf-8")

    def _page(self, status: HTTPStatus, text: str) -> None:
        self.close_connection = True  # what is left of a request that was refused is not read
        self._send(status, text.encode(), "text/html; charset=utf-8", {"Connection": "close"})

    def _send(self, status: HTTPStatus, content: bytes, kind: str, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {
            **_HEADERS,
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            **(more or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """A terminal is no place for a line per request, and the first one has the token in it."""


def _closed(why: str) -> str:
    return f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>ruleminer</title><p>{why}</p></html>'


def _static(name: str, kind: str) -> tuple[bytes, str]:
    folder = files("ruleminer.review") / "page"
    text = (folder / name).read_text("utf-8")
    if name.endswith(".css"):  # the report's look, and what the page has beyond it
        report = files("ruleminer.proposals.report") / "templates" / "report.css"
        text = f"{report.read_text('utf-8')}\n{text}"
    return text.encode(), f"{kind}; charset=utf-8"


_STATIC: dict[str, Callable[[], tuple[bytes, str]]] = {
    "/": lambda: _static("page.html", "text/html"),
    "/page.css": lambda: _static("page.css", "text/css"),
    "/page.js": lambda: _static("page.js", "text/javascript"),
    "/editor.js": lambda: _static("editor.js", "text/javascript"),
}


def _schema(session: ReviewSession) -> Json:
    """Tables and columns, for completion."""
    tables = session.database.schema.tables
    return {"tables": {table.name: [column.name for column in table.columns] for table in tables}}


def _decided(session: ReviewSession, told: Json) -> Json:
    """Say something; the same id says it once."""
    try:
        said = Said(told["said"])
        term = session.ontology.find(str(told["term"])).name
    except (KeyError, ValueError):
        raise InputError("what was said of which term?") from None
    lines: list[UserDecision] = []
    if said in FACTS:
        facts = told.get("facts") or ()
        if not isinstance(facts, list | tuple) or not all(isinstance(fact, list) for fact in facts):
            raise InputError("facts are a list of lists")
        for number, fact in enumerate(facts):
            arguments = tuple(str(value) for value in fact)
            if not 1 <= len(arguments) <= 2 or not all(arguments):
                raise InputError("a fact has one or two arguments")
            about = NAMED if said is Said.HOLDS and told.get("named") is True else ""
            lines.append(UserDecision(term, said, arguments, about=about, id=f"{_id(told)}-{number}"))
    elif said in (*KEEPING, Said.REJECTED):
        checked = check_rules(str(told.get("text", "")), term, session.ontology, session.database.schema)
        if checked.problems and said is not Said.REJECTED:
            raise InputError(checked.problems[0].message)
        about = str(told.get("about", ""))[:4000]
        lines.append(UserDecision(term, said, rules=checked.rules, about=about, id=_id(told)))
    elif said in (Said.NO_RULE, Said.NONE_KNOWN):
        lines.append(UserDecision(term, said, id=_id(told)))
    if not lines or (said in (*KEEPING, Said.REJECTED) and not lines[0].rules):
        raise InputError(f"{said}: about which fact or rule?")
    return _told(session, session.say(*lines), told)


def _named(session: ReviewSession, told: Json) -> Json:
    """A fact in the user's own words; what it may be, if that is several."""
    term = session.ontology.find(str(told.get("term", "")))
    texts = told.get("texts")
    if not isinstance(texts, list):
        raise InputError("a fact is a list of texts")
    with session.lock:
        heard = session.named(term.name, fact_in_fields(list(map(str, texts)), term), _id(told))
        if isinstance(heard, Question):
            return {"choose": question_json(session, heard)}
        return _told(session, heard, told)


def _undone(session: ReviewSession, told: Json) -> Json:
    taken, changes = session.undo(str(told.get("target") or "") or None)
    return {"undone": taken.told if taken else None, **_told(session, changes, told)}


def _checked(session: ReviewSession, told: Json) -> Json:
    """A rule as it is typed, run if it is right."""
    term = session.ontology.find(str(told.get("term", ""))).name
    checked = check_rules(str(told.get("text", "")), term, session.ontology, session.database.schema)
    with session.lock:
        checked = run_rules(checked, session.derivations)
    return {
        "problems": [{"message": one.message, "line": one.line, "column": one.column} for one in checked.problems],
        "derives": checked.derives,
        "sample": [list(fact) for fact in checked.sample],
        "words": [rule_words(rule) for rule in checked.rules],
        "sql": list(checked.sql),
    }


def _exported(session: ReviewSession, told: Json) -> Json:
    delivery = session.export()
    return {"folder": str(delivery.folder), "files": [path.name for path in delivery.files]}


def _told(session: ReviewSession, changes: tuple[Change, ...], told: Json) -> Json:
    focus = str(told.get("focus") or "") or None
    return {"changes": [change_json(one) for one in changes], "screen": screen(session, focus)}


def _id(told: Json) -> str:
    given = str(told.get("id", ""))
    if not 8 <= len(given) <= 64 or not set(given) <= _IDS:
        raise InputError("an answer needs an id of its own")
    return given


_ACTIONS: dict[str, Callable[[ReviewSession, Json], Json]] = {
    "/api/say": _decided,
    "/api/name": _named,
    "/api/undo": _undone,
    "/api/check": _checked,
    "/api/export": _exported,
}
