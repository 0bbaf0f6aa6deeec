"""What can be done to templates, and what callers are told when it cannot be done."""

import asyncio
import uuid
from typing import Any

import grpc
import grpc.aio
import pytest

from support import rendering
from support.edge import Refusal, refused
from support.resource import Resources
from tinkwell.api.v1 import template_service_pb2 as pb
from tinkwell.server.database import engine
from tinkwell.server.template.store import queries as store

ID = "0b1ec5ab-7d2e-4d7a-9e5a-5f1f2c7b8a01"
OTHER_ID = "0b1ec5ab-7d2e-4d7a-9e5a-5f1f2c7b8a02"


def yaml(name: str = "ubuntu", *, image: str = "hello-world", comment: str = "") -> str:
    return f"""\
version: "0.1"
name: {name}
global_timeout: 1800
tasks:
  - name: install
    worker: "{{{{.device_1}}}}"
    actions:
      - name: stream
        image: {image}
        timeout: 60
{comment}"""


async def create(
    resources: Resources, name: str = "", data: str | None = None, *, template_id: str = ""
) -> pb.CreateTemplateResponse:
    data = yaml(name or "ubuntu") if data is None else data
    return await resources.template.CreateTemplate(pb.CreateTemplateRequest(id=template_id, name=name, data=data))


async def get(resources: Resources, template_id: str) -> pb.Template:
    return await resources.template.GetTemplate(pb.GetTemplateRequest(id=template_id))


async def names(resources: Resources, pattern: str = "") -> list[str]:
    return [found.name async for found in resources.template.ListTemplates(pb.ListTemplatesRequest(name=pattern))]


def summary(told: Refusal) -> tuple[str, str]:
    return told.code.name, told.reason


INVALID = ("INVALID_ARGUMENT", "INVALID_FIELD")
NOT_FOUND = ("NOT_FOUND", "NOT_FOUND")
TAKEN = ("ALREADY_EXISTS", "ALREADY_EXISTS")
LOST = ("ABORTED", "LOST_RACE")


async def test_a_created_template_is_found_by_its_id_and_its_name(resources: Resources) -> None:
    created = await create(resources, "focal")
    assert created.revision == 1
    found = await get(resources, created.id.upper())
    assert (found.id, found.name, found.version, found.data) == (created.id, "focal", 1, yaml("focal"))
    assert found.created_at == found.updated_at != pb.Template().created_at
    assert await resources.template.GetTemplate(pb.GetTemplateRequest(name="focal")) == found


async def test_without_a_name_the_one_in_the_yaml_is_used(resources: Resources) -> None:
    created = await create(resources, data=yaml("from_yaml"))
    assert (await get(resources, created.id)).name == "from_yaml"


async def test_the_name_may_differ_from_the_one_in_the_yaml(resources: Resources) -> None:
    created = await create(resources, "another", yaml("ubuntu"))
    assert (await get(resources, created.id)).name == "another"


async def test_a_name_of_other_characters_is_refused_wherever_it_comes_from(resources: Resources) -> None:
    cases: list[str] = ["two words", "ü", "a/b", "a.b", "x" * 200, "%", "{{.name}}"]
    for name in cases:
        told = await refused(create(resources, name, yaml()))
        assert summary(told) == INVALID
        assert list(told.fields) == ["name"]
        told = await refused(create(resources, data=yaml(f'"{name}"')))
        assert summary(told) == INVALID
        assert list(told.fields) == ["data.name"]
        assert await names(resources) == []


async def test_a_template_that_breaks_the_rules_is_refused_on_create_and_on_update(resources: Resources) -> None:
    cases: list[tuple[str, str]] = [
        ("", "data"),
        ("a: [", "data"),
        ("[]", "data"),
        ("version: '0.1'\nname: x\ntasks: []\n", "data.tasks"),
        (yaml().replace('"0.1"', '"0.2"'), "data.version"),
        (yaml().replace("timeout: 60", 'timeout: "60"'), "data.tasks[0].actions[0].timeout"),
        (yaml(image="NOT AN IMAGE"), "data.tasks[0].actions[0].image"),
        (yaml(comment="unknown: 1\n"), "data.unknown"),
        (yaml(comment="name: again\n"), "data"),
    ]
    created = await create(resources)
    before = await names(resources)
    for data, field in cases:
        told = await refused(create(resources, "name", data))
        assert summary(told) == INVALID
        assert list(told.fields) == [field]
        assert await names(resources) == before
        if data:
            told = await refused(resources.template.UpdateTemplate(pb.UpdateTemplateRequest(id=created.id, data=data)))
            assert list(told.fields) == [field]
            assert (await get(resources, created.id)).version == 1


