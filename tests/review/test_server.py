"""The page is for one browser on this computer: no token, another origin or another host name, and it is refused."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from ruleminer.errors import InputError
from ruleminer.problem.decisions import NAMED, Said, read_decisions
from ruleminer.review.server import ReviewServer
from ruleminer.review.session import ReviewSession
from ruleminer.rules.body import Body
from tests.review.browser import served


@pytest.fixture
def server(session: ReviewSession) -> Iterator[ReviewServer]:
    with served(session) as running:
        yield running


class Client:
    """Speaks to the server as a program would, with the headers that it is told."""

    def __init__(self, server: ReviewServer) -> None:
        self.port, self.host = server.port, f"127.0.0.1:{server.port}"
        self.cookie = ""

    def ask(self, method: str, path: str, told: Any = None, **headers: str | None) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent: dict[str, str | None] = {"Host": self.host}
        if self.cookie:
            sent["Cookie"] = self.cookie
        if told is not None:
            sent |= {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = None if told is None else told if isinstance(told, bytes) else json.dumps(told).encode()
        connection.putrequest(method, path, skip_host=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        result = answer.status, dict(answer.getheaders()), answer.read().decode()
        connection.close()
        return result

    def enter(self, server: ReviewServer) -> None:
        status, headers, _ = self.ask("GET", f"/?token={server.token}")
        assert status == 303
        self.cookie = headers["Set-Cookie"].partition(";")[0]


@pytest.fixture
def client(server: ReviewServer) -> Client:
    entered = Client(server)
    entered.enter(server)
    return entered


def said(client: Client, **told: Any) -> tuple[int, Any]:
    status, _, text = client.ask("POST", "/api/say", told)
    return status, json.loads(text) if text.startswith("{") else text


def test_without_the_token_nothing_is_told(server: ReviewServer) -> None:
    stranger = Client(server)
    for path in (
        "/",
        "/page.js",
        "/page.css",
        "/api/screen",
        "/api/schema",
        "/api/version",
        "/?token=guess",
        "/?token=",
    ):
        status, _, text = stranger.ask("GET", path)
        assert status == 403, path
        assert "Author" not in text
    assert stranger.ask("POST", "/api/undo", {})[0] == 403
    stranger.cookie = f"ruleminer-{server.port}=guess"
    assert stranger.ask("GET", "/api/screen")[0] == 403


def test_the_token_opens_once(server: ReviewServer) -> None:
    token = server.token
    first, second = Client(server), Client(server)
    first.enter(server)
    assert second.ask("GET", f"/?token={token}")[0] == 403
    assert first.ask("GET", "/api/version")[0] == 200
    assert first.ask("GET", f"/?token={token}")[0] == 303, "whoever is in may open their own address again"


def test_the_cookie_is_for_this_site_alone(server: ReviewServer) -> None:
    _, headers, _ = Client(server).ask("GET", f"/?token={server.token}")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in headers["Set-Cookie"].split(";")}
    assert headers["Location"] == "/"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", None]
)
def test_another_host_name_is_refused(client: Client, host: str | None) -> None:
    given = None if host is None else host.format(port=client.port)
    assert client.ask("GET", "/api/screen", Host=given)[0] in (400, 421)
    assert client.ask("POST", "/api/undo", {}, Host=given)[0] in (400, 421)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ],
)
def test_another_origin_may_say_nothing(client: Client, server: ReviewServer, headers: dict[str, str | None]) -> None:
    given = {name: value and value.format(port=client.port) for name, value in headers.items()}
    told = {"id": "x" * 16, "term": "Author", "said": "no rule"}
    assert client.ask("POST", "/api/say", told, **given)[0] == 403
    assert not server.session.said.lines


def test_every_answer_forbids_what_could_load_or_run_anything_else(client: Client) -> None:
    for path in ("/", "/page.js", "/page.css", "/api/screen", "/nothing"):
        _, headers, _ = client.ask("GET", path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"


def test_an_answer_that_comes_twice_is_applied_once(client: Client, server: ReviewServer) -> None:
    told = {"id": "an-answer-of-its-own", "term": "Author", "said": "does not hold", "facts": [["1"], ["2"]]}
    assert said(client, **told)[0] == 200
    status, again = said(client, **told)
    assert (status, again["changes"]) == (200, [])
    assert [line.fact for line in read_decisions(server.session.run.decisions).lines] == [("1",), ("2",)]


def test_undo_twice_takes_back_one_decision(client: Client, server: ReviewServer) -> None:
    for number in (1, 2):
        said(client, id=f"answer-number-{number}", term="Author", said="holds", facts=[[str(number)]])
    target = server.session.said.standing[-1].id
    for _ in range(2):
        assert client.ask("POST", "/api/undo", {"id": "undo-of-an-answer", "target": target})[0] == 200
    assert [line.fact for line in server.session.said.standing] == [("1",)]


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"id": "x" * 16, "term": "Author", "said": "perhaps"}, "what was said"),
        ({"id": "x" * 16, "said": "holds"}, "what was said"),
        ({"id": "x" * 16, "term": "Elf", "said": "holds", "facts": [["1"]]}, "no class or property"),
        ({"id": "x", "term": "Author", "said": "holds", "facts": [["1"]]}, "an id of its own"),
        ({"id": "../../etc", "term": "Author", "said": "holds", "facts": [["1"]]}, "an id of its own"),
        ({"id": "x" * 16, "term": "Author", "said": "holds"}, "about which fact"),
        ({"id": "x" * 16, "term": "Author", "said": "holds", "facts": [["1", "2", "3"]]}, "one or two arguments"),
        (
            {"id": "x" * 16, "term": "Author", "said": "accepted", "text": "Author(x) <- nowhere(id: x)"},
            "no table nowhere",
        ),
        ({"id": "x" * 16, "term": "Author", "said": "edited", "text": "Author(x"}, "expected"),
    ],
)
def test_what_makes_no_sense_is_refused_and_not_written(
    client: Client, server: ReviewServer, told: dict[str, Any], problem: str
) -> None:
    status, answer = said(client, **told)
    assert status == 400
    assert problem in answer["problem"]
    assert not server.session.said.lines


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'"text"'])
def test_a_body_that_is_no_object_is_refused(client: Client, body: bytes) -> None:
    assert client.ask("POST", "/api/say", body)[0] == 400


def test_a_rule_is_checked_as_it_is_typed_and_run(client: Client, server: ReviewServer) -> None:
    def check(text: str) -> Any:
        return json.loads(client.ask("POST", "/api/check", {"term": "Author", "text": text})[2])

    rule = server.session.rules["Author"][0]
    good = check(rule)
    assert good["problems"] == []
    assert good["derives"] > 0
    assert good["sample"]
    assert good["sql"][0].startswith("SELECT")
    assert check("Author(x) <- ")["problems"][0]["line"] == 1
    assert "no rule yet" in check("")["problems"][0]["message"]
    assert "is for Book, not for Author" in check(rule.replace("Author(", "Book(", 1))["problems"][0]["message"]
    assert "has no table" in check("Author(x) <- nowhere(id: x)")["problems"][0]["message"]


def test_a_port_that_is_taken_is_told(server: ReviewServer) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        ReviewServer(server.session, server.port)


def test_said_words_are_those_of_the_data(client: Client, server: ReviewServer) -> None:
    rule = server.session.rules["Author"][0]
    assert said(client, id="accept-the-author", term="Author", said="accepted", text=rule)[0] == 200
    assert server.session.said.kept["Author"].said is Said.ACCEPTED


def test_facts_that_are_no_lists_are_refused(client: Client) -> None:
    for facts in ([1], 1, "17", {"a": 1}, [{"a": 1}], [None]):
        status, told = said(client, term="Author", said="holds", facts=facts, id="a")
        assert status == 400, facts
        assert told["problem"]


def test_what_is_no_address_is_refused(client: Client) -> None:
    assert client.ask("GET", "http://[")[0] == 400
    assert client.ask("POST", "http://[", {})[0] == 400


def test_a_fact_that_is_named_is_written_once_and_nonsense_is_refused(client: Client, server: ReviewServer) -> None:
    known = server.session.sample(server.session.decisions["Book"].rules, 1)[0][0]
    table = server.session.derivations.texts.written(Body(server.session.decisions["Book"].rules[0]), (known,))[0]
    told = {"id": "named-it-once", "term": "Book", "texts": [table]}
    for _ in range(2):
        status, _, text = client.ask("POST", "/api/name", told)
        assert status == 200, text
    assert [(line.said, line.fact, line.about) for line in server.session.said.lines] == [(Said.HOLDS, (table,), NAMED)]
    for wrong in (
        {"term": "Book", "texts": "x"},
        {"term": "Book", "texts": []},
        {"term": "Book", "texts": ["", "a"]},
        {"term": "Book", "texts": ["<script>no such book</script>"]},
        {"term": "NoSuchTerm", "texts": ["1"]},
        {"texts": ["1"]},
        {"term": "Book", "texts": [table], "id": "?"},
    ):
        status, _, text = client.ask("POST", "/api/name", {"id": "another-name", **wrong})
        assert status == 400, text
        assert json.loads(text)["problem"]
    assert len(server.session.said.lines) == 1


def test_the_list_goes_from_the_least_sure_to_what_has_no_rule(client: Client) -> None:
    terms = json.loads(client.ask("GET", "/api/screen")[2])["terms"]
    mapped = [one for one in terms if one["state"] in ("proposed", "guessed")]
    assert terms[: len(mapped)] == mapped
    for one, other in pairwise(mapped):
        alike = abs(one["sure"] - other["sure"]) < 1e-9
        assert one["sure"] < other["sure"] + 0.01
        assert not alike or one["doubt"] >= other["doubt"], "what is equally sure is in order of doubt"
