"""Secrets of units and applications: made, read, granted, changed and told of, as the resolver says it."""

import asyncio
import datetime

import asyncpg
import grpc
import pytest
from integration.unit.secret.conftest import (
    FIRST,
    SECOND,
    Stage,
    add,
    change,
    grant,
    remove,
    revoke,
    track,
)

from support import edge
from support.application_site import refusal
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import secret_service_pb2 as secret_pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.core.unit import limit
from tinkwell.core.unit.kinds import Rotation

CONTENT = {"password": "kanarienvogel-1"}
NEW = {"password": "kanarienvogel-2"}
# Secrets of pg/0 and of pg: so many of each.
_FILL = """
    INSERT INTO secret (namespace, name, application_id, unit_id, owner)
    SELECT u.namespace, lpad(n || CASE WHEN is_own THEN 'u' ELSE 'a' END, 20, '0'), u.application_id,
           CASE WHEN is_own THEN u.id END, CASE WHEN is_own THEN u.name ELSE 'pg' END
      FROM unit u, generate_series(1, $1::int) n, unnest(ARRAY[true, false]) is_own WHERE u.name = 'pg/0'
"""
_REVISE = """
    WITH more AS (INSERT INTO secret_revision (secret_id, revision)
                  SELECT s.id, n FROM secret s, generate_series(2, $1::int) n)
    UPDATE secret SET latest = $1::int
"""
PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


async def names(sql: asyncpg.Connection) -> list[str]:
    found = await sql.fetch("SELECT name FROM events WHERE resource_type = 'SECRET' ORDER BY revision")
    return [row["name"] for row in found]


async def test_a_unit_reads_its_own_secret_and_nobody_else_does_without_a_grant(stage: Stage) -> None:
    await stage.do("pg/0", add())
    assert await stage.read("pg/0") == CONTENT
    assert await stage.read("pg/1") == "NOT_FOUND"
    assert await stage.read("web/0") == "NOT_FOUND"
    found = await stage.site.secrets.GetSecret(secret_pb.GetSecretRequest(name=FIRST))
    assert (found.owner, found.latest, len(found.revisions)) == ("pg/0", 1, 1)
    assert await names(stage.site.sql) == ["secret.created"]
    parent = await stage.site.sql.fetchval("SELECT parent_id::text FROM events WHERE name = 'secret.created'")
    assert parent == (await stage.site.unit("pg/0")).application_id


async def test_a_grant_lets_the_other_side_read_until_the_relation_is_over_for_it(stage: Stage) -> None:
    await stage.do("pg/0", add(), grant(stage.relation))
    assert await stage.read("web/0") == CONTENT
    assert await stage.read("pg/1") == "NOT_FOUND"
    await stage.site.apps.Unrelate(pb.UnrelateRequest(number=stage.relation))
    # It is told of the end, and may still read until it has heard of it.
    assert await stage.read("web/0") == CONTENT
    assert (await stage.next("web/0")).startswith("db-relation-departed")
    await stage.commit("web/0")
    assert await stage.next("web/0") in ("db-relation-departed  0", "db-relation-departed", "db-relation-broken  0")
    await stage.run()
    assert await stage.read("web/0") == "NOT_FOUND"
    assert await stage.site.count("secret_grant") == 0
    assert await stage.site.count("secret") == 1


async def test_a_grant_to_one_unit_is_for_that_unit_alone_and_is_taken_back(stage: Stage) -> None:
    await stage.do("pg/0", add(), grant(stage.relation, unit="web/0"))
    assert await stage.read("web/0") == CONTENT
    await stage.do("pg/0", revoke(stage.relation))
    assert await stage.read("web/0") == "NOT_FOUND"
    await stage.do("pg/0", grant(stage.relation))
    await stage.do("pg/0", revoke())
    assert await stage.read("web/0") == "NOT_FOUND"


