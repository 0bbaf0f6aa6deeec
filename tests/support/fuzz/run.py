"""One run: two servers over one database, the first with tokens and Tinkerbell's port, and all that they are sent."""

import asyncio
import contextlib
import json
import logging
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import trustme

import tinkwell.client
from support import chart_archive, process, role, unit_agent
from support.fuzz import bystander, caller, framing, method, request, value, verdict
from support.fuzz.case import Case, Port, Source
from support.fuzz.value import Known
from support.fuzz.verdict import Record
from tinkwell.core.access import Role
from tinkwell.server.secret import keys

# Of each role one stranger, and first the one who may do all.
_TOKENS = {role.value: f"fuzz-{role.value}" for role in Role}
_BYSTANDER_TOKEN = "fuzz-bystander"
_GRPC, _HTTP = r"^gRPC +(\S+:\d+)$", r"^HTTP +http://(\S+:\d+)$"
_TINK = r"the server is ready.*tink=(\S+:\d+)"
_START_SECONDS = 60
_ENTRY = re.compile(r"^(?=\d{4}-\d\d-\d\d )", re.MULTILINE)
_ALARMING = re.compile(r" ERROR | CRITICAL |Traceback|never retrieved|never awaited")
_SHOWN_CHARACTERS = 2_000
_MOST_ALARMS = 20
_PROGRESS_CALLS = 1_000
_CONNECTIONS_AT_ONCE = 2

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How much of everything is sent; `only` is the one case that is, to see it by itself.

    The database is migrated and empty. All files go to the directory.
    """

    seed: int
    database_url: str
    directory: Path
    messages: int = 10_000
    requests: int = 500
    connections: int = 60
    jobs: int = 8
    patience_seconds: float = 1.0
    only: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What was found, and that for people."""

    violations: Sequence[str]
    record: Record
    text: str


@dataclass(frozen=True, slots=True)
class _Servers:
    """Two running servers: addresses of the ports, and of HTTP at the first one."""

    ports: Mapping[Port, str]
    http: str
    certificate: Path
    processes: Sequence[process.Process]


async def run(options: Options) -> Result:
    """Send everything, and judge what came of it."""
    async with _serving(options) as servers:
        template, known = await _furnish(servers)
        order = bystander.Order(
            grpc=servers.ports[Port.GUARDED],
            open=servers.ports[Port.OPEN],
            tink=servers.ports[Port.TINKERBELL],
            http=servers.http,
            template=template,
            token=_BYSTANDER_TOKEN,
            certificate=str(servers.certificate),
        )
        methods = {Port.GUARDED: method.own(), Port.OPEN: method.own(), Port.TINKERBELL: method.tinkerbell()}
        source = Source(options.seed, methods, known, list(_TOKENS.values()))
        complaints: list[str] = []
        async with bystander.beside(order) as accounts:
            calls, requests, attacks = await _attack(options, servers, source)
            # Whoever came through all of that is asked once more.
            await asyncio.sleep(0.2)
            complaints += [
                f"a server ended with {each.exit_code}" for each in servers.processes if each.exit_code is not None
            ]
    for each in servers.processes:
        complaints += list(_alarms(each.output))
    record = Record(calls, requests, attacks, accounts, complaints)
    violations = verdict.judge(record, patience_seconds=options.patience_seconds)
    findings = [f"VIOLATION {violation}" for violation in violations] or ["no violations"]
    return Result(violations, record, "\n".join((*verdict.tell(record), *findings, f"seed {options.seed}")))


