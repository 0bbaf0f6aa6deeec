"""A release whose key is lost is removed, and brought about anew, once what that key has sealed is forgotten."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import tinkwell.client
from support import server as servers
from support.release_stage import Stage
from tinkwell.core.event.kinds import State
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.release.service.forgetting import Forgetting
from tinkwell.server.secret import keys
from tinkwell.server.secret.keys import Key, Keys
from tinkwell.server.secret.service.rekey import Rekey

LOST = Key.of(bytes([7]) * 32)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "secret.keys"
    keys.create(file)
    return file


@pytest.fixture
async def sealing(database_url: str, key_file: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    async with (
        servers.running(database_url, secret_keys=key_file) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        stage = Stage(client, server.address, tmp_path)
        yield stage
        stage.let_all_go()


@pytest.fixture
async def database(server_url: str) -> AsyncIterator[Database]:
    pool = engine.create(server_url, pool_size=2)
    yield Database(pool)
    await pool.dispose()


async def test_a_release_whose_key_is_lost_is_removed_and_brought_about_anew(
    sealing: Stage, database: Database, key_file: Path
) -> None:
    releases = sealing.client.releases
    thing = sealing.thing("a", "{{ password }}")
    resources = {"first": thing, "second": sealing.thing("b", "{{ a.state.text }}") | {"dependencies": {"a": "first"}}}

    async def apply() -> str:
        manifest = json.dumps({"resources": resources})
        return (await releases.apply("shop", manifest=manifest, secret_variables={"password": "hunter22"})).id

    async with sealing.provisioner():
        await sealing.ends(await apply())
        # As if another key had been lost that has sealed all this.
        await Rekey(database, Keys([LOST, *_keys(key_file)])).run()
        failed = await sealing.ends((await releases.uninstall("shop")).id, State.FAILED)
        assert failed.cause is not None
        assert (failed.cause["reason"], LOST.id.hex() in failed.cause["message"]) == ("SECRETS_DISABLED", True)
        assert await Forgetting(database).forget(LOST.id)
        await sealing.ends(await apply())
        assert sealing.content("b") == "hunter22"
        await Rekey(database, Keys([LOST, *_keys(key_file)])).run()
        assert await Forgetting(database).forget(LOST.id)
        back = await sealing.ends((await releases.rollback("shop", 1)).id, State.FAILED)
        assert back.cause is not None
        assert "those of revision 1 were deleted" in back.cause["message"]
        await sealing.ends((await releases.uninstall("shop")).id)
    assert (sealing.content("a"), sealing.content("b")) == (None, None)


def _keys(file: Path) -> list[Key]:
    known = keys.read(file)
    return [key for id_ in known.ids if (key := known.find(id_)) is not None]