async def test_who_reads_a_secret_is_told_of_each_newest_revision_once(stage: Stage) -> None:
    await stage.do("pg/0", add(), grant(stage.relation))
    await stage.do("web/0", track(1, label="db"))
    await stage.do("pg/0", change(content=NEW), change(content={"password": "kanarienvogel-3"}))
    assert (await stage.site.secrets.GetSecret(secret_pb.GetSecretRequest(name=FIRST))).latest == 2
    assert await stage.next("web/0") == "secret-changed a 2"
    event = stage.agent.grants[stage.ids["web/0"]].event
    assert event.secret.label == "db"
    assert await stage.agent.read_secret(stage.ids["web/0"], label="db", revision=1) == CONTENT
    assert await stage.agent.read_secret(stage.ids["web/0"], FIRST) == {"password": "kanarienvogel-3"}
    own = stage.agent.grants[stage.ids["web/0"]].secrets
    assert [(each.id, each.owner, each.label, each.tracked, each.latest, each.is_owned) for each in own] == [
        (FIRST, "pg/0", "db", 1, 2, False)
    ]
    await stage.commit("web/0")
    assert await stage.next("web/0") == ""
    # It still reads the first one, so that nothing has become of no use.
    assert await stage.next("pg/0") == ""
    await stage.do("web/0", track(2))
    # By this its owner's agent is woken.
    assert (await names(stage.site.sql))[-1] == "secret.updated"
    assert await stage.next("pg/0") == "secret-remove a 1"
    await stage.commit("pg/0", remove(1))
    assert await stage.next("pg/0") == ""
    found = await stage.site.secrets.GetSecret(secret_pb.GetSecretRequest(name=FIRST))
    assert [(each.revision, list(each.readers)) for each in found.revisions] == [(2, ["web/0"])]
    assert await stage.site.count("sealed_value") == 1


async def test_a_revision_that_nobody_has_read_is_of_no_use_once_there_is_a_newer_one(stage: Stage) -> None:
    await stage.do("pg/0", add())
    await stage.do("pg/0", change(content=NEW))
    assert await stage.next("pg/0") == "secret-remove a 1"


async def test_an_application_s_secret_is_written_by_its_leader_and_read_by_all_its_units(stage: Stage) -> None:
    term = (await stage.site.apps.GetApplication(pb.GetApplicationRequest(name="pg"))).term
    told = await stage.refused("pg/1", add(is_application=True))
    assert "effects.secrets[0].add.is_application" in told
    await stage.do("pg/0", add(is_application=True, label="root"), term=term)
    assert await stage.read("pg/1") == CONTENT
    assert await stage.read("pg/0", label="root") == CONTENT
    assert await stage.read("web/0") == "NOT_FOUND"
    told = await stage.refused("pg/1", change(content=NEW))
    assert "effects.secrets[0].id" in told
    await stage.do("pg/1", track(1))
    await stage.do("pg/0", change(content=NEW), term=term)
    assert await stage.next("pg/1") == "secret-changed a 2"
    await stage.commit("pg/1")
    assert await stage.next("pg/0") == ""
    await stage.do("pg/1", track(2))
    assert await stage.next("pg/0") == "secret-remove a 1"


async def test_who_has_led_when_it_wrote_and_does_not_any_more_is_refused(stage: Stage) -> None:
    term = (await stage.site.apps.GetApplication(pb.GetApplicationRequest(name="pg"))).term
    await stage.do("pg/0", add(is_application=True), term=term)
    await stage.begin("pg/0")
    await stage.site.sql.execute("UPDATE application SET leader = 1, term = term + 1 WHERE name = 'pg'")
    effects = {"secrets": [change(content=NEW)], "term": term}
    request = stage.agent.ending(stage.ids["pg/0"], effects=effects)
    assert (await refusal(stage.site.units.CommitEvent(request))).reason == "NOT_LEADER"
    found = await stage.site.secrets.GetSecret(secret_pb.GetSecretRequest(name=FIRST))
    assert found.latest == 1


async def test_a_rotation_is_told_when_it_is_due_and_comes_again(stage: Stage) -> None:
    following = await stage.do("pg/0", add(rotation=secret_pb.SECRET_ROTATION_HOURLY))
    assert 0 < following.none.due_in_seconds <= 400
    await stage.site.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp() + interval '2 hours'")
    due = (await stage.agent.next(stage.ids["pg/0"])).none.due_in_seconds
    assert 3_000 < due <= 3_600
    await stage.site.sql.execute("UPDATE secret SET rotates_at = clock_timestamp() - interval '5 hours'")
    assert await stage.next("pg/0") == "secret-rotate a 0"
    await stage.commit("pg/0", change(content=NEW))
    assert await stage.site.sql.fetchval("SELECT rotates_at > clock_timestamp() + interval '50 min' FROM secret")


