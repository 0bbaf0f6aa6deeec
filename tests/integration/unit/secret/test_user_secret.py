"""SecretService: secrets of users, which units read by a grant that needs no relation."""

import grpc
import pytest
from integration.unit.secret.conftest import FIRST, Stage, add, track

from support.application_site import refusal
from tinkwell.api.v1 import application_service_pb2 as app_pb
from tinkwell.api.v1 import secret_service_pb2 as pb
from tinkwell.core.unit import limit

CONTENT = {"token": "kanarienvogel-user"}
NEW = {"token": "kanarienvogel-newer"}


async def create(stage: Stage, label: str = "token", **more: object) -> pb.Secret:
    return await stage.site.secrets.CreateSecret(
        pb.CreateSecretRequest(label=label, content=CONTENT, **more)  # type: ignore[arg-type]
    )


async def test_a_user_s_secret_is_read_where_it_is_granted_and_told_of(stage: Stage) -> None:
    secrets = stage.site.secrets
    made = await create(stage, description="of the store")
    assert (made.owner, made.latest, made.label, made.description) == ("", 1, "token", "of the store")
    assert await stage.read("web/0", made.name) == "NOT_FOUND"
    granted = await secrets.GrantSecret(pb.GrantSecretRequest(name="token", application="web"))
    assert [(each.relation, each.application) for each in granted.grants] == [(0, "web")]
    assert await stage.read("web/0", made.name) == CONTENT
    await stage.do("web/0", track(1, name=made.name, label="store"))
    await secrets.UpdateSecret(pb.UpdateSecretRequest(name="token", content=NEW))
    assert await stage.next("web/0") == f"secret-changed {made.name[:1]} 2"
    await stage.commit("web/0")
    assert await stage.read("web/0", label="store") == NEW
    revealed = await secrets.RevealSecret(pb.RevealSecretRequest(name="token", revision=1))
    assert dict(revealed.content) == CONTENT
    await secrets.RemoveSecret(pb.RemoveSecretRequest(name="token", revision=1))
    assert [each.revision for each in (await secrets.GetSecret(pb.GetSecretRequest(name=made.name))).revisions] == [2]
    await secrets.RevokeSecret(pb.RevokeSecretRequest(name="token", application="web"))
    assert await stage.read("web/0", made.name) == "NOT_FOUND"
    await secrets.RemoveSecret(pb.RemoveSecretRequest(name="token"))
    assert [await stage.site.count(each) for each in ("secret", "secret_reader", "sealed_value")] == [0, 0, 0]
    names = await stage.site.sql.fetch("SELECT name FROM events WHERE resource_type = 'SECRET' ORDER BY revision")
    assert [row["name"] for row in names] == [
        "secret.created",
        *["secret.updated"] * 4,
        "secret.deleted",
    ]


async def test_a_grant_is_told_with_the_secret(stage: Stage) -> None:
    await create(stage)
    await stage.site.secrets.GrantSecret(pb.GrantSecretRequest(name="token", application="web"))
    grants = await stage.site.sql.fetchval("SELECT data -> 'grants' ->> 0 FROM events WHERE name = 'secret.updated'")
    assert grants == '{"relation" : 0, "application" : "web", "unit" : ""}'


async def test_a_repeated_request_changes_nothing_and_a_label_is_taken_once(stage: Stage) -> None:
    secret_id = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a88"
    first, second = await create(stage, id=secret_id), await create(stage, id=secret_id)
    assert first == second
    assert (await refusal(create(stage))).reason == "ALREADY_EXISTS"
    again = await stage.site.secrets.GrantSecret(pb.GrantSecretRequest(name="token", application="web"))
    repeated = await stage.site.secrets.GrantSecret(pb.GrantSecretRequest(name="token", application="web"))
    assert again == repeated


async def test_users_have_so_many_secrets_at_most_and_each_so_many_revisions(stage: Stage) -> None:
    made = await create(stage)
    await stage.site.sql.execute(
        "INSERT INTO secret (namespace, name)"
        " SELECT 'default', lpad(n::text, 20, '0') FROM generate_series(2, $1::int) n",
        limit.SECRETS_PER_OWNER,
    )
    told = await refusal(create(stage, "another"))
    sentence = "the users of namespace default have 1,000 secrets already; remove some, or keep more keys in one"
    assert (told.reason, told.message) == ("LIMIT_REACHED", sentence)
    await stage.site.sql.execute(
        "INSERT INTO secret_revision (secret_id, revision) SELECT $1::text::uuid, n FROM generate_series(2, $2::int) n",
        made.id,
        limit.REVISIONS_PER_SECRET,
    )
    told = await refusal(stage.site.secrets.UpdateSecret(pb.UpdateSecretRequest(name="token", content=CONTENT)))
    sentence = f"secret {made.name} has 1,000 revisions already; remove those that nobody reads"
    assert (told.reason, told.message) == ("LIMIT_REACHED", sentence)


async def test_what_belongs_to_a_charm_is_changed_by_that_alone(stage: Stage) -> None:
    await stage.do("pg/0", add())
    secrets = stage.site.secrets
    for call in (
        secrets.UpdateSecret(pb.UpdateSecretRequest(name=FIRST, content=NEW)),
        secrets.RemoveSecret(pb.RemoveSecretRequest(name=FIRST)),
        secrets.GrantSecret(pb.GrantSecretRequest(name=FIRST, application="web")),
    ):
        told = await refusal(call)
        assert (told.reason, "pg/0" in told.message) == ("ILLEGAL_TRANSITION", True)
    listed = [each.name async for each in secrets.ListSecrets(pb.ListSecretsRequest(owner="pg/0"))]
    assert listed == [FIRST]
    assert (await refusal(secrets.GetSecret(pb.GetSecretRequest(name="nothing")))).reason == "NOT_FOUND"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"content": {}}, "content"),
        ({"content": {"A": "b"}}, "content"),
        ({"label": "l" * 101, "content": CONTENT}, "label"),
        ({"description": "d" * 1001, "content": CONTENT}, "description"),
        ({"namespace": "N", "content": CONTENT}, "namespace"),
        ({"id": "x", "content": CONTENT}, "id"),
    ],
)
async def test_wrong_secrets_are_refused_by_the_field_that_is_wrong(
    stage: Stage, request_: dict[str, object], field: str
) -> None:
    told = await refusal(stage.site.secrets.CreateSecret(pb.CreateSecretRequest(**request_)))  # type: ignore[arg-type]
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert field in told.fields
    assert "kanarienvogel" not in told.message


async def test_a_removed_application_leaves_a_user_s_secret_without_its_grant(stage: Stage) -> None:
    made = await create(stage)
    await stage.site.secrets.GrantSecret(pb.GrantSecretRequest(name="token", application="web"))
    await stage.do("web/0", track(1, name=made.name))
    await stage.site.apps.Remove(app_pb.RemoveRequest(application="web", force=True))
    await stage.run()
    found = await stage.site.secrets.GetSecret(pb.GetSecretRequest(name="token"))
    assert (list(found.grants), list(found.revisions[0].readers)) == ([], [])
