"""Keys are changed beside servers that work, batch by batch, and what is left is told."""

import asyncio
import base64
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from integration.secret.conftest import FIRST, LOST, SECOND, Vault

from support import process
from tinkwell.core import errors
from tinkwell.server.secret.keys import Key, Keys
from tinkwell.server.secret.seal import Owner
from tinkwell.server.secret.service import rekey
from tinkwell.server.secret.service.operations import Document
from tinkwell.server.secret.service.rekey import Outcome, Rekey
from tinkwell.server.secret.store import queries

LINES = {key: base64.b64encode(bytes([number]) * 32).decode() for number, key in ((1, FIRST), (2, SECOND), (3, LOST))}


async def fill(vault: Vault, count: int, *, prefix: str = "") -> None:
    """Seal two rows for each of some operations: a value, and the texts of the document."""
    for number in range(count):
        document = Document([f"secret {number}"], ("/0",))
        await vault.seal({"state": document}, owner=Owner("operation", f"{prefix}{number}"))


async def keys_of(vault: Vault) -> set[bytes]:
    return {key for *_, key in await vault.rows()}


def run(vault: Vault, *known: Key) -> Rekey:
    return Rekey(vault.database, Keys(known))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rekey, "MAX_ROWS", 3)


async def test_everything_is_sealed_by_the_first_key_and_opens_as_before(vault: Vault, small_batches: None) -> None:
    await fill(vault, 10)
    await fill(vault.with_keys(SECOND, FIRST), 2, prefix="new ")
    assert await run(vault, SECOND, FIRST).run() == Outcome(SECOND.id.hex(), 20, {}, {}, 0)
    assert await keys_of(vault) == {SECOND.id}
    rotated = vault.with_keys(SECOND)
    for number in range(10):
        assert await rotated.open(Owner("operation", str(number))) == {"state": [("/0", f"secret {number}")]}
    assert await run(vault, SECOND, FIRST).run() == Outcome(SECOND.id.hex(), 0, {}, {}, 0)


async def test_nothing_to_do_is_done_at_once(vault: Vault) -> None:
    assert await run(vault, FIRST).run() == Outcome(FIRST.id.hex(), 0, {}, {}, 0)


async def test_a_batch_is_bounded_in_bytes_and_has_one_row_at_least(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rekey, "MAX_BYTES", 1_000)
    large = Document(["hunter22" + "x" * 600 * number for number in range(5)], ("/0",))
    await vault.seal({"state": large})
    sizes: list[list[int]] = []
    batch = queries.batch

    async def seen(*arguments: object, **more: object) -> list[queries.Row]:
        rows = await batch(*arguments, **more)  # type: ignore[arg-type]
        sizes.append([len(row.sealed) for row in rows])
        return rows

    monkeypatch.setattr(queries, "batch", seen)
    assert (await run(vault, SECOND, FIRST).run()).sealed == 6
    assert all(sum(found) <= 1_000 or len(found) == 1 for found in sizes)
    assert max(len(found) for found in sizes) > 1


