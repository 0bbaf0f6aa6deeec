"""What a lost key has sealed is forgotten, and the releases can be changed and removed again."""

import base64
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.release.test_secret import Work, begin, install, manifest, owners, revision_of, work_of

from support import edge, process
from support.dump import dump
from support.release_site import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    Site,
    finish,
    installs,
    node,
    open_site,
    plan,
    removes,
    resource,
    step,
)
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.release.service.forgetting import Forgetting, Loss
from tinkwell.server.secret.keys import Key, Keys
from tinkwell.server.secret.service.rekey import Rekey

LOST, NEW = (Key.of(bytes([number]) * 32) for number in (7, 8))
LINES = {LOST: base64.b64encode(bytes([7]) * 32).decode(), NEW: base64.b64encode(bytes([8]) * 32).decode()}
PASSWORD, GENERATED = "hunter22-é+", "generated-47"
CONFIG, STATE = json.dumps({"password": PASSWORD, "port": 5432}), json.dumps({"token": GENERATED})
# An answer that holds a secret where a text must be.
INIT = json.dumps({"state_action": {"args": [f"--like={PASSWORD}"]}, "tinkwell": {"protocol": 1}})


@pytest.fixture
async def lost(database_url: str) -> AsyncIterator[Site]:
    """A server with the key that is going to be lost."""
    async with open_site(database_url, keys=Keys([LOST])) as opened:
        yield opened


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[Site]:
    """A server that has never had that key."""
    async with open_site(database_url, keys=Keys([NEW])) as opened:
        yield opened


@pytest.fixture
async def database(server_url: str) -> AsyncIterator[Database]:
    pool = engine.create(server_url, pool_size=2)
    yield Database(pool)
    await pool.dispose()


async def installed(site: Site) -> str:
    """Install a release with secrets in all kinds of its documents; returns the operation's id."""
    flow = await begin(site)
    await flow.submit("db", manifest=manifest(password=PASSWORD))
    await flow.report(
        node("db", "INSTALLING"),
        step("db", 1, "STATE", RUNNING, args=pb.Args(values=["-p", PASSWORD])),
        step("db", 1, "STATE", SUCCEEDED),
        resource("db", config=CONFIG, state=STATE, init=INIT, sensitive=["/password", "/token"], owned=True),
        node("db", "READY"),
        finish(),
    )
    return flow.id


async def taken(site: Site, call: str, **more: Any) -> Work:
    """Begin an operation, take it, and return what it works on."""
    flow = await site.begin(call, **more)
    await flow.acquire()
    return await work_of(flow)


async def test_it_is_said_what_would_be_lost_and_nothing_is_changed(lost: Site, database: Database) -> None:
    operation_id = await installed(lost)
    await install(lost, release="back", namespace="prod")
    before = await dump(lost.database_url)
    losses = await Forgetting(database).look(LOST.id)
    assert losses[:3] == [
        Loss("shop", f"operation {operation_id} (INSTALL SUCCEEDED)", ["args", "source"], 2),
        Loss("shop", "resource db", ["config", "init", "state"], 3),
        Loss("shop", "revision 1", ["manifest", "source"], 2),
    ]
    assert {loss.title for loss in losses[3:]} == {"prod/back"}
    assert await Forgetting(database).look(NEW.id) == []
    assert _rows(await dump(lost.database_url)) == _rows(before)


async def test_what_was_forgotten_reads_null_and_the_release_is_uninstalled(
    lost: Site, site: Site, database: Database
) -> None:
    await installed(lost)
    flow = await site.begin("Uninstall")
    await flow.acquire()
    assert (await edge.refused(work_of(flow))).reason == "SECRETS_DISABLED"
    await flow.report(finish(FAILED))
    losses = await Forgetting(database).look(LOST.id)
    assert await Forgetting(database).forget(LOST.id) == losses
    assert await owners(site) == ["release_revision"]  # it is kept that something is missing there
    assert await Forgetting(database).look(LOST.id) == await Forgetting(database).forget(LOST.id) == []
    gone = await site.begin("Uninstall")
    await gone.acquire()
    work = await work_of(gone)
    assert work.secrets == []
    known = work.resources["db"]
    assert (json.loads(known.config), json.loads(known.state)) == ({"password": None, "port": 5432}, {"token": None})
    # It is asked again, since what is left of it would be none.
    assert known.init == ""
    former = await work_of(gone, revision=1)
    assert former.documents["manifest"]["resources"]["db"]["config"] == {"password": None}
    await gone.submit_text(plan(removed=["db"]))
    await gone.report(*removes("db"), finish())
    assert await gone.state() == "SUCCEEDED"


async def test_the_release_is_applied_anew_with_its_values(lost: Site, site: Site, database: Database) -> None:
    await installed(lost)
    assert (await edge.refused(begin(site))).reason == "SECRETS_DISABLED"
    await Forgetting(database).forget(LOST.id)
    flow = await begin(site)
    assert (await flow.submit("db", manifest=manifest(password=PASSWORD))).revision == 2
    await flow.report(*installs("db"), resource("db", config=CONFIG, sensitive=["/password"]), finish())
    gone = await taken(site, "Uninstall")
    assert json.loads(gone.resources["db"].config) == json.loads(CONFIG)
    assert gone.secrets == [PASSWORD]