async def test_the_name_of_a_live_template_is_refused_and_its_owner_is_named(resources: Resources) -> None:
    first = await create(resources, "focal")
    told = await refused(create(resources, "focal"))
    assert summary(told) == TAKEN
    assert told.metadata == {"what": "name", "value": "focal", "taken_by": first.id}
    assert told.message == f"name focal is already taken by {first.id}"
    other = await create(resources, "Focal")
    told = await refused(resources.template.UpdateTemplate(pb.UpdateTemplateRequest(id=other.id, name="focal")))
    assert told.metadata["taken_by"] == first.id
    await resources.template.DeleteTemplate(pb.DeleteTemplateRequest(id=first.id))
    assert (await create(resources, "focal")).id != first.id


async def test_a_repeated_create_with_its_id_changes_nothing(resources: Resources) -> None:
    first = await create(resources, "focal", template_id=ID.upper())
    assert (first.id, first.revision) == (ID, 1)
    again = await create(resources, "focal", template_id=ID)
    assert (again.id, again.revision) == (ID, 0)
    assert len(await resources.events()) == 1


async def test_an_id_that_was_given_to_another_template_is_refused(resources: Resources) -> None:
    await create(resources, "focal", template_id=ID)
    for name, data in (("other", yaml("focal")), ("focal", yaml("focal", comment="# more\n"))):
        told = await refused(create(resources, name, data, template_id=ID))
        assert summary(told) == TAKEN
        assert told.metadata == {"what": "id", "value": ID}
    await resources.template.DeleteTemplate(pb.DeleteTemplateRequest(id=ID))
    assert summary(await refused(create(resources, "focal", template_id=ID))) == TAKEN
    assert await names(resources) == []


async def test_many_creates_of_one_id_at_once_give_one_template(resources: Resources) -> None:
    answers = await asyncio.gather(*(create(resources, "focal", template_id=ID) for _ in range(20)))
    assert {answer.id for answer in answers} == {ID}
    assert sorted(answer.revision for answer in answers) == [0] * 19 + [1]


async def test_equal_inserts_at_once_are_not_told_of_the_name_that_they_share(server_url: str) -> None:
    """PostgreSQL may look at the name first, in a few of a hundred tries."""
    pool = engine.create(server_url, pool_size=10)

    async def insert(template_id: str) -> bool:
        async with pool.begin() as connection:
            return await store.insert(connection, template_id, f"t-{template_id}", yaml())

    try:
        for _ in range(200):
            template_id = str(uuid.uuid4())
            inserted = await asyncio.gather(*(insert(template_id) for _ in range(10)))
            assert sorted(inserted) == [False] * 9 + [True]
    finally:
        await pool.dispose()


async def test_one_of_many_wins_a_name(resources: Resources) -> None:
    async def attempt() -> str:
        try:
            await create(resources, "focal")
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "OK"

    assert sorted(await asyncio.gather(*(attempt() for _ in range(20)))) == ["ALREADY_EXISTS"] * 19 + ["OK"]
    assert await names(resources) == ["focal"]