async def test_one_that_was_stopped_is_begun_again_and_goes_on(
    vault: Vault, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(vault, 6)
    replace, done = queries.replace, 0

    async def stop(*arguments: object) -> int:
        nonlocal done
        if done == 2:
            raise errors.Unavailable("the database does not answer; try again")
        done += 1
        return await replace(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(queries, "replace", stop)
    with pytest.raises(errors.Unavailable):
        await run(vault, SECOND, FIRST).run()
    assert [key for *_, key in await vault.rows()].count(SECOND.id) == 6
    monkeypatch.setattr(queries, "replace", replace)
    # Both keys open what there is at each moment.
    rotated = vault.with_keys(SECOND, FIRST)
    for number in range(6):
        assert await rotated.open(Owner("operation", str(number)))
    assert (await run(vault, SECOND, FIRST).run()).sealed == 6
    assert await keys_of(vault) == {SECOND.id}


async def test_a_value_that_is_sealed_meanwhile_is_left_as_its_writer_wants_it(
    vault: Vault, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(vault, 3)
    owner, replace = Owner("operation", "1"), queries.replace

    async def late(*arguments: object) -> int:
        monkeypatch.setattr(queries, "replace", replace)
        await vault.seal({"state": Document(["a newer secret"], ("/0",))}, owner=owner)
        return await replace(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(queries, "replace", late)
    outcome = await run(vault, SECOND, FIRST).run()
    assert await vault.with_keys(SECOND).open(owner) == {"state": [("/0", "a newer secret")]}
    assert (outcome.left, await keys_of(vault)) == ({}, {SECOND.id})


async def test_writers_with_the_former_key_and_the_new_one_lose_nothing(vault: Vault, small_batches: None) -> None:
    await fill(vault, 20)
    servers = [vault.with_keys(FIRST, SECOND), vault.with_keys(SECOND, FIRST)]
    written: dict[Owner, str] = {}
    is_done = asyncio.Event()

    async def write(number: int) -> None:
        count = 0
        while not is_done.is_set():
            owner, text = Owner("operation", str(number * 10 + count % 10)), f"secret {number} {count}"
            await servers[number].seal({"state": Document([text], ("/0",))}, owner=owner)
            written[owner] = text
            opened = await servers[1 - number].open(owner)
            assert opened == {"state": [("/0", text)]}
            count += 1

    async with asyncio.TaskGroup() as tasks:
        writers = [tasks.create_task(write(number)) for number in range(2)]
        for _ in range(3):
            await run(vault, SECOND, FIRST).run()
        is_done.set()
    assert all(writer.done() for writer in writers)
    assert len(written) > 1
    await run(vault, SECOND, FIRST).run()
    assert await keys_of(vault) == {SECOND.id}
    for owner, text in written.items():
        assert await vault.with_keys(SECOND).open(owner) == {"state": [("/0", text)]}


async def test_what_a_lost_key_has_sealed_is_told_and_left(vault: Vault) -> None:
    await fill(vault.with_keys(LOST), 2, prefix="lost ")
    await fill(vault, 1)
    assert await run(vault, SECOND, FIRST).run() == Outcome(SECOND.id.hex(), 2, {LOST.id.hex(): 4}, {}, 0)
    assert await keys_of(vault) == {SECOND.id, LOST.id}


async def test_what_was_tampered_with_is_told_and_left_and_the_rest_goes_on(vault: Vault, small_batches: None) -> None:
    await fill(vault, 5)
    await vault.owner.execute("UPDATE sealed_value SET pointer = '/1' WHERE owner_id IN ('1', '3') AND pointer = '/0'")
    assert await run(vault, SECOND, FIRST).run() == Outcome(SECOND.id.hex(), 8, {}, {FIRST.id.hex(): 2}, 2)
    with pytest.raises(errors.SecretsDisabled):
        await vault.with_keys(SECOND, FIRST).open(Owner("operation", "1"))


def key_file(tmp_path: Path, keys: Sequence[Key], *, mode: int = 0o600) -> dict[str, str]:
    file = tmp_path / "keys"
    file.write_text("".join(f"{LINES[key]}\n" for key in keys))
    file.chmod(mode)
    return {"TINKWELL_SECRET_KEYS": str(file), "TINKWELL_THROWAWAY_DATABASE": "true", "TINKWELL_LOG_LEVEL": "debug"}


async def command(tmp_path: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    async with process.running(*arguments, log=tmp_path / "command.log", environment=environment) as running:
        return await running.wait(deadline_seconds=60), running.output


async def test_the_command_changes_keys_and_says_what_is_left(tmp_path: Path, vault: Vault, server_url: str) -> None:
    await fill(vault, 3)
    settings = {"TINKWELL_DATABASE_URL": server_url, **key_file(tmp_path, [SECOND, FIRST])}
    code, output = await command(tmp_path, "secret", "rekey", **settings)
    assert (code, output.splitlines()[-1]) == (0, f"6 values were sealed anew by the key {SECOND.id.hex()}.")
    await fill(vault.with_keys(LOST), 1, prefix="lost ")
    await vault.owner.execute("UPDATE sealed_value SET pointer = '/1' WHERE owner_id = '1' AND pointer = '/0'")
    settings = {"TINKWELL_DATABASE_URL": server_url, **key_file(tmp_path, [FIRST, SECOND])}
    code, output = await command(tmp_path, "secret", "rekey", **settings)
    assert code == 1
    assert f"5 values were sealed anew by the key {FIRST.id.hex()}." in output
    assert f"2 values are sealed by the key {LOST.id.hex()}, which the key file lacks" in output
    assert f"1 values are still sealed by the key {SECOND.id.hex()}" in output
    assert "1 of these do not open" in output
    assert not re.search("|".join(map(re.escape, LINES.values())), output)


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_server_does_not_start_with_a_key_file_that_others_may_read(
    tmp_path: Path, server_url: str, workers: int
) -> None:
    settings = {"TINKWELL_DATABASE_URL": server_url, **key_file(tmp_path, [FIRST])}
    arguments = ("server", "--port", "0", "--http-port", "0", "--workers", str(workers))
    async with process.running(*arguments, log=tmp_path / "server.log", environment=settings) as server:
        await server.line(f"secrets are sealed key={FIRST.id.hex()}")
        assert await server.stop() == 0
        assert LINES[FIRST] not in server.output
    key_file(tmp_path, [FIRST], mode=0o644)
    code, output = await command(tmp_path, *arguments, **settings)
    assert code == 1
    assert re.search(r"^Error: .*keys may be used by others \(mode 0644, .*chmod 600", output, re.MULTILINE)
    assert "Traceback" not in output
