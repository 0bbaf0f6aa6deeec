"""The content of secrets is in no dump, log, event, answer or error, but where somebody reads it who may."""

import logging

import asyncpg
import pytest
from integration.unit.secret.conftest import FIRST, KEYS, SECOND, Stage, add, change, grant, track

from support import canary, role
from support.application_site import open_site, refusal
from support.dump import dump
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import secret_service_pb2 as secret_pb
from tinkwell.core import errors
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.release.service.forgetting import Forgetting
from tinkwell.server.secret.keys import Key, Keys
from tinkwell.server.secret.service.rekey import Rekey
from tinkwell.server.unit.service.secret.loss import Losses

NAMED = {name: canary.named(name) for name in ("first", "second", "third", "user", "newer")}


def content(name: str) -> dict[str, str]:
    return {"password": NAMED[name]}


async def tell(stage: Stage) -> list[str]:
    """Have secrets made, changed, read and refused, and return all that was answered without them."""
    told: list[str] = []
    secrets = stage.site.secrets
    await stage.do("pg/0", add(content=content("first"), label="root", description="of pg"), grant(stage.relation))
    await stage.do("web/0", track(1, label="db"))
    await stage.do("pg/0", change(content=content("second")))
    event = (await stage.agent.next(stage.ids["web/0"])).grant
    told.append(str(event))
    assert await stage.agent.read_secret(stage.ids["web/0"], FIRST) == content("second")
    await stage.agent.fail(stage.ids["web/0"], "exit 1")
    explained = await stage.site.apps.Explain(pb.ExplainUnitRequest(unit="web/0"))
    told.append(str(explained))
    refused = await stage.refused("pg/0", change(SECOND, content=content("third")), add(content=content("third")))
    told.append(str(refused))
    made = await secrets.CreateSecret(secret_pb.CreateSecretRequest(label="token", content=content("user")))
    told.append(str(made))
    await secrets.UpdateSecret(secret_pb.UpdateSecretRequest(name="token", content=content("newer")))
    await secrets.GrantSecret(secret_pb.GrantSecretRequest(name="token", application="web"))
    wrong = secret_pb.CreateSecretRequest(label="other", content={"A": NAMED["third"]})
    told.append(str(await refusal(secrets.CreateSecret(wrong))))
    told += [str(each) async for each in secrets.ListSecrets(secret_pb.ListSecretsRequest())]
    told += [str(each) async for each in stage.site.apps.ListEvents(pb.ListUnitEventsRequest(unit="web/0"))]
    told += [str(each) async for each in stage.site.apps.ListTasks(pb.ListTasksRequest(name="pg"))]
    return told


async def test_content_is_nowhere_but_where_it_is_read(
    stage: Stage, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told = await tell(stage)
    assert canary.lines_with("\n".join(told)) == []
    written = await dump(database_url)
    assert "COPY public.secret_revision" in written
    assert canary.lines_with(written) == []
    assert not any(text.encode().hex() in written for text in NAMED.values())
    assert canary.lines_with(caplog.text) == []
    # The look would have found it.
    await stage.site.sql.execute("UPDATE secret SET description = $1 WHERE label = 'token'", NAMED["user"])
    assert canary.lines_with(await dump(database_url)) != []


async def test_other_keys_seal_anew_what_is_there_and_a_lost_one_loses_it(stage: Stage, database_url: str) -> None:
    await tell(stage)
    second = Key.of(b"2" * 32)
    pool = engine.create(role.url_of_server(database_url), pool_size=2)
    database = Database(pool)
    try:
        outcome = await Rekey(database, Keys((second, KEYS.first))).run()
        assert (outcome.sealed, outcome.broken, dict(outcome.left)) == (4, 0, {})
        async with open_site(database_url, keys=Keys((second,))) as site:
            found = await site.secrets.RevealSecret(secret_pb.RevealSecretRequest(name=FIRST))
            assert (found.revision, dict(found.content)) == (2, content("second"))
            found = await site.secrets.RevealSecret(secret_pb.RevealSecretRequest(name="token", revision=1))
            assert dict(found.content) == content("user")
        losses = await Losses(database).look(second.id)
        assert [(loss.title, loss.revision) for loss in losses] == [
            (f"secret {FIRST}", 1),
            (f"secret {FIRST}", 2),
            ("secret token", 1),
            ("secret token", 2),
        ]
        await Forgetting(database).forget(second.id)
        told = await refusal(stage.site.secrets.RevealSecret(secret_pb.RevealSecretRequest(name="token")))
        assert (told.reason, "the key is lost" in told.message) == ("SECRETS_DISABLED", True)
        # Its user gives it another one.
        await stage.site.secrets.UpdateSecret(secret_pb.UpdateSecretRequest(name="token", content=content("third")))
        found = await stage.site.secrets.RevealSecret(secret_pb.RevealSecretRequest(name="token"))
        assert (found.revision, dict(found.content)) == (3, content("third"))
    finally:
        await pool.dispose()


async def test_a_server_without_keys_refuses_secrets_and_only_these(stage: Stage, database_url: str) -> None:
    await stage.do("pg/0", add(), grant(stage.relation))
    async with open_site(database_url) as site:
        request = secret_pb.CreateSecretRequest(label="a", content=content("user"))
        assert (await refusal(site.secrets.CreateSecret(request))).reason == "SECRETS_DISABLED"
        assert (await refusal(site.secrets.RevealSecret(secret_pb.RevealSecretRequest(name=FIRST)))).reason == (
            "SECRETS_DISABLED"
        )
        assert (await site.secrets.GetSecret(secret_pb.GetSecretRequest(name=FIRST))).latest == 1
        # Its agent goes on there.
        stage.agent.stub = site.units
        stage.site.units = site.units
        await stage.do("web/0", track(1))
        assert await stage.read("web/0") == "SECRETS_DISABLED"
        await stage.begin("pg/0")
        effects = {"secrets": [add(SECOND)]}
        request_ = stage.agent.ending(stage.ids["pg/0"], effects=effects)
        assert (await refusal(site.units.CommitEvent(request_))).reason == "SECRETS_DISABLED"
        tasks = [each async for each in site.apps.ListTasks(pb.ListTasksRequest(name="pg/0"))]
        assert tasks[0].state == pb.TASK_STATE_FAILED
        assert tasks[0].message == f"refused: {errors.SecretsDisabled()}"


async def test_who_may_not_read_the_log_s_rows_learns_no_content_of_triggers(stage: Stage) -> None:
    await stage.do("pg/0", add(content=content("first")))
    told = await stage.site.sql.fetch("SELECT data::text AS data FROM events")
    assert canary.lines_with("\n".join(row["data"] for row in told)) == []
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await stage.site.sql.execute("UPDATE secret SET name = repeat('c', 20)")
    assert canary.lines_with(str(refused.value)) == []
