"""Secrets of documents in the database: sealed, opened, replaced, deleted, and nowhere in clear."""

import asyncio
import base64
import decimal
import json
import urllib.parse

import pytest
from integration.secret.conftest import FIRST, OPERATION, SECOND, Vault

from support import canary
from support import role as roles
from support.dump import dump
from tinkwell.core import errors
from tinkwell.core.secret.document import restore
from tinkwell.core.value.document import JsonValue
from tinkwell.server.database import engine, schema
from tinkwell.server.database.database import Database
from tinkwell.server.secret.keys import Keys
from tinkwell.server.secret.seal import Owner
from tinkwell.server.secret.service.operations import Document
from tinkwell.server.secret.service.rekey import Rekey

PASSWORD = "hunter22-é"
SOURCE: JsonValue = {"variables": {"user": "bob", "password": PASSWORD, "price": decimal.Decimal("1.10"), "none": None}}
MANIFEST: JsonValue = {"resources": {"db": {"url": f"postgresql://bob:{PASSWORD}@h/d", "size": 1}}, "list": [None, 1]}
DOCUMENTS = {"source": Document(SOURCE, ("/variables/password", "/variables/none")), "manifest": Document(MANIFEST)}


async def test_documents_are_stored_without_secrets_and_come_back_as_they_were(vault: Vault) -> None:
    stored = await vault.seal(DOCUMENTS)
    assert stored == {
        "source": {"variables": {"user": "bob", "password": None, "price": decimal.Decimal("1.10"), "none": None}},
        "manifest": {"resources": {"db": {"url": None, "size": 1}}, "list": [None, 1]},
    }
    opened = await vault.open()
    assert opened == {
        "source": [("/variables/password", PASSWORD)],
        "manifest": [("/resources/db/url", f"postgresql://bob:{PASSWORD}@h/d")],
    }
    assert {name: restore(stored[name], opened[name]) for name in stored} == {"source": SOURCE, "manifest": MANIFEST}
    assert await vault.texts() == {PASSWORD}


async def test_what_was_sealed_before_is_found_in_later_documents(vault: Vault) -> None:
    await vault.seal({"source": DOCUMENTS["source"]})
    resource = Owner("release_resource", "r1/db")
    state: JsonValue = {"encoded": base64.b64encode(f"bob:{PASSWORD}".encode()).decode(), "id": 7}
    stored = await vault.seal({"state": Document(state)}, owner=resource, secrets=await vault.texts())
    assert stored == {"state": {"encoded": None, "id": 7}}
    assert restore(stored["state"], (await vault.open(resource))["state"]) == state
    # That it contains a secret makes no secret of all of it.
    assert await vault.texts(resource) == frozenset()


async def test_a_document_that_is_sealed_again_has_nothing_left_of_what_it_had(vault: Vault) -> None:
    await vault.seal(DOCUMENTS)
    stored = await vault.seal({"source": Document({"variables": {"token": "another-secret"}}, ("/variables/token",))})
    assert stored == {"source": {"variables": {"token": None}}}
    assert await vault.open() == {
        "source": [("/variables/token", "another-secret")],
        "manifest": [("/resources/db/url", f"postgresql://bob:{PASSWORD}@h/d")],
    }
    assert await vault.texts() == {"another-secret"}
    await vault.seal({"source": Document({"variables": {}}), "manifest": Document({})})
    assert (await vault.open(), await vault.rows()) == ({}, [])


async def test_what_is_sealed_already_is_left_as_it_is_and_what_has_become_secret_is_added(vault: Vault) -> None:
    document: JsonValue = {"password": PASSWORD, "note": "the door code is 47114711"}
    stored = await vault.seal({"state": Document(document, ("/password",))})
    assert stored == {"state": {"password": None, "note": "the door code is 47114711"}}
    opened, rows = (await vault.opened())["state"], await vault.owner.fetch("SELECT * FROM sealed_value ORDER BY id")
    again = {"state": Document(opened.restore(stored["state"]), opened=opened)}
    assert again["state"].value == document
    assert await vault.seal(again) == stored
    assert await vault.owner.fetch("SELECT * FROM sealed_value ORDER BY id") == rows
    assert await vault.seal(again, secrets=frozenset({"47114711"})) == {"state": {"password": None, "note": None}}
    assert dict((await vault.open())["state"]) == {"/password": PASSWORD, "/note": "the door code is 47114711"}
    assert await vault.texts() == {PASSWORD}


