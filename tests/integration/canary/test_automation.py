"""No secret of rules is in what `tinkwell automation` and a provisioner write, whatever becomes of effects."""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from integration.canary.conftest import Cage

from support import canary, process
from support import server as servers
from support.receiver import Receiver
from tinkwell import client
from tinkwell.client import Client

TOKEN = canary.named("token")
SIGNING = f"whsec_{base64.b64encode(canary.named('signing-secret').encode()).decode()}"
REST = f"/{canary.named('path')}/more?key={canary.named('query')}"
SECONDS = 60
EVENT = "rack.door_opened"
# By rule, what its delivery log says in the end.
OUTCOMES = {
    "answered": "DONE HTTP 204",
    "unheard": "FAILED ConnectError: All connection attempts failed",
    "refused": "HOPELESS HTTP 404",
    "elsewhere": "HOPELESS HTTP 302; redirects are not followed",
    "bad-header": "FAILED LocalProtocolError: Illegal header value b'***'",
    "private": "HOPELESS 127.0.0.1 has no public address; allow_private lets requests go to others",
    "slow": "FAILED no answer within 1 s",
}
RULES = """
name: canary
rules:
"""
RULE = """
  - name: {name}
    on: {{name: {event}}}
    do:
      webhook:
        url_env: {variable}
        secret_env: WEBHOOK_SECRET
        headers_env: {{Authorization: {header}}}
        allow_private: {allow_private}
        timeout: {timeout}
        attempts: 1
"""


@pytest.fixture
async def receivers() -> AsyncIterator[dict[str, Receiver]]:
    """Receivers that answer as the rules of their names expect."""
    found = {"answered": Receiver(), "refused": Receiver(), "elsewhere": Receiver(), "slow": Receiver()}
    found["refused"].statuses = [404] * 10
    found["elsewhere"].statuses = [302] * 10
    found["slow"].may_answer.clear()
    async with contextlib.AsyncExitStack() as stack:
        for receiver in found.values():
            await stack.enter_async_context(receiver.running())
            receiver.url = receiver.url.removesuffix("/hook") + REST
        yield found


@pytest.fixture
async def guarded(database_url: str) -> AsyncIterator[servers.Server]:
    """A server that wants a token."""
    async with servers.running(database_url, tokens={"alice": TOKEN}) as server:
        yield server


@pytest.fixture
async def publisher(guarded: servers.Server) -> AsyncIterator[Client]:
    async with client.connect(guarded.address, token=TOKEN) as connected:
        yield connected


def environment(receivers: dict[str, Receiver]) -> dict[str, str]:
    answered = receivers["answered"].url
    return {
        **{_variable(name): receiver.url for name, receiver in receivers.items()},
        _variable("unheard"): f"http://127.0.0.1:1{REST}",
        _variable("bad-header"): answered,
        _variable("private"): answered,
        "WEBHOOK_SECRET": SIGNING,
        "GOOD_HEADER": f"Bearer {canary.named('header')}",
        "BAD_HEADER": f" Bearer {canary.named('bad-header')} ",
        "TINKWELL_TOKEN": TOKEN,
        "TINKWELL_LOG_LEVEL": "debug",
    }


def rules(path: Path) -> str:
    path.write_text(RULES + "".join(_rules()))
    return str(path)


def _rules() -> Iterator[str]:
    for name in OUTCOMES:
        yield RULE.format(
            name=name,
            event=EVENT,
            variable=_variable(name),
            header="BAD_HEADER" if name == "bad-header" else "GOOD_HEADER",
            allow_private="false" if name == "private" else "true",
            timeout="1s" if name == "slow" else "10s",
        )


def _variable(name: str) -> str:
    return f"URL_{name.upper().replace('-', '_')}"


async def ended(running: process.Process) -> None:
    """Wait until each rule has done what it can about an event."""
    for name in OUTCOMES:
        await running.line(f"(an effect is done|an effect has failed for good) rule={name} ", deadline_seconds=SECONDS)


