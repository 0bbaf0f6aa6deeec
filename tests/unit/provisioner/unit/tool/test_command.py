"""What each tool answers, and what it refuses."""

import json
import shlex

import pytest
from unit.provisioner.unit import stage

from tinkwell.provisioner.unit.attempt import attempt as attempts
from tinkwell.provisioner.unit.attempt.attempt import BagEdit
from tinkwell.provisioner.unit.attempt.given import Status
from tinkwell.provisioner.unit.tool.command import table
from tinkwell.provisioner.unit.tool.command.table import Result

BAGS = {(7, "pg/1"): {"dsn": "pg://1", "on": "yes"}, (7, "pg"): {"version": "15"}, (3, "web/1"): {"port": "81"}}


async def _say(line: str, attempt: attempts.Attempt | None = None, content: bytes = b"") -> Result:
    name, *arguments = shlex.split(line)
    return await table.call(attempt or stage.attempt(world=stage.FakeWorld(dict(BAGS))), name, arguments, content)


@pytest.mark.parametrize(
    "line, answer",
    [
        ("config-get workers", "2\n"),
        ("config-get debug", "True\n"),
        ("config-get debug --format json", "true\n"),
        ("config-get unset", ""),
        ("config-get --format=json unset", "null\n"),
        ("config-get", 'workers: 2\nname: "no"\ndebug: true\n'),
        ("config-get --format=json", '{"workers":2,"name":"no","debug":true}\n'),
        ("is-leader", "False\n"),
        ("is-leader --format=json", "false\n"),
        ("relation-ids db", "db:7\ndb:10\n"),
        ("relation-ids", "db:7\ndb:10\n"),
        ("relation-ids nothing", ""),
        ("relation-ids --format=json peers", '["peers:3"]\n'),
        ("relation-list", "pg/0\npg/1\n"),
        ("relation-list -r 10 --format=json", "[]\n"),
        ("relation-list --app", "pg\n"),
        ("relation-list --format=json --app -r peers:3", '"web"\n'),
        ("relation-get", 'dsn: "pg://1"\n"on": "yes"\n'),
        ("relation-get dsn", "pg://1\n"),
        ("relation-get dsn pg/1", "pg://1\n"),
        ("relation-get missing", ""),
        ("relation-get --format=json missing", "null\n"),
        ("relation-get --format=json -r db:7 --app - pg", '{"version":"15"}\n'),
        ("relation-get --app version", "15\n"),
        ("relation-get --app version pg/0", "15\n"),
        ("relation-get -r peers:3 port web/1", "81\n"),
        ("relation-get -r peers:3 --app seed web", "12\n"),
        ("relation-get - web/0", 'ready: "no"\n'),
        ("status-get", "waiting\n"),
        (
            "status-get --include-data --format=json --application=false",
            '{"status":"waiting","message":"for a database","status-data":{}}\n',
        ),
        ("storage-get -s data/0 location", "/srv/data\n"),
        ("storage-get --format=json -s data/0", '{"kind":"filesystem","location":"/srv/data"}\n'),
        ("state-get step", "one\n"),
        ("state-get --format=json", '{"step":"one"}\n'),
    ],
)
async def test_a_tool_answers(line: str, answer: str) -> None:
    assert await _say(line) == Result(out=answer)


@pytest.mark.parametrize(
    "line, code, sentence",
    [
        ("relation-list -r db:9", 2, 'invalid value "db:9" for option -r: relation not found'),
        ("relation-list -r peers:7", 2, 'invalid value "peers:7" for option -r: relation not found'),
        ("relation-list extra", 2, "1 arguments are given; 0 to 0 are expected"),
        ("relation-list --nothing", 2, "--nothing is not known; known are --app, --format, --relation, -r"),
        ("relation-list -r", 2, "-r needs a value"),
        ("relation-list --format=xml", 2, "--format: 'xml' is no format; use one of smart, json, yaml"),
        ("relation-get - pg", 2, "'pg' is no unit; for an application's bag add --app"),
        ("relation-get -r 10", 2, "no unit is given, and the event is about none: give its name"),
        ("relation-get - pg/9", 1, "permission denied: web/0 cannot read the bag of pg/9"),
        ("relation-get --app - web", 1, "permission denied: web/0 is not the leader"),
        ("relation-set --app a=b", 1, "cannot write relation settings: web/0 is not the leader of web"),
        ("relation-set a", 2, "'a' is no key=value"),
        ("status-set broken", 2, "'broken' is no status; use one of active, blocked, maintenance, waiting"),
        ("status-set --application=True active", 1, "setting application status: web/0 is not the leader"),
        ("status-get --application", 1, "finding application status: web/0 is not the leader"),
        ("juju-log", 2, "0 arguments are given; 1 or more are expected"),
        (
            "juju-log -l LOUD x",
            2,
            "'LOUD' is no level; use one of TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL",
        ),
        ("storage-get", 2, "no storage is given, and the event is about none: give its name with -s"),
        ("storage-get -s data/9", 1, 'storage "data/9" not found'),
    ],
)
async def test_a_tool_refuses(line: str, code: int, sentence: str) -> None:
    assert await _say(line) == Result(code, err=f"ERROR {sentence}\n")


