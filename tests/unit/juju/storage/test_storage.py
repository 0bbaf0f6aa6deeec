"""The commands for storage, on the fake server."""

import pytest
from unit.juju.stage import JujuLine, Site

from support.unit_agent import Agent
from tinkwell.client import Client


@pytest.fixture
def web(site: Site) -> Site:
    async def deploy(client: Client, agent: Agent) -> None:
        await client.applications.deploy("web", site.web, units=2, anywhere=True, storage={"data": 1})
        await agent.run()

    site.work(deploy)
    return site


def owners(juju: JujuLine) -> dict[str, str]:
    """Return who has which storage; empty where nobody has."""
    found = juju.json("storage")["storage"]
    return {name: "".join(each.get("attachments", {}).get("units", {})) for name, each in found.items()}


def test_storage_is_listed_and_shown(juju: JujuLine, web: Site) -> None:
    found = juju.json("storage")
    assert (found["filesystems"], found["volumes"]) == ({}, {})
    first, second = found["storage"]
    assert owners(juju) == {first: "web/0", second: "web/1"}
    shown = juju.json("show-storage", second)
    assert [*shown] == [second]
    assert (shown[second]["kind"], shown[second]["status"]["current"]) == ("filesystem", "attached")
    header, row, _ = juju.ok("storage").splitlines()
    assert header.split() == ["Unit", "Storage", "ID", "Type", "Machine", "Status", "Message"]
    assert row.split() == ["web/0", first, "filesystem", "attached"]


def test_storage_is_added_and_detached(juju: JujuLine, web: Site) -> None:
    assert juju.notes("add-storage", "web/0", "data=1G,2").count("added storage data/") == 2
    web.run()
    assert [*owners(juju).values()].count("web/0") == 3
    name = next(each for each, owner in owners(juju).items() if owner == "web/0")
    assert juju.notes("detach-storage", name) == f"detaching {name}\n"
    web.run()
    # A unit on no machine leaves nothing behind that another one could have.
    assert name not in owners(juju)
    assert f'storage "{name}" not found' in juju.fails("attach-storage", "web/1", name)
    assert f'storage "{name}" not found' in juju.fails("remove-storage", name)


def test_nothing_is_said_of_no_storage(juju: JujuLine) -> None:
    assert juju.ok("storage") == "No storage to display.\n"


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (("storage", "--volume"), "--volume: there is no block storage", 2),
        (("show-storage", "data/9"), 'storage "data/9" not found', 1),
        (("attach-storage", "web/0", "data"), 'storage ID "data" not valid; write one such as data/0', 2),
        (
            ("add-storage", "web/0", "data=ebs,1G"),
            'storage directive "data=ebs,1G" not valid: there are no pools',
            2,
        ),
        (("add-storage", "web/0", "dat"), "no storage dat", 1),
        (("detach-storage", "--force", "data/0"), "--force: ", 2),
        (("remove-storage", "--force", "data/0"), "--force: a storage that a unit has is detached first", 2),
        (("remove-storage", "--no-destroy", "data/0"), "--no-destroy: ", 2),
    ],
)
def test_what_cannot_be_done_is_told(
    juju: JujuLine, web: Site, words: tuple[str, ...], sentence: str, code: int
) -> None:
    assert sentence in juju.fails(*words, code=code)