@pytest.mark.parametrize(
    "command",
    [
        ("automation", "run", "--rules"),
        ("provisioner", "--runtime", "process", "--resync-seconds", "60", "--automation"),
    ],
)
async def test_webhooks_that_arrive_and_that_do_not_tell_no_secret(
    cage: Cage, guarded: servers.Server, publisher: Client, receivers: dict[str, Receiver], command: tuple[str, ...]
) -> None:
    known = {**environment(receivers), "TINKWELL_SERVER": guarded.address}
    file = rules(cage.path / "rules.yaml")
    async with cage.running(*command, file, **known) as running:
        await running.line("events are followed", deadline_seconds=SECONDS)
        await publisher.events.publish(EVENT)
        await ended(running)
        assert await running.stop() == 0
    assert "HTTP Request" not in running.output
    (log,) = cage.path.rglob("canary.jsonl")
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert {each["rule"]: f"{each['outcome']} {each['detail']}" for each in told} == OUTCOMES
    assert cage.escaped == []


async def test_what_is_done_by_hand_tells_no_secret_either(
    cage: Cage, guarded: servers.Server, publisher: Client, receivers: dict[str, Receiver]
) -> None:
    known = {**environment(receivers), "TINKWELL_SERVER": guarded.address}
    file = rules(cage.path / "rules.yaml")
    async with cage.running("automation", "run", "--rules", file, **known) as running:
        await running.line("events are followed", deadline_seconds=SECONDS)
        await publisher.events.publish(EVENT)
        await ended(running)
        await running.stop()
    for words in (("check", file), ("deliveries", "canary"), ("deliveries", "canary", "-o", "jsonl")):
        code, output = await cage.run("automation", *words, **known)
        assert (code, bool(output)) == (0, True)
    code, output = await cage.run("automation", "redeliver", "--rules", file, "--failed", **known)
    assert code == 1
    assert "FAILED LocalProtocolError: Illegal header value b'***'" in output
    assert cage.escaped == []


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("url_env: HOOK", {"HOOK": f"https://u:{canary.named('user')}@h/{canary.named('path')}"}),
        ("url_env: HOOK", {"HOOK": f"https://h:{canary.named('port')}/"}),
        ("url_env: HOOK", {"HOOK": canary.named("url")}),
        (f"url: 'https://h:{canary.named('port')}/'", {}),
        (f"url: @https://h/{canary.named('path')}", {}),
        (f"url: https://h/x\n        url: https://h/{canary.named('path')}", {}),
        (f"url: 'https://h/{canary.named('path')}", {}),
        ("{url_env: HOOK, secret_env: KEY}", {"HOOK": f"https://h/{canary.named('p')}", "KEY": canary.named("key")}),
        ("{url_env: HOOK, headers_env: {A: B}}", {"HOOK": "https://h/", "B": canary.named("header") + "\n"}),
    ],
)
async def test_rules_that_cannot_be_used_are_told_without_their_secrets(
    cage: Cage, text: str, variables: dict[str, str]
) -> None:
    file = cage.path / "rules.yaml"
    body = f" {text}" if text.startswith("{") else f"\n        {text}"
    file.write_text(f"name: set\nrules:\n  - name: hook\n    on: {{name: a.b}}\n    do:\n      webhook:{body}\n")
    code, output = await cage.run("automation", "run", "--rules", str(file), **variables)
    assert (code, output.startswith("Error: "), "Traceback" in output) == (1, True, False)
    assert cage.escaped == []


@pytest.mark.parametrize("command", ["run", "redeliver"])
async def test_a_token_that_is_not_known_is_not_told(
    cage: Cage, guarded: servers.Server, receivers: dict[str, Receiver], command: str
) -> None:
    more = ("--failed",) if command == "redeliver" else ()
    known = {**environment(receivers), "TINKWELL_SERVER": guarded.address, "TINKWELL_TOKEN": canary.named("wrong")}
    file = rules(cage.path / "rules.yaml")
    code, output = await cage.run("automation", command, "--rules", file, *more, **known)
    # Nothing has failed that could be done again, so the server is not asked.
    assert (code, "the token is not known" in output) == ((1, True) if command == "run" else (0, False))
    assert cage.escaped == []