async def test_a_name_that_is_no_tool_is_refused() -> None:
    assert (await _say("secret-cut x")).code == 2


async def test_what_is_written_is_read_back_and_kept_for_the_commit() -> None:
    attempt = stage.attempt()
    assert await _say("relation-set ready=yes url=http://web -r db:7", attempt) == Result()
    assert await _say("relation-set --file -", attempt, b'{"url": "", "size": "2"}') == Result()
    assert (await _say("relation-get --format=json - web/0", attempt)).out == '{"ready":"yes","size":"2"}\n'
    assert attempt.bag_edits == [
        BagEdit(7, "web/0", "ready", "yes"),
        BagEdit(7, "web/0", "url", None),
        BagEdit(7, "web/0", "size", "2"),
    ]


async def test_a_leader_writes_and_reads_the_bag_of_its_application() -> None:
    attempt = stage.attempt(world=stage.FakeWorld(leads=True))
    assert await _say("relation-set --app a=b", attempt) == Result()
    assert (await _say("relation-get --app a web", attempt)).out == "b\n"
    assert attempt.bag_edits == [BagEdit(7, "web", "a", "b")]


async def test_state_is_written_and_deleted() -> None:
    attempt = stage.attempt()
    await _say("state-set a=1 --file -", attempt, b"b: two\nc: three\n")
    await _say("state-delete c step never", attempt)
    assert (await _say("state-get --format=json", attempt)).out == '{"b":"two","a":"1"}\n'
    assert attempt.state_edits == {"a": "1", "b": "two", "c": None, "step": None, "never": None}


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"[1]", "--file: it holds no mapping; write one of strings by their keys, as JSON or YAML"),
        (b'{"port": 80}', "--file: 'port' is no string; write it in quotes"),
        (b"a: " + b"x" * 70_000, "--file: it is no JSON, and too large for YAML: at most 65,536 bytes"),
        (b"\xff", "--file: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
async def test_a_file_that_holds_no_strings_is_refused(content: bytes, sentence: str) -> None:
    assert await _say("state-set --file -", content=content) == Result(2, err=f"ERROR {sentence}\n")


def _large(key: str, size: int) -> bytes:
    return json.dumps({key: "x" * size}).encode()


async def test_a_bag_has_limits() -> None:
    many = json.dumps({f"k{number}": "v" for number in range(257)}).encode()
    attempt = stage.attempt()
    assert "257 keys; at most 256" in (await _say("relation-set -r 10 --file -", attempt, many)).err
    assert "65,536 bytes at 'k'" in (await _say("relation-set --file -", attempt, _large("k", 65_537))).err
    assert attempt.bag_edits == []
    large = stage.attempt()
    results = [await _say("relation-set --file -", large, _large(f"k{number}", 65_000)) for number in range(17)]
    assert [each.code for each in results] == [0] * 16 + [1]


async def test_the_state_has_a_limit() -> None:
    assert "at most 1,048,576" in (await _say("state-set --file -", content=_large("k", 1_048_576))).err


async def test_statuses_and_lines_are_told_at_once() -> None:
    world = stage.FakeWorld()
    attempt = stage.attempt(world=world)
    await _say("status-set --application=False blocked -- no -database", attempt)
    await _say("juju-log --log-level warning -- -x y", attempt)
    await _say("juju-log --debug z", attempt)
    assert world.statuses == [Status(name="blocked", message="no -database")]
    assert world.lines == [("WARNING", "-x y"), ("DEBUG", "z")]
    assert (await _say("status-get", attempt)).out == "blocked\n"


async def test_a_bag_of_others_is_read_once() -> None:
    world = stage.FakeWorld(dict(BAGS))
    attempt = stage.attempt(world=world)
    await _say("relation-get dsn", attempt)
    await _say("relation-get on", attempt)
    assert world.reads == [(7, "pg/1")]