async def test_what_was_opened_is_sealed_for_another_owner_as_it_was(vault: Vault) -> None:
    hidden = Document({"a": "{{ db.state.password }}", "b": True}, ("/b",), hidden=("/a",))
    stored = await vault.seal({**DOCUMENTS, "manifest": hidden})
    opened = await vault.opened()
    revision = Owner("release_revision", "r1/1")
    copies = {name: Document(opened[name].restore(stored[name]), opened=opened[name]) for name in stored}
    assert await vault.seal(copies, owner=revision) == stored
    assert stored["manifest"] == {"a": None, "b": None}
    assert await vault.open(revision) == await vault.open()
    assert await vault.texts(revision) == await vault.texts() == {PASSWORD}


async def test_texts_are_kept_without_a_document_that_has_them(vault: Vault) -> None:
    assert await vault.seal({"stale": Document(None, texts=frozenset({"former secret"}))}) == {"stale": None}
    await vault.seal({"source": DOCUMENTS["source"]}, owner=Owner("release", "r1"))
    assert await vault.texts(OPERATION, Owner("release", "r1"), Owner("release", "r2")) == {"former secret", PASSWORD}
    with pytest.raises(errors.SecretsDisabled, match="was changed"):
        (await vault.opened(Owner("release", "r1")))["source"].restore({})


async def test_a_transaction_that_fails_leaves_nothing(vault: Vault) -> None:
    async def fail(connection: object) -> None:
        await vault.service.seal(connection, OPERATION, DOCUMENTS)  # type: ignore[arg-type]
        raise errors.LostRace("after it was sealed")

    with pytest.raises(errors.LostRace):
        await vault.write(fail)
    assert await vault.rows() == []


async def test_of_some_that_seal_the_same_document_at_once_one_wins_and_the_others_are_told(vault: Vault) -> None:
    texts = [f"secret of {number}" for number in range(8)]
    ends = await asyncio.gather(
        *(vault.seal({"state": Document([text], ("/0",))}) for text in texts), return_exceptions=True
    )
    assert {type(end) for end in ends} <= {dict, errors.LostRace}
    ((_, text),) = (await vault.open())["state"]
    assert text in texts
    assert await vault.texts() == {text}


async def test_a_sensitive_value_that_is_too_short_is_refused_by_its_place_and_nothing_is_stored(vault: Vault) -> None:
    documents = {"source": Document({"variables": {"a b": ["long enough", {"pin": "1234"}]}}, ("/variables/a b",))}
    with pytest.raises(errors.InvalidField) as refused:
        await vault.seal(documents)
    (violation,) = refused.value.violations
    assert violation.field == 'source.variables["a b"]'
    assert "a sensitive value in it has 4 bytes, and at least 6 are needed" in violation.description
    assert await vault.rows() == []


async def test_very_many_and_very_large_secrets_are_kept(vault: Vault) -> None:
    many: list[JsonValue] = [f"{number} hunter22 {'x' * 1_000}" for number in range(900)]
    document: JsonValue = {"password": "hunter22", "many": many, "large": "hunter22" * 100_000}
    stored = await vault.seal({"state": Document(document, ("/password",))})
    assert stored == {"state": {"password": None, "many": [None] * 900, "large": None}}
    assert restore(stored["state"], (await vault.open())["state"]) == document


async def test_keys_and_pointers_of_any_kind_are_kept(vault: Vault) -> None:
    document: JsonValue = {"": {"~/é\n": "hunter22", "x" * 2_000: {"hunter22": 1}, "0": ["hunter22"]}, "#": "hunter22"}
    stored = await vault.seal({"a/b": Document(document, ("/#",))})
    assert restore(stored["a/b"], (await vault.open())["a/b"]) == document
    assert await vault.texts() == {"hunter22"}


async def test_without_keys_what_is_secret_is_refused_and_all_else_is_not(vault: Vault) -> None:
    keyless = vault.with_keys()
    with pytest.raises(errors.SecretsDisabled, match="this server has no keys"):
        await keyless.seal(DOCUMENTS)
    with pytest.raises(errors.SecretsDisabled):
        keyless.service.require()
    assert await keyless.seal({"source": Document(SOURCE, ("/variables/absent",))}) == {"source": SOURCE}
    assert await keyless.open() == {}
    assert await vault.rows() == []
    await vault.seal(DOCUMENTS)
    for read in (keyless.open, keyless.texts):
        with pytest.raises(errors.SecretsDisabled):
            await read()


