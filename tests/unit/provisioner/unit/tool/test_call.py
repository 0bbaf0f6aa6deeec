"""Every call that ops makes of a tool, and every text that it reads: one row for each."""

import json
import shlex
from collections.abc import Mapping

import pytest
from unit.provisioner.unit import stage
from unit.provisioner.unit.stage import NEW, OWN, READ

from tinkwell.core.unit.effect import (
    Port,
    SecretAdd,
    SecretGrant,
    SecretRemove,
    SecretRevoke,
    SecretSet,
    SecretTrack,
)
from tinkwell.core.unit.kinds import Rotation
from tinkwell.provisioner.unit import address
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.given import Given, Task
from tinkwell.provisioner.unit.tool.command import refusal, table
from tinkwell.provisioner.unit.tool.command.table import Result

ACTION = Task(id="5b0d", name="backup", parameters={"target": {"host": "a", "port": 22}, "level": 3})


def _world(*, leads: bool = False) -> stage.FakeWorld:
    contents = {OWN: [{"key": "one"}, {"key": "two"}], READ: [{"key": str(each)} for each in (1, 2, 3)]}
    return stage.FakeWorld(leads=leads, secrets={**contents, NEW: [{"key": "first"}]})


def _attempt(given: Given | None = None, *, leads: bool = False) -> Attempt:
    return stage.attempt(given, _world(leads=leads))


async def _say(line: str, attempt: Attempt | None = None, content: bytes = b"") -> Result:
    name, *arguments = shlex.split(line)
    return await table.call(attempt or _attempt(), name, arguments, content)


async def _json(line: str, attempt: Attempt | None = None) -> object:
    result = await _say(line, attempt)
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


@pytest.mark.parametrize(
    "line, answer",
    [
        ("relation-ids db --format=json", ["db:7", "db:10"]),
        ("relation-list --format=json -r db:7", ["pg/0", "pg/1"]),
        ("relation-list --format=json --app -r db:7", "pg"),
        ("relation-list --format=json --app -r 3", "web"),
        ("relation-get --format=json -r db:7 - web/0", {"ready": "no"}),
        ("relation-get --format=json -r db:7 ready web/0", "no"),
        ("relation-get --format=json -r db:7 none web/0", None),
        ("relation-model-get --format=json -r db:7", {"uuid": stage.MODEL}),
        ("config-get --format=json", {"workers": 2, "name": "no", "debug": True}),
        ("config-get --format=json workers", 2),
        ("is-leader --format=json", False),
        (
            "status-get --include-data --format=json --application=false",
            {"status": "waiting", "message": "for a database", "status-data": {}},
        ),
        ("storage-list --format=json", ["data/0"]),
        ("storage-list --format=json data", ["data/0"]),
        ("storage-list --format=json cache", []),
        ("storage-get --format=json -s data/0", {"kind": "filesystem", "location": "/srv/data"}),
        ("opened-ports --format=json", ["icmp", "80/tcp"]),
        ("opened-ports --endpoints --format=json", ["icmp (*)", "80/tcp (*)"]),
        ("state-get --format=json", {"step": "one"}),
        ("state-get --format=json step", "one"),
        ("secret-get --format=json " + READ, {"key": "2"}),
        ("secret-get --format=json --label dsn", {"key": "2"}),
        ("secret-get --format=json secret:" + READ + " --refresh", {"key": "3"}),
        ("secret-get --format=json secret://model/" + READ + " --peek", {"key": "3"}),
        ("secret-get --format=json " + NEW, {"key": "first"}),
        ("secret-get --format=json --label own", {"key": "two"}),
        ("secret-ids --format=json", [OWN]),
        ("unit-get --format=json private-address", "10.0.0.7"),
        ("leader-get --format=json", {}),
    ],
)
async def test_ops_reads_json(line: str, answer: object) -> None:
    assert await _json(line) == answer


@pytest.mark.parametrize(
    "line, answer",
    [
        ("secret-get " + READ, 'key: "2"\n'),
        ("secret-get " + READ + " key", '"2"\n'),
        ("secret-ids", f"- {OWN}\n"),
        ("opened-ports", "icmp\n80/tcp\n"),
        ("storage-list", "data/0\n"),
        ("network-get db --bind-address", "10.0.0.7\n"),
        ("network-get db --ingress-address", "10.0.0.7\n"),
        ("network-get db --egress-subnets", "10.0.0.7/32\n"),
        ("unit-get public-address", "10.0.0.7\n"),
        ("relation-model-get", f'uuid: "{stage.MODEL}"\n'),
        ("leader-get step", ""),
    ],
)
async def test_shell_scripts_read_plain_text(line: str, answer: str) -> None:
    assert await _say(line) == Result(out=answer)