async def test_a_revision_that_has_lost_something_is_not_brought_about_again(
    lost: Site, site: Site, database: Database
) -> None:
    await installed(lost)
    failed = await begin(lost, variables=json.dumps({"password": "another one"}))
    await failed.submit("db", manifest=manifest(password="another one"))
    await failed.report(node("db", "INSTALLING"), node("db", "FAILED"), finish(FAILED))
    await Forgetting(database).forget(LOST.id)
    for call, revision in (("Resume", 2), ("Rollback", 1)):
        flow = await site.begin(call)
        await flow.acquire()
        told = await edge.refused(work_of(flow))
        assert told.reason == "SECRETS_DISABLED"
        assert f"those of revision {revision} were deleted" in told.message
        await flow.report(finish(FAILED))
    assert (await revision_of(site, 1))["manifest"]["resources"]["db"]["config"] == {"password": None}
    # Later revisions are as all others are.
    await install(site)
    await install(site, variables=json.dumps({"password": "a third one"}), rendered=manifest(password="a third one"))
    assert (await taken(site, "Rollback")).documents["manifest"]["resources"]["db"]["config"]["password"] == PASSWORD


async def test_nothing_is_forgotten_under_an_operation_that_has_not_ended(lost: Site, database: Database) -> None:
    await installed(lost)
    flow = await lost.begin("Uninstall")
    with pytest.raises(errors.IllegalTransition, match=f"operation {flow.id} of shop: it has not ended"):
        await Forgetting(database).forget(LOST.id)
    assert len(await Forgetting(database).look(LOST.id)) == 3
    await flow.cancel()
    assert len(await Forgetting(database).forget(LOST.id)) == 3


async def test_what_other_keys_have_sealed_stays_and_keys_are_changed_as_ever(
    lost: Site, site: Site, database: Database
) -> None:
    await installed(lost)
    await install(site, release="back")
    await Forgetting(database).forget(LOST.id)
    assert (await taken(site, "Uninstall", release="back")).secrets == [PASSWORD]
    outcome = await Rekey(database, Keys([LOST, NEW])).run()
    assert (outcome.unknown, outcome.left, outcome.broken, outcome.sealed > 0) == ({}, {}, 0, True)


async def test_the_command_says_what_is_lost_and_forgets_it_when_told_to(
    lost: Site, site: Site, tmp_path: Path, server_url: str
) -> None:
    await installed(lost)
    file = tmp_path / "keys"
    file.touch(mode=0o600)
    settings = {
        "TINKWELL_DATABASE_URL": server_url,
        "TINKWELL_THROWAWAY_DATABASE": "true",
        "TINKWELL_SECRET_KEYS": str(file),
    }

    async def run(*arguments: str) -> tuple[int, list[str]]:
        log = tmp_path / "command.log"
        words = ("secret", "forget", *arguments)
        async with process.running(*words, log=log, environment=settings) as running:
            return await running.wait(deadline_seconds=60), running.output.splitlines()

    id_ = LOST.id.hex()
    file.write_text(f"{LINES[NEW]}\n{LINES[LOST]}\n")
    code, output = await run(id_, "--yes")
    assert (code, output[-1].partition(" has the key")[0]) == (1, f"Error: {file}")
    file.write_text(f"{LINES[NEW]}\n")
    code, output = await run(id_)
    assert (code, output[-1]) == (
        0,
        f"7 values of the key {id_} would be deleted. Nothing was changed; --yes does it.",
    )
    assert "shop: resource db loses 3 values of config, init, state" in output
    assert (await edge.refused(begin(site))).reason == "SECRETS_DISABLED"
    code, output = await run(id_, "--yes")
    assert (code, output[-1]) == (0, f"7 values of the key {id_} deleted.")
    await begin(site)
    assert (await run(id_, "--yes"))[1] == [f"0 values of the key {id_} deleted."]


def _rows(dumped: str) -> list[str]:
    """The lines of a dump, but for what a second one is told otherwise."""
    return [line for line in dumped.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]


async def test_a_plan_that_has_lost_a_secret_is_forgotten_and_not_applied(
    lost: Site, site: Site, database: Database
) -> None:
    given: dict[str, Any] = {"variables": json.dumps({"password": PASSWORD}), "secret_variables": ["password"]}
    files = [pb.ManifestFile(name="m.yaml", text="resources: {db: {type: acme/db}}")]
    planned = await lost.begin("Plan", files=files, **given)
    await planned.carry_out_plan("db")
    (loss,) = await Forgetting(database).forget(LOST.id)
    assert loss.part == f"operation {planned.id} (PLAN SUCCEEDED)"
    request = pb.ApplyPlanRequest(operation_id=str(uuid.uuid4()), plan=planned.id)
    assert (await edge.refused(site.stub.ApplyPlan(request))).reason == "NOT_FOUND"
    await site.install("db")