async def test_an_update_changes_what_it_names(resources: Resources) -> None:
    created = await create(resources, "focal")
    renamed = await resources.template.UpdateTemplate(pb.UpdateTemplateRequest(id=created.id.upper(), name="jammy"))
    assert (renamed.revision, renamed.version) == (2, 2)
    found = await get(resources, created.id)
    assert (found.name, found.data, found.version) == ("jammy", yaml("focal"), 2)
    assert found.updated_at.ToNanoseconds() > found.created_at.ToNanoseconds()
    changed = await resources.template.UpdateTemplate(
        pb.UpdateTemplateRequest(id=created.id, data=yaml("focal", image="busybox"))
    )
    assert (changed.revision, changed.version) == (3, 3)
    found = await get(resources, created.id)
    assert (found.name, found.data) == ("jammy", yaml("focal", image="busybox"))
    same = await resources.template.UpdateTemplate(
        pb.UpdateTemplateRequest(id=created.id, name="jammy", data=found.data)
    )
    assert (same.revision, same.version) == (0, 3)
    nothing = await resources.template.UpdateTemplate(pb.UpdateTemplateRequest(id=created.id))
    assert (nothing.revision, nothing.version) == (0, 3)
    assert [event["event_type"] for event in await resources.events()] == ["CREATED", "UPDATED", "UPDATED"]


async def test_an_update_may_name_the_version_it_changes(resources: Resources) -> None:
    created = await create(resources, "focal")

    async def update(name: str, version: int) -> pb.UpdateTemplateResponse:
        return await resources.template.UpdateTemplate(
            pb.UpdateTemplateRequest(id=created.id, name=name, expected_version=version)
        )

    assert (await update("jammy", 1)).version == 2
    for version in (0, 1, 3):
        told = await refused(update("noble", version))
        assert summary(told) == LOST
        assert told.message == f"template {created.id} has the version 2; version {version} was expected"
    told = await refused(update("noble", -1))
    assert list(told.fields) == ["expected_version"]
    assert (await get(resources, created.id)).name == "jammy"


async def test_one_of_many_conditional_updates_wins(resources: Resources) -> None:
    created = await create(resources, "focal")

    async def attempt(index: int) -> str:
        request = pb.UpdateTemplateRequest(id=created.id, name=f"n{index}", expected_version=1)
        try:
            await resources.template.UpdateTemplate(request)
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "OK"

    assert sorted(await asyncio.gather(*map(attempt, range(20)))) == ["ABORTED"] * 19 + ["OK"]


async def test_a_deleted_template_is_gone_whether_by_id_or_by_name(resources: Resources) -> None:
    first, second = await create(resources, "one"), await create(resources, "two")
    assert (await resources.template.DeleteTemplate(pb.DeleteTemplateRequest(id=first.id))).revision == 3
    assert (await resources.template.DeleteTemplate(pb.DeleteTemplateRequest(name="two"))).revision == 4
    assert await names(resources) == []
    for call in (
        get(resources, first.id),
        resources.template.GetTemplate(pb.GetTemplateRequest(name="two")),
        resources.template.UpdateTemplate(pb.UpdateTemplateRequest(id=second.id, name="three")),
        resources.template.DeleteTemplate(pb.DeleteTemplateRequest(id=first.id)),
        resources.template.DeleteTemplate(pb.DeleteTemplateRequest(name="two")),
    ):
        assert summary(await refused(call)) == NOT_FOUND
    assert [event["event_type"] for event in await resources.events()] == ["CREATED"] * 2 + ["DELETED"] * 2


async def test_what_does_not_exist_is_not_found(resources: Resources) -> None:
    for call, key in (
        (get(resources, ID.upper()), ID),
        (resources.template.GetTemplate(pb.GetTemplateRequest(name="none")), "none"),
        (resources.template.UpdateTemplate(pb.UpdateTemplateRequest(id=ID, data=yaml())), ID),
        (resources.template.DeleteTemplate(pb.DeleteTemplateRequest(id=ID)), ID),
        (resources.template.DeleteTemplate(pb.DeleteTemplateRequest(name="none")), "none"),
    ):
        told = await refused(call)
        assert summary(told) == NOT_FOUND
        assert told.metadata == {"resource_type": "TEMPLATE", "resource_id": key}


async def test_what_is_no_uuid_is_refused_as_an_id(resources: Resources) -> None:
    cases: list[str] = ["x", "' OR '1'='1", ID[:-1], ""]
    for text in cases:
        calls: list[Any] = [
            get(resources, text),
            resources.template.UpdateTemplate(pb.UpdateTemplateRequest(id=text, data=yaml())),
            resources.template.DeleteTemplate(pb.DeleteTemplateRequest(id=text)),
        ]
        if text:
            calls.append(create(resources, template_id=text))
        for call in calls:
            told = await refused(call)
            assert summary(told) == INVALID
            assert list(told.fields) == ["id"]


