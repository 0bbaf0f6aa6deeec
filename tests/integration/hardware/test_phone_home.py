"""Machines announce themselves over plain HTTP, and are known by the address that they call from."""

import asyncio
import contextlib
import http.client
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import asyncpg
import pytest

from support import server as support
from support.server import Server

MACHINE = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a01"
OTHER = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a02"
MAC, OTHERS_MAC, FREE_MAC = "52:54:00:10:00:0a", "52:54:00:10:00:0b", "52:54:00:10:00:0c"
# Everything below 127 is this machine, so that a caller may have any address there.
KNOWN, UNKNOWN = "127.0.0.1", "127.0.0.2"
FORM = "application/x-www-form-urlencoded"


class Caller:
    """Calls a server from an address of one's choice, and sees what becomes of it."""

    def __init__(self, server: Server, sql: asyncpg.Connection) -> None:
        self.server = server
        self.sql = sql

    async def call(
        self,
        body: object = b"",
        *,
        source: str = KNOWN,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()

        def request() -> tuple[int, dict[str, Any]]:
            host, _, port = self.server.http_address.rpartition(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=(source, 0))
            with contextlib.closing(connection):
                connection.request("POST", "/phone-home", content, {"Content-Type": kind, **(headers or {})})
                response = connection.getresponse()
                return response.status, json.loads(response.read())

        return await asyncio.to_thread(request)

    async def said(self) -> list[tuple[str, object]]:
        """Which machines have called, and what they said."""
        rows = await self.sql.fetch(
            "SELECT resource_id, data FROM events WHERE event_type = 'HARDWARE_PHONE_HOME' ORDER BY revision"
        )
        return [(str(machine), json.loads(data)["phone_home"]) for machine, data in rows]

    async def machines(self) -> dict[str, Any]:
        rows = await self.sql.fetch("SELECT id, network FROM hardware WHERE deleted_at IS NULL")
        return {str(machine): json.loads(network) for machine, network in rows}


@contextlib.asynccontextmanager
async def calling(database_url: str, **settings: object) -> AsyncIterator[Caller]:
    sql = await asyncpg.connect(database_url)
    try:
        for machine, mac, address in ((MACHINE, MAC, KNOWN), (OTHER, OTHERS_MAC, "192.0.2.7")):
            network = {"interfaces": [{"dhcp": {"mac": mac, "ip": {"address": address}}}]}
            await sql.execute(
                "INSERT INTO hardware (id, network) VALUES ($1, $2)", uuid.UUID(machine), json.dumps(network)
            )
        async with support.running(database_url, **settings) as server:
            yield Caller(server, sql)
    finally:
        await sql.close()


async def test_a_machine_is_known_by_its_address_and_its_words_reach_the_event(database_url: str) -> None:
    async with calling(database_url) as caller:
        status, answer = await caller.call(b'{"state": "up", "n": 1.10}')
        revision = await caller.sql.fetchval("SELECT max(revision) FROM events")
        assert (status, answer) == (200, {"id": MACHINE, "revision": revision})
        assert (await caller.call())[0] == 200
        assert (await caller.call({"id": MACHINE.upper(), "mac": MAC.upper()}))[0] == 200
        form = b"hostname=node-1&pub_key=a&pub_key=b+c&empty="
        assert (await caller.call(form, kind=f"{FORM}; charset=utf-8"))[0] == 200
        assert await caller.said() == [
            (MACHINE, {"state": "up", "n": 1.1}),
            (MACHINE, {}),
            (MACHINE, {"id": MACHINE.upper(), "mac": MAC.upper()}),
            (MACHINE, {"hostname": "node-1", "pub_key": ["a", "b c"], "empty": ""}),
        ]
        assert (
            await caller.sql.fetchval("SELECT actor FROM events ORDER BY revision DESC LIMIT 1") == f"machine@{KNOWN}"
        )


async def test_what_cannot_be_taken_is_refused_with_a_sentence_and_leaves_nothing(database_url: str) -> None:
    refusals: list[tuple[int, str, dict[str, Any]]] = [
        (400, "data", {"body": b"{"}),
        (400, "data", {"body": b"[1]"}),
        (400, "data", {"body": b'{"a": "\\u0000"}'}),
        (400, "data", {"body": b"\xff\xfe"}),
        (400, "data: is not UTF-8", {"body": b"a=\xff", "kind": FORM}),
        (400, "data: has more than 1,000 fields", {"body": b"&".join([b"a=1"] * 1_001), "kind": FORM}),
        (400, "id", {"body": {"id": "seven"}}),
        (400, "id: must be a string", {"body": {"id": 7}}),
        (400, "mac", {"body": {"mac": "52:54"}}),
        (400, "mac: must be a string", {"body": b"mac=1&mac=2", "kind": FORM}),
        (403, f"has another id than {OTHER}", {"body": {"id": OTHER}}),
        (403, f"has no MAC address {OTHERS_MAC}", {"body": {"mac": OTHERS_MAC}}),
        (404, f"no machine has the address {UNKNOWN}", {"source": UNKNOWN}),
        (404, f"no machine has the address {UNKNOWN}", {"body": {"id": MACHINE, "mac": MAC}, "source": UNKNOWN}),
        (413, "may not be larger than 65,536 bytes", {"body": b'{"a": "' + b"x" * 65_536 + b'"}'}),
        (415, "must be application/json", {"body": b"<up/>", "kind": "text/xml"}),
    ]
    async with calling(database_url) as caller:
        for status, sentence, arguments in refusals:
            answered = await caller.call(**arguments)
            assert (answered[0], list(answered[1])) == (status, ["error"]), arguments
            assert sentence in answered[1]["error"]
        assert await caller.said() == []
        assert set(await caller.machines()) == {MACHINE, OTHER}


async def test_nobody_can_choose_an_address_by_a_header(database_url: str) -> None:
    spoofed = {"X-Forwarded-For": KNOWN, "X-Real-IP": KNOWN, "Forwarded": f"for={KNOWN}"}
    async with calling(database_url) as caller:
        assert (await caller.call(source=UNKNOWN, headers=spoofed))[0] == 404
        # The server's own machine is no trusted proxy by itself.
        assert (await caller.call(headers={"X-Forwarded-For": "192.0.2.7"}))[1]["id"] == MACHINE


async def test_a_trusted_proxy_says_who_calls(database_url: str) -> None:
    async with calling(database_url, trusted_proxies="127.0.0.3, 2001:db8::/32") as caller:
        by_proxy = {"X-Forwarded-For": "198.51.100.1, 192.0.2.7"}
        assert (await caller.call(source="127.0.0.3", headers=by_proxy))[1]["id"] == OTHER
        assert (await caller.call(source=UNKNOWN, headers=by_proxy))[0] == 404
        assert (await caller.call(source="127.0.0.3", headers={"X-Forwarded-For": "x"}))[0] == 400


async def test_it_can_be_turned_off(database_url: str) -> None:
    async with calling(database_url, phone_home=False) as caller:
        with pytest.raises(json.JSONDecodeError):
            await caller.call()
        assert await caller.said() == []


async def test_an_unknown_machine_enrols_itself_where_that_is_allowed(database_url: str) -> None:
    chosen = str(uuid.uuid4())
    async with calling(database_url, enrol_unknown=True) as caller:
        status, answer = await caller.call({"id": chosen, "mac": FREE_MAC.upper(), "up": True}, source=UNKNOWN)
        assert (status, answer["id"]) == (200, chosen)
        dhcp = {"mac": FREE_MAC, "ip": {"address": UNKNOWN}}
        assert (await caller.machines())[chosen] == {"interfaces": [{"dhcp": dhcp}]}
        assert (await caller.call(source=UNKNOWN))[1]["id"] == chosen
        names = await caller.sql.fetch("SELECT name FROM events WHERE resource_id = $1", uuid.UUID(chosen))
        assert [name for (name,) in names] == ["hardware.created"] + ["hardware.phone_home"] * 2


async def test_who_enrols_gets_no_id_and_no_address_of_another(database_url: str) -> None:
    async with calling(database_url, enrol_unknown=True) as caller:
        await caller.sql.execute("UPDATE hardware SET deleted_at = now() WHERE id = $1", uuid.UUID(OTHER))
        _, first = await caller.call({"id": MACHINE, "mac": MAC}, source="127.0.0.4")
        _, second = await caller.call({"id": OTHER}, source="127.0.0.5")
        assert len({first["id"], second["id"], MACHINE, OTHER}) == 4
        machines = await caller.machines()
        assert machines[first["id"]] == {"interfaces": [{"dhcp": {"ip": {"address": "127.0.0.4"}}}]}
        assert machines[MACHINE]["interfaces"][0]["dhcp"] == {"mac": MAC, "ip": {"address": KNOWN}}
        assert OTHER not in machines


async def test_only_so_many_machines_may_enrol_themselves_however_many_call_at_once(database_url: str) -> None:
    async with calling(database_url, enrol_unknown=True, max_enrolled=3) as caller:
        answers = await asyncio.gather(*(caller.call(source=f"127.0.1.{number}") for number in range(1, 11)))
        assert sorted(status for status, _ in answers) == [200] * 3 + [429] * 7
        assert len(await caller.machines()) == 5
        refused = next(answer for status, answer in answers if status == 429)
        assert refused == {"error": "3 machines have enrolled themselves, and no more may (max_enrolled)"}
        # Who is known may call all the same, and a machine that is deleted leaves its place.
        assert (await caller.call())[0] == 200
        enrolled = next(answer["id"] for status, answer in answers if status == 200)
        await caller.sql.execute("UPDATE hardware SET deleted_at = now() WHERE id = $1", uuid.UUID(enrolled))
        assert (await caller.call(source="127.0.1.99"))[0] == 200


async def test_a_machine_that_calls_ten_times_at_once_enrols_once(database_url: str) -> None:
    async with calling(database_url, enrol_unknown=True) as caller:
        answers = await asyncio.gather(*(caller.call(source=UNKNOWN) for _ in range(10)))
        assert [status for status, _ in answers] == [200] * 10
        assert len({answer["id"] for _, answer in answers}) == 1
        assert len(await caller.said()) == 10
