"""Templates through the client."""

import pytest

from tinkwell.client import Client, errors, testing

YAML = """\
version: "0.1"
name: ubuntu
global_timeout: 600
tasks:
  - name: provision
    worker: "{{.device_1}}"
    actions:
      - name: write
        image: image2disk
        timeout: 60
"""


async def test_a_created_template_is_found_by_id_and_by_the_name_in_its_yaml(client: Client) -> None:
    created = await client.templates.create(YAML)
    found = await client.templates.get(id=created.id)
    assert (found.name, found.data, found.version, created.revision) == ("ubuntu", YAML, 1, 1)
    assert await client.templates.get(name="ubuntu") == found


async def test_a_creation_without_an_id_gets_one_so_that_it_can_be_repeated(
    server: testing.FakeServer, client: Client
) -> None:
    created = await client.templates.create(YAML)
    again = await client.templates.create(YAML, id=created.id)
    (first, _) = server.requests("CreateTemplate")
    assert first.id == created.id == again.id
    assert len(server.log.events) == 1


async def test_a_list_leaves_the_data_out_and_filters_by_name(client: Client) -> None:
    await client.templates.create(YAML, name="Ubuntu-22")
    await client.templates.create(YAML, name="debian")
    assert [(each.name, each.data) async for each in client.templates.list()] == [("Ubuntu-22", None), ("debian", None)]
    assert [each.name async for each in client.templates.list("ubuntu*")] == ["Ubuntu-22"]


async def test_an_update_changes_what_is_given_and_may_expect_a_version(client: Client) -> None:
    created = await client.templates.create(YAML)
    change = await client.templates.update(created.id, name="noble", expected_version=1)
    assert (change.revision, change.version) == (2, 2)
    assert (await client.templates.get(name="noble")).data == YAML
    with pytest.raises(errors.LostRace):
        await client.templates.update(created.id, data=YAML, expected_version=1)


async def test_a_deleted_template_is_gone(client: Client) -> None:
    created = await client.templates.create(YAML)
    assert (await client.templates.delete(name="ubuntu")).revision == 2
    with pytest.raises(errors.NotFound):
        await client.templates.get(id=created.id)


async def test_a_name_that_is_taken_is_an_error(client: Client) -> None:
    await client.templates.create(YAML)
    with pytest.raises(errors.AlreadyExists):
        await client.templates.create(YAML)


async def test_a_text_that_is_no_template_is_refused_with_its_place(client: Client) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        await client.templates.create("name: [")
    assert caught.value.violations[0].field.startswith("data")
    assert "line 1" in caught.value.violations[0].description


@pytest.mark.parametrize("which", [{}, {"id": "t1", "name": "ubuntu"}])
async def test_a_template_is_named_in_exactly_one_way(client: Client, which: dict[str, str]) -> None:
    with pytest.raises(errors.InvalidField, match="id or name"):
        await client.templates.get(**which)
    with pytest.raises(errors.InvalidField, match="id or name"):
        await client.templates.delete(**which)