async def test_former_keys_open_and_the_first_one_seals(vault: Vault) -> None:
    await vault.seal({"source": DOCUMENTS["source"]})
    rotated = vault.with_keys(SECOND, FIRST)
    await rotated.seal({"state": Document(["another-secret"], ("/0",))})
    assert {(document, key) for _, document, _, key in await vault.rows()} == {
        ("source", FIRST.id),
        ("state", SECOND.id),
    }
    assert await rotated.open() == {
        "source": [("/variables/password", PASSWORD)],
        "state": [("/0", "another-secret")],
    }
    with pytest.raises(errors.SecretsDisabled, match=f"lacks the key {SECOND.id.hex()}"):
        await vault.open()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sealed_value SET pointer = '/variables/user' WHERE pointer = '/variables/password'",
        "UPDATE sealed_value SET document = 'other'",
        "UPDATE sealed_value SET owner_kind = 'release_revision'",
        "UPDATE sealed_value SET sealed = set_byte(sealed, 25, get_byte(sealed, 25) # 1)",
        "UPDATE sealed_value SET sealed = substring(sealed FROM 1 FOR 20)",
        "UPDATE sealed_value SET sealed = set_byte(sealed, 0, 2)",
        "UPDATE sealed_value SET sealed = (SELECT sealed FROM sealed_value WHERE document = 'manifest')",
    ],
)
async def test_what_was_moved_or_changed_in_the_database_does_not_open(vault: Vault, change: str) -> None:
    await vault.seal(DOCUMENTS)
    await vault.owner.execute(change)
    for kind in ("operation", "release_revision"):
        owner = Owner(kind, OPERATION.id)
        if await vault.owner.fetchval("SELECT EXISTS (SELECT FROM sealed_value WHERE owner_kind = $1)", kind):
            with pytest.raises(errors.SecretsDisabled) as refused:
                await vault.open(owner)
            assert PASSWORD not in str(refused.value)


async def test_no_secret_is_in_a_dump_of_the_database(vault: Vault, database_url: str) -> None:
    named = {name: canary.named(f"{name}/é+?&") for name in ("token", "password", "state")}
    source: JsonValue = {
        "variables": {"token": named["token"], "plain": "in clear"},
        "secret": {"deep": [named["password"]]},
    }
    encoded = base64.b64encode(f"user:{named['password']}".encode()).decode()
    manifest: JsonValue = {
        "mixed": f"curl -H 'Authorization: Bearer {named['token']}' https://h/",
        "base64": encoded,
        "unaligned": base64.urlsafe_b64encode(f"a{named['token']}b".encode()).decode(),
        "url": f"https://h/?token={urllib.parse.quote(named['token'], safe='')}",
        "json": json.dumps({"nested": json.dumps({"token": named["token"]})}),
        "args": ["run", f"--password={named['password']}"],
        "keys": {f"{named['token']}": 1},
    }
    state: JsonValue = {"outputs": {"password": named["state"]}, "notes": f"first line\nis {named['state']}"}
    stored = await vault.seal(
        {
            "source": Document(source, ("/variables/token", "/secret")),
            "manifest": Document(manifest),
            "state": Document(state, ("/outputs/password",)),
        }
    )
    await vault.owner.execute("CREATE TABLE stored (name text, body json)")
    for name, value in stored.items():
        await vault.owner.execute("INSERT INTO stored VALUES ($1, $2)", name, json.dumps(value))
    written = await dump(database_url)
    assert "in clear" in written
    assert "COPY public.sealed_value" in written
    assert canary.lines_with(written) == []
    assert named["token"].encode().hex() not in written
    # The look would have found them.
    for name, value in (("source", source), ("manifest", manifest), ("state", state)):
        await vault.owner.execute("INSERT INTO stored VALUES ($1, $2)", name, json.dumps(value))
    assert len(canary.lines_with(await dump(database_url))) == 3


async def test_a_role_for_servers_has_what_it_takes_and_everybody_has_nothing(vault: Vault, database_url: str) -> None:
    await roles.create(database_url, roles.SERVER)
    await schema.upgrade(database_url, server_role=roles.SERVER)
    pool = engine.create(roles.url_of(database_url, roles.SERVER), pool_size=1)
    try:
        server = Vault(Database(pool), vault.service, vault.owner)
        await server.seal(DOCUMENTS)
        assert (await server.open())["source"] == [("/variables/password", PASSWORD)]
        await Rekey(server.database, Keys([SECOND, FIRST])).run()
        assert {key for *_, key in await vault.rows()} == {SECOND.id}
        await server.seal({name: Document(None) for name in DOCUMENTS})
        assert await vault.rows() == []
    finally:
        await pool.dispose()
        await vault.owner.execute(f"DROP OWNED BY {roles.quoted(roles.SERVER)}")
    for privilege in ("SELECT", "INSERT", "UPDATE", "DELETE"):
        query = "SELECT has_table_privilege('public', 'sealed_value', $1)"
        assert not await vault.owner.fetchval(query, privilege)