@pytest.mark.parametrize(
    "line, code, sentence",
    [
        ("relation-get -r db:9 - pg/0 --format=json", 2, 'invalid value "db:9" for option -r: relation not found'),
        ("network-get --format=json nothing", 1, 'no network config found for binding "nothing"'),
        ("network-get -r 9 db", 2, 'invalid value "9" for option -r: relation not found'),
        ("status-get --application=true", 1, "finding application status: web/0 is not the leader"),
        ("status-set --application=True active", 1, "setting application status: web/0 is not the leader"),
        ("status-set error", 2, "'error' is no status; use one of active, blocked, maintenance, waiting"),
        ("storage-add cache=1", 1, 'charm storage "cache" not found'),
        ("storage-add data=0", 2, "'data=0' is no NAME=COUNT, where the count is from 1 to 100"),
        ("open-port 0", 2, "0: a port is a number from 1 to 65,535, and a range grows"),
        ("open-port 80/sctp", 2, 'invalid protocol "sctp", expected "tcp", "udp" or "icmp"'),
        ("open-port http", 2, '"http" is no port: write 80, 80/udp, 8000-8010/tcp or icmp'),
        ("open-port 1000-9999", 2, "1000-9999: a range has at most 1,000 ports"),
        ("close-port 90-80", 2, "90-80: a port is a number from 1 to 65,535, and a range grows"),
        ("action-get", 1, "not running an action"),
        ("action-set a=b", 1, "not running an action"),
        ("action-fail", 1, "not running an action"),
        ("action-log x", 1, "not running an action"),
        ("add-metric a=1", 1, "cannot add metrics: they are only taken in collect-metrics"),
        ("resource-get none", 1, 'could not download resource: resource "none" not found'),
        ("unit-get name", 2, "unknown setting 'name'; use private-address or public-address"),
        ("leader-set a=b", 1, "cannot write leadership settings: web/0 is not the leader"),
        ("secret-get", 2, "require either a secret URI or label"),
        ("secret-get --peek --refresh " + READ, 2, "specify one of --peek or --refresh but not both"),
        ("secret-get x", 1, '"x" is not a valid secret URI: secret not found'),
        ("secret-get --label none", 1, 'secret "none" not found'),
        ("secret-get " + "0" * 20, 1, f'secret "{"0" * 20}" not found'),
        ("secret-get " + READ + " none", 1, 'secret key value "none" not found'),
        ("secret-info-get " + READ, 1, f'secret "{READ}" not found'),
        ("secret-info-get", 2, "require either a secret URI or label"),
        ("secret-add key=value", 1, "permission denied: web/0 is not the leader"),
        ("secret-add --owner unit", 2, "missing secret value"),
        ("secret-add --owner other key=value", 2, "secret owner 'other' not valid: use one of application, unit"),
        ("secret-add --owner unit --label own key=value", 1, 'secret with label "own" already exists'),
        (
            "secret-add --owner unit --rotate often key=value",
            2,
            "rotate policy 'often' not valid: use one of never, hourly, daily, weekly, monthly, quarterly, yearly",
        ),
        ("secret-set " + READ + " key=value", 1, f'permission denied: secret "{READ}" is not owned by web/0'),
        ("secret-set " + NEW + " key=value", 1, f'secret "{NEW}" not found'),
        ("secret-grant " + OWN, 2, "missing relation id: give it with --relation"),
        ("secret-grant --relation 9 " + OWN, 2, 'invalid value "9" for option --relation: relation not found'),
        ("secret-revoke " + OWN, 2, "missing relation or application or unit"),
        ("secret-remove --revision 0 " + OWN, 2, "--revision: '0' is no revision; give a number from 1 on"),
    ],
)
async def test_a_tool_says_what_is_wrong(line: str, code: int, sentence: str) -> None:
    assert await _say(line) == Result(code, err=f"ERROR {sentence}\n")


@pytest.mark.parametrize("name", sorted(refusal.SENTENCES))
async def test_tools_that_there_are_not_answer_one_sentence(name: str) -> None:
    result = await _say(f"{name} --any thing")
    assert (result.code, result.out) == (1, "")
    assert result.err == f"ERROR {refusal.SENTENCES[name]}\n"