async def _attack(
    options: Options, servers: _Servers, source: Source
) -> tuple[Sequence[caller.Ended], Sequence[request.Ended], Mapping[str, int]]:
    attacks: Counter[str] = Counter()

    own, plain = method.own(), (servers.ports[Port.GUARDED], servers.ports[Port.OPEN])
    numbers = iter(range(options.connections))

    async def connect() -> None:
        for number in numbers:
            attacks[await framing.attack(plain[number // 2 % 2], options.seed, number, own)] += 1

    async with caller.connected(servers.ports, servers.certificate.read_bytes()) as calls:
        if options.only is not None:
            await calls.call(source.case(options.only))
            return calls.ended, [], attacks
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(caller.all_of(calls, _cases(source, options.messages), jobs=options.jobs))
            drawn = (request.draw(options.seed, number) for number in range(options.requests))
            requests = tasks.create_task(request.all_of(servers.http, drawn, jobs=4))
            for _ in range(_CONNECTIONS_AT_ONCE):
                tasks.create_task(connect())
        return calls.ended, requests.result(), attacks


def _cases(source: Source, count: int) -> Iterator[Case]:
    for number in range(count):
        if number and number % _PROGRESS_CALLS == 0:
            logger.info("call %d of %d", number, count)
        yield source.case(number)


@contextlib.asynccontextmanager
async def _serving(options: Options) -> AsyncIterator[_Servers]:
    directory = options.directory
    issued = trustme.CA().issue_cert("127.0.0.1")
    certificate, key, sealing = (directory / name for name in ("cert.pem", "key.pem", "secret.keys"))
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    keys.create(sealing)
    common = {
        "TINKWELL_DATABASE_URL": role.url_of_server(options.database_url),
        "TINKWELL_THROWAWAY_DATABASE": "true",
        "TINKWELL_SECRET_KEYS": str(sealing),
    }
    guarded = {
        "TINKWELL_TOKENS": json.dumps({**_TOKENS, "bystander": _BYSTANDER_TOKEN}),
        "TINKWELL_ROLES": json.dumps({name: name for name in _TOKENS if name != Role.ADMIN}),
        "TINKWELL_TINK_PORT": "0",
        "TINKWELL_TINK_CERT": str(certificate),
        "TINKWELL_TINK_KEY": str(key),
    }
    arguments = ("server", "--host", "127.0.0.1", "--port", "0", "--http-port", "0")
    async with (
        process.running(*arguments, log=directory / "guarded.log", environment=common | guarded) as first,
        process.running(*arguments, log=directory / "open.log", environment=common) as second,
    ):
        ports = {
            Port.GUARDED: await _address(first, _GRPC),
            Port.OPEN: await _address(second, _GRPC),
            Port.TINKERBELL: await _address(first, _TINK),
        }
        yield _Servers(ports, await _address(first, _HTTP), certificate, (first, second))


async def _address(server: process.Process, pattern: str) -> str:
    return (await server.line(pattern, deadline_seconds=_START_SECONDS))[1]


async def _furnish(servers: _Servers) -> tuple[str, Known]:
    """Store something of each kind; return the id of a template that no hostile call knows, and what they know."""
    task = {
        "name": "t",
        "worker": "{{.device_1}}",
        "actions": [{"name": "a", "image": "b"}, {"name": "c", "image": "d"}],
    }
    text = json.dumps({"version": "0.1", "name": "n", "tasks": [task]})
    async with tinkwell.client.connect(servers.ports[Port.GUARDED], token=_BYSTANDER_TOKEN) as client:
        machine = str(uuid.uuid4())
        interface = {"dhcp": {"mac": value.MACS[0], "ip": {"address": value.IPS[0]}}}
        await client.hardware.push({"id": machine, "network": {"interfaces": [interface]}})
        own = await client.templates.create(text, name="bystander")
        known = await client.templates.create(text, name="known")
        workflow = await client.workflows.create(known.id, {"device_1": machine})
        actions = [action.id for action in await client.workflows.actions(workflow.id)]
        chart = await client.releases.upload_chart(chart_archive.packed())
        units = await _furnish_units(client)
    ids = (machine, known.id, workflow.id, *actions, chart.digest, *units, value.UNKNOWN_ID, machine.upper())
    return own.id, Known(ids=ids, names=("known", "default", "shop", "t", "a", "c", "fuzz", "web", "web/0"))


async def _furnish_units(client: tinkwell.client.Client) -> list[str]:
    """Relate two applications, and grant an event to each unit; return the ids of all, and the digest of a charm.

    The lease is the first one, whose token is 1.
    """
    applications = client.applications
    deployed = [
        await applications.deploy(name, unit_agent.charm(manifest), units=2, anywhere=True)
        for name, manifest in (("web", unit_agent.WEB), ("pg", unit_agent.PG))
    ]
    await applications.relate("web", "pg")
    agent = await unit_agent.Agent.enter(client, "owner", engine="engine")
    ids = [each.id for each in deployed] + [deployed[0].charm]
    async for unit in applications.units():
        granted = await client.units.next_event(agent.token, unit.id)
        ids += [unit.id, *([granted.event.id] if isinstance(granted, tinkwell.client.Grant) else [])]
    return ids


def _alarms(log: str) -> Iterator[str]:
    alarms = filter(_ALARMING.search, _ENTRY.split(log))
    for number, alarm in enumerate(alarms):
        if number == _MOST_ALARMS:
            yield "a server's log has more of these"
            return
        yield f"a server's log says: {alarm[:_SHOWN_CHARACTERS]}"