async def test_who_owns_what_neither_rotates_nor_expires_waits_for_its_tick(stage: Stage) -> None:
    assert 60 < (await stage.do("pg/0", add())).none.due_in_seconds <= 400


async def test_an_expiry_is_told_once_and_again_when_it_is_set_anew(stage: Stage) -> None:
    await stage.do("pg/0", add(expires_at=PAST))
    assert await stage.next("pg/0") == "secret-expired a 1"
    await stage.commit("pg/0")
    assert await stage.next("pg/0") == ""
    await stage.do("pg/0", change(expires_at=PAST))
    assert await stage.next("pg/0") == "secret-expired a 1"
    # Its own handler may do so as well.
    await stage.commit("pg/0", change(expires_at=PAST))
    assert await stage.next("pg/0") == "secret-expired a 1"
    await stage.commit("pg/0", remove(1))
    assert await stage.site.count("secret") == 0
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=300)
    await stage.do("pg/0", add(expires_at=soon))
    await stage.site.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp() + interval '2 hours'")
    assert 200 < (await stage.agent.next(stage.ids["pg/0"])).none.due_in_seconds <= 300


async def test_an_event_whose_secret_is_gone_does_not_come_back(stage: Stage) -> None:
    await stage.do("pg/0", add(), grant(stage.relation))
    await stage.do("web/0", track(1))
    await stage.do("pg/0", change(content=NEW))
    assert await stage.next("web/0") == "secret-changed a 2"
    await stage.agent.fail(stage.ids["web/0"])
    await stage.do("pg/0", remove())
    assert await stage.next("web/0") == ""
    states = await stage.site.sql.fetch("SELECT state FROM unit_event WHERE kind = 'secret-changed'")
    assert [row["state"] for row in states] == ["WITHDRAWN"]
    assert [await stage.site.count(each) for each in ("secret", "secret_reader", "sealed_value")] == [0, 0, 0]


async def test_a_removed_unit_leaves_no_secret_of_its_own(stage: Stage) -> None:
    term = (await stage.site.apps.GetApplication(pb.GetApplicationRequest(name="pg"))).term
    await stage.do("pg/0", add(), add(SECOND, is_application=True), grant(stage.relation), term=term)
    await stage.do("web/0", track(1))
    await stage.site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="pg/0", force=True))
    left = await stage.site.sql.fetch("SELECT name FROM secret")
    assert [row["name"] for row in left] == [SECOND]
    assert await stage.site.count("sealed_value") == 1
    await stage.site.apps.Remove(pb.RemoveRequest(application="pg", force=True))
    await stage.run()
    assert [await stage.site.count(each) for each in ("secret", "sealed_value")] == [0, 0]
    assert (await names(stage.site.sql)).count("secret.deleted") == 2


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (add("A" * 20), "id"),
        (add(content={}), "add.content"),
        (add(content={"a": "b"}), "add.content"),
        (add(content={"big": "x" * (1 << 20)}), "add.content"),
        (add(label="l" * 101), "add.label"),
        (change(SECOND, content=CONTENT), "id"),
        (grant(99), "grant.relation"),
        (grant(1, "nobody"), "grant"),
        (remove(2), "remove.revision"),
        (track(7), "track.revision"),
        (track(1, name=SECOND), "id"),
    ],
)
async def test_wrong_effects_are_refused_by_their_fields_and_name_no_content(
    stage: Stage, edit: unit_pb.SecretEdit, field: str
) -> None:
    first = () if edit.id != FIRST or edit.HasField("add") else (add(),)
    if first:
        await stage.do("pg/0", *first)
    number = edit.grant.relation == 1
    if number:
        edit.grant.relation = stage.relation
    told = await stage.refused("pg/0", edit)
    assert f"effects.secrets[0].{field}" in told
    assert "kanarienvogel" not in str(told)


async def test_a_label_is_of_one_secret_of_its_owner(stage: Stage) -> None:
    await stage.do("pg/0", add(label="root"))
    assert "effects.secrets[0].add.label" in await stage.refused("pg/0", add(SECOND, label="root"))
    await stage.do("pg/0", change(label="other"), add(SECOND, label="root"))
    assert await stage.read("pg/0", label="root") == CONTENT
    assert "effects.secrets[0].set.label" in await stage.refused("pg/0", change(SECOND, label="other"))