@pytest.mark.parametrize("name", sorted(table.TOOLS))
async def test_each_tool_refuses_a_flag_that_it_does_not_know(name: str) -> None:
    result = await _say(f"{name} --no-such-flag")
    assert result.code == 2
    assert result.err.startswith("ERROR --no-such-flag is not known")


@pytest.mark.parametrize(
    "name, members",
    [
        ("db-relation-created", []),
        ("db-relation-joined", ["pg/0", "pg/1"]),
        ("db-relation-departed", ["pg/0"]),
        ("db-relation-broken", []),
    ],
)
async def test_members_are_those_of_the_event(name: str, members: list[str]) -> None:
    assert await _json("relation-list --format=json -r db:7", _attempt(stage.given(name))) == members
    assert await _json("relation-list --format=json -r 3", _attempt(stage.given(name))) == ["web/1"]


async def test_who_joins_is_a_member_though_nobody_was_told_before() -> None:
    attempt = _attempt(stage.given("db-relation-joined", unit="pg/5"))
    assert await _json("relation-list --format=json -r db:7", attempt) == ["pg/0", "pg/1", "pg/5"]


async def test_the_machines_own_address_is_that_of_every_binding() -> None:
    for binding in ("db", "peers", "juju-info"):
        found = await _json(f"network-get --format=json -r db:7 {binding}")
        assert found == {
            "bind-addresses": [
                {
                    "mac-address": "",
                    "interface-name": "",
                    "addresses": [{"hostname": "", "value": "10.0.0.7", "cidr": "10.0.0.7/32"}],
                }
            ],
            "egress-subnets": ["10.0.0.7/32"],
            "ingress-addresses": ["10.0.0.7"],
        }


def test_an_interface_of_this_machine_is_found_by_its_address() -> None:
    assert address.interface(address.LOOPBACK) == address.Interface(
        name="lo", mac="00:00:00:00:00:00", subnet="127.0.0.0/8"
    )
    assert address.own()


async def test_a_leader_speaks_for_its_application() -> None:
    attempt = _attempt(leads=True)
    assert await _json("status-get --include-data --format=json --application=true", attempt) == {
        "application-status": {
            "status": "active",
            "message": "serves",
            "status-data": {},
            "units": {"web/0": {"status": "waiting", "message": "for a database", "status-data": {}}},
        }
    }
    assert await _say("status-set --application=True blocked -- no way", attempt) == Result()
    assert (await _say("status-get --application", attempt)).out == "blocked\n"
    assert await _say("leader-set a=b c=d", attempt) == Result()
    assert await _say("leader-set c=", attempt) == Result()
    assert await _json("leader-get --format=json", attempt) == {"a": "b"}
    assert await _json("relation-get --format=json -r 3 --app - web", attempt) == {"seed": "12"}


async def test_ports_are_opened_and_closed() -> None:
    attempt = _attempt()
    for line in (
        "open-port 8000-8002",
        "open-port --endpoints db 53/udp",
        "close-port 80/tcp",
        "close-port 8001",
        "close-port 9",
    ):
        assert await _say(line, attempt) == Result()
    assert await _json("opened-ports --format=json", attempt) == ["icmp", "8000/tcp", "8002/tcp", "53/udp"]
    assert attempt.ports.closed == (Port(protocol="tcp", number=80),)
    assert [port.number for port in attempt.ports.opened] == [8000, 8002, 53]


async def test_what_takes_effect_at_once_does() -> None:
    world = _world()
    attempt = stage.attempt(world=world)
    assert await _say("application-version-set -- 1.2-rc", attempt) == Result()
    assert world.versions == ["1.2-rc"]


async def test_storages_are_asked_for() -> None:
    attempt = _attempt()
    assert await _say("storage-add data=2 data", attempt) == Result()
    assert attempt.storages == {"data": 3}


@pytest.mark.parametrize(
    "line, answer",
    [
        ("action-get --format=json", {"target": {"host": "a", "port": 22}, "level": 3}),
        ("action-get --format=json target.port", 22),
        ("action-get --format=json target.none.more", None),
    ],
)
async def test_an_action_reads_what_it_is_asked(line: str, answer: object) -> None:
    assert await _json(line, _attempt(stage.given(task=ACTION))) == answer