async def test_what_is_no_name_is_refused_as_a_name(resources: Resources) -> None:
    cases: list[str] = ["", "a b", "x' OR name <> '", "*"]
    for text in cases:
        for call in (
            resources.template.GetTemplate(pb.GetTemplateRequest(name=text)),
            resources.template.DeleteTemplate(pb.DeleteTemplateRequest(name=text)),
        ):
            told = await refused(call)
            assert summary(told) == INVALID
            assert list(told.fields) == ["name"]


async def test_neither_an_id_nor_a_name_is_refused(resources: Resources) -> None:
    for call in (
        resources.template.GetTemplate(pb.GetTemplateRequest()),
        resources.template.DeleteTemplate(pb.DeleteTemplateRequest()),
    ):
        told = await refused(call)
        assert summary(told) == INVALID
        assert told.fields == {"id": "is missing; give the id or the name of a template"}


async def test_lists_are_filtered_by_name_ordered_by_age_and_leave_the_data_out(resources: Resources) -> None:
    for name in ("b_2", "a-1", "B-2", "bx2"):
        await create(resources, name)
    assert await names(resources) == ["b_2", "a-1", "B-2", "bx2"]
    for pattern, found in (
        ("*", ["b_2", "a-1", "B-2", "bx2"]),
        ("b*", ["b_2", "B-2", "bx2"]),
        ("**2", ["b_2", "B-2", "bx2"]),
        ("b_2", ["b_2"]),
        ("B_2", ["b_2"]),
        ("b%", []),
        ("\\b*", []),
        ("'; DROP TABLE template", []),
        ("*-*", ["a-1", "B-2"]),
        ("b", []),
    ):
        assert await names(resources, pattern) == found, pattern
    listed = [found async for found in resources.template.ListTemplates(pb.ListTemplatesRequest())]
    assert [found.data for found in listed] == [""] * 4
    assert all(found.HasField("created_at") and found.HasField("updated_at") for found in listed)


@pytest.mark.parametrize("pattern", ["x" * 200, "a\x00b", "a\nb"])
async def test_a_filter_that_matches_no_name_is_refused(resources: Resources, pattern: str) -> None:
    told = await refused(resources.template.ListTemplates(pb.ListTemplatesRequest(name=pattern)).read())
    assert summary(told) == INVALID
    assert list(told.fields) == ["name"]


@pytest.mark.slow
async def test_a_template_of_900_kilobytes_is_created_updated_deleted_and_in_its_events_whole(
    resources: Resources,
) -> None:
    line = "#" + "x" * 99 + "\n"
    first, second = yaml(comment=line * 9_000), yaml(image="busybox", comment=line * 9_000)
    created = await create(resources, "", first)
    await resources.template.UpdateTemplate(pb.UpdateTemplateRequest(id=created.id, data=second))
    assert (await get(resources, created.id)).data == second
    await resources.template.DeleteTemplate(pb.DeleteTemplateRequest(id=created.id))
    events = await resources.events()
    assert [event["data"]["data"] for event in events] == [first, second, second]


async def test_a_template_above_one_mebibyte_is_refused(resources: Resources) -> None:
    told = await refused(create(resources, data=yaml(comment="#" + "x" * 1024 * 1024)))
    assert summary(told) == INVALID
    assert list(told.fields) == ["data"]
    assert "1,048,576" in told.fields["data"]


async def test_other_calls_go_on_while_a_template_is_checked(resources: Resources) -> None:
    may_end = asyncio.Event()

    async def wait_and_answer(request: bytes) -> bytes:
        await may_end.wait()
        return await rendering.answer(request)

    resources.children.answer = wait_and_answer
    creation = asyncio.create_task(create(resources, "focal"))
    try:
        assert summary(await refused(get(resources, ID))) == NOT_FOUND
        assert not creation.done()
    finally:
        may_end.set()
    assert (await creation).revision == 1