async def test_a_label_goes_from_one_secret_to_another_in_one_event(stage: Stage) -> None:
    await stage.do("pg/0", add(SECOND, label="root"))
    # What comes first by its id gets the label that the other one has.
    await stage.do("pg/0", change(SECOND, label="old"), add(label="root", content=NEW))
    assert await stage.read("pg/0", label="root") == NEW
    await stage.do("pg/0", change(SECOND, label="new"), change(label="old"), change(SECOND, label="root"))
    assert [await stage.read("pg/0", label=label) for label in ("root", "old")] == [CONTENT, NEW]
    await stage.do("pg/0", remove(name=SECOND), change(label="root"))
    assert await stage.read("pg/0", label="root") == NEW


async def test_a_label_for_what_others_own_goes_from_one_to_another_in_one_event(stage: Stage) -> None:
    await stage.do("pg/0", add(), grant(stage.relation), add(SECOND, content=NEW), grant(stage.relation, name=SECOND))
    await stage.do("web/0", track(1, label="old"), track(1, name=SECOND, label="db"))
    await stage.do("web/0", track(1, name=SECOND, label="next"), track(1, label="db"))
    assert await stage.read("web/0", label="db") == CONTENT


async def test_a_unit_and_an_application_own_so_many_secrets_at_most(stage: Stage) -> None:
    await stage.site.sql.execute(_FILL, limit.SECRETS_PER_OWNER - 1)
    term = (await stage.site.apps.GetApplication(pb.GetApplicationRequest(name="pg"))).term
    for is_application, owner in ((False, "pg/0"), (True, "pg")):
        first, second = (add(each, is_application=is_application) for each in (FIRST, SECOND))
        told = await stage.refused("pg/0", first, second, term=term)
        sentence = f"{owner} would own 1,001 secrets; at most 1,000 may be: remove some, or keep more keys in one"
        assert told == {"effects.secrets": sentence}
        # One that goes makes room for another one.
        await stage.do("pg/0", first, term=term)
        await stage.do("pg/0", remove(), second, term=term)
        await stage.do("pg/0", remove(name=SECOND), term=term)


async def test_a_secret_has_so_many_revisions_at_most(stage: Stage) -> None:
    await stage.do("pg/0", add())
    await stage.site.sql.execute(_REVISE, limit.REVISIONS_PER_SECRET)
    told = await stage.refused("pg/0", change(content=NEW))
    assert told == {
        "effects.secrets": f"secret {FIRST} would have more than 1,000 revisions, which is the most; "
        "remove those that nobody reads, as secret-remove tells"
    }
    await stage.do("pg/0", change(content=NEW), remove(1))
    found = await stage.site.secrets.GetSecret(secret_pb.GetSecretRequest(name=FIRST))
    assert (found.latest, len(found.revisions)) == (limit.REVISIONS_PER_SECRET + 1, limit.REVISIONS_PER_SECRET)


async def test_who_does_not_lead_in_its_grant_s_term_labels_no_secret_of_its_application(stage: Stage) -> None:
    term = (await stage.site.apps.GetApplication(pb.GetApplicationRequest(name="pg"))).term
    await stage.do("pg/0", add(is_application=True), term=term)
    sentence = "only the unit that leads its application may change its secrets"
    assert await stage.refused("pg/0", track(0, label="mine")) == {"effects.secrets[0].id": sentence}
    await stage.do("pg/0", track(0, label="mine"), term=term)
    assert (await stage.site.secrets.GetSecret(secret_pb.GetSecretRequest(name=FIRST))).label == "mine"
    # Its term is over, and nobody has followed it.
    await stage.begin("pg/0")
    await stage.site.sql.execute("UPDATE application SET leader_until = clock_timestamp() - interval '1 s'")
    effects = {"secrets": [track(0, label="late")], "term": term}
    request = stage.agent.ending(stage.ids["pg/0"], effects=effects)
    assert (await refusal(stage.site.units.CommitEvent(request))).reason == "NOT_LEADER"
    # Another unit has a label of its own for it.
    await stage.do("pg/1", track(1, label="theirs"))
    assert (await stage.site.secrets.GetSecret(secret_pb.GetSecretRequest(name=FIRST))).label == "mine"