async def test_an_action_answers() -> None:
    world = _world()
    attempt = stage.attempt(stage.given(task=ACTION), world)
    for line in (
        "action-set a.b=1 a.c=2 d=x=y",
        "action-set d.e=3",
        "action-log -- half done",
        "action-fail -- no room",
    ):
        assert await _say(line, attempt) == Result()
    assert attempt.result.values == {"a": {"b": "1", "c": "2"}, "d": {"e": "3"}}
    assert (attempt.result.failure, world.told) == ("no room", ["half done"])
    assert (await _say("action-set stdout=1", attempt)).err == 'ERROR cannot set reserved action key "stdout"\n'
    assert "must start and end with lowercase" in (await _say("action-set A=1", attempt)).err
    assert "at most 32" in (await table.call(attempt, "action-set", [f"{'a.' * 32}a=1"], b"")).err
    assert "at most 524,288 bytes" in (await table.call(attempt, "action-set", [f"large={'x' * 524_289}"], b"")).err


async def test_a_new_secret_is_read_and_given_away_within_its_event() -> None:
    attempt = _attempt(leads=True)
    line = "secret-add --label new --description d --rotate monthly --expire 2h --owner application key=value"
    uri = (await _say(line, attempt)).out.strip()
    secret = uri.removeprefix("secret:")
    assert await _json(f"secret-get --format=json {uri}", attempt) == {"key": "value"}
    assert await _json("secret-get --format=json --label new", attempt) == {"key": "value"}
    assert await _say(f"secret-grant --relation 7 {uri}", attempt) == Result()
    assert await _say(f"secret-grant --relation db:7 --unit pg/0 {uri}", attempt) == Result()
    info = await _json(f"secret-info-get --format=json {uri}", attempt)
    assert isinstance(info, dict)
    assert info[secret].keys() == {"revision", "label", "owner", "description", "rotation", "expiry", "access"}
    assert (info[secret]["owner"], info[secret]["rotation"]) == ("application", "monthly")
    assert await _json("secret-ids --format=json", attempt) == sorted([OWN, secret])
    added, granted, to_unit = attempt.secrets.effects
    assert isinstance(added, SecretAdd)
    assert (added.content, added.rotation, added.is_application) == ({"key": "value"}, Rotation.MONTHLY, True)
    assert granted == SecretGrant(id=secret, relation=7, application="pg")
    assert to_unit == SecretGrant(id=secret, relation=7, application="pg", unit="pg/0")
    assert attempt.secrets.is_applications


async def test_an_owner_changes_a_secret() -> None:
    attempt = _attempt()
    assert await _say(f"secret-set {OWN} key=three --label other", attempt) == Result()
    assert await _json(f"secret-get --format=json {OWN}", attempt) == {"key": "two"}
    assert await _json(f"secret-get --format=json {OWN} --peek", attempt) == {"key": "three"}
    info = await _json("secret-info-get --format=json --label other", attempt)
    assert isinstance(info, dict)
    assert (info[OWN]["revision"], info[OWN]["expiry"]) == (3, "2030-01-31T12:00:00Z")
    for line in ("secret-revoke --relation 7 " + OWN, f"secret-remove {OWN} --revision 1", f"secret-remove {OWN}"):
        assert await _say(line, attempt) == Result()
    assert await _say(f"secret-remove {OWN}", attempt) == Result()
    assert await _json("secret-ids --format=json", attempt) == []
    assert attempt.secrets.effects == (
        SecretSet(id=OWN, content={"key": "three"}, label="other"),
        SecretRevoke(id=OWN, relation=7, application="pg"),
        SecretRemove(id=OWN, revision=1),
        SecretRemove(id=OWN),
    )
    assert not attempt.secrets.is_applications


@pytest.mark.parametrize(
    "lines, tracks",
    [
        ([f"secret-get {READ}"], {}),
        ([f"secret-get {READ} --peek"], {}),
        ([f"secret-get {READ} --refresh", f"secret-get {READ}"], {READ: (3, None)}),
        ([f"secret-get {NEW}", f"secret-get {NEW} --label mine", "secret-get --label mine"], {NEW: (1, "mine")}),
        ([f"secret-get {READ} --label mine"], {READ: (0, "mine")}),
    ],
)
async def test_what_is_read_from_now_on_lands_with_the_event(
    lines: list[str], tracks: Mapping[str, tuple[int, str | None]]
) -> None:
    attempt = _attempt()
    for line in lines:
        assert (await _say(line, attempt)).code == 0
    assert attempt.secrets.effects == tuple(
        SecretTrack(id=secret, revision=revision, label=label) for secret, (revision, label) in tracks.items()
    )


async def test_a_secret_that_is_not_granted_is_refused_as_ops_knows_it() -> None:
    result = await _say(f"secret-get {'0' * 20}")
    assert (result.code, "not found" in result.err) == (1, True)