async def test_an_edit_without_a_word_is_refused(stage: Stage) -> None:
    await stage.begin("pg/0")
    effects = {"secrets": [unit_pb.SecretEdit(id=FIRST)]}
    request = stage.agent.ending(stage.ids["pg/0"], effects=effects)
    told = await refusal(stage.site.units.CommitEvent(request))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT


async def test_two_commits_that_change_what_both_touch_come_one_after_the_other(stage: Stage) -> None:
    """Both owners make a revision, and both readers move, at once and over and over: nothing is lost, nobody waits."""
    await stage.do("pg/0", add(), grant(stage.relation))
    await stage.do("pg/1", add(SECOND), grant(stage.relation, name=SECOND))
    for number in range(1, 9):
        for unit in ("pg/0", "pg/1", "web/0"):
            await stage.site.apps.RunTask(pb.RunTaskRequest(unit=unit, action="show"))
            while not (await stage.agent.next(stage.ids[unit])).grant.HasField("task"):
                await stage.agent.commit(stage.ids[unit])
        requests = [
            stage.agent.ending(stage.ids["pg/0"], effects={"secrets": [change(content=NEW)]}),
            stage.agent.ending(stage.ids["pg/1"], effects={"secrets": [change(SECOND, content=NEW)]}),
            stage.agent.ending(stage.ids["web/0"], effects={"secrets": [track(number, name=SECOND), track(number)]}),
        ]
        await asyncio.gather(*map(stage.site.units.CommitEvent, requests))
        for unit in ("pg/0", "pg/1", "web/0"):
            while (await stage.agent.next(stage.ids[unit])).HasField("grant"):
                await stage.agent.commit(stage.ids[unit])
    latest = await stage.site.sql.fetch("SELECT latest FROM secret")
    assert [row["latest"] for row in latest] == [9, 9]
    tracked = await stage.site.sql.fetch("SELECT tracked FROM secret_reader WHERE tracked > 0")
    assert [row["tracked"] for row in tracked] == [8, 8]


async def test_a_grant_and_the_end_of_its_relation_at_once_leave_no_grant(stage: Stage) -> None:
    await stage.do("pg/0", add())
    await stage.begin("pg/0")
    request = stage.agent.ending(stage.ids["pg/0"], effects={"secrets": [grant(stage.relation)]})
    await asyncio.gather(
        stage.site.units.CommitEvent(request),
        stage.site.apps.Unrelate(pb.UnrelateRequest(number=stage.relation)),
    )
    await stage.run()
    assert await stage.site.count("secret_grant") == 0
    assert await stage.read("web/0") == "NOT_FOUND"


async def test_a_removal_and_a_reader_at_once_leave_no_row_of_what_is_gone(stage: Stage) -> None:
    for _ in range(6):
        await stage.do("pg/0", add(), grant(stage.relation))
        await stage.begin("pg/0")
        await stage.begin("web/0")
        removed, tracked = await asyncio.gather(
            stage.site.units.CommitEvent(stage.agent.ending(stage.ids["pg/0"], effects={"secrets": [remove()]})),
            stage.site.units.CommitEvent(stage.agent.ending(stage.ids["web/0"], effects={"secrets": [track(1)]})),
            return_exceptions=True,
        )
        assert not isinstance(removed, BaseException)
        if isinstance(tracked, grpc.aio.AioRpcError):
            assert edge.refusal(tracked).reason == "COMMIT_REFUSED"
        counts = [await stage.site.count(each) for each in ("secret", "secret_reader", "sealed_value")]
        assert counts == [0, 0, 0]


@pytest.mark.parametrize("rotation", [each for each in Rotation if each is not Rotation.NEVER])
async def test_the_database_rotates_as_the_rule_says(stage: Stage, rotation: Rotation) -> None:
    number = secret_pb.SecretRotation.Value(f"SECRET_ROTATION_{rotation.name}")
    before = datetime.datetime.now(datetime.UTC)
    await stage.do("pg/0", add(rotation=number))
    found = await stage.site.sql.fetchval("SELECT rotates_at FROM secret")
    earliest, latest = rotation.next_after(before), rotation.next_after(datetime.datetime.now(datetime.UTC))
    assert earliest is not None
    assert latest is not None
    slack = datetime.timedelta(seconds=5)
    assert earliest - slack <= found <= latest + slack
