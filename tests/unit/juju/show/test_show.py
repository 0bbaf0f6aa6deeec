"""`show-unit`, `show-application` and `machines`, on the fake server."""

import pytest
from unit.juju.stage import JujuLine, Site

from support.unit_agent import Agent
from tinkwell.client import Client, Grant
from tinkwell.core.unit.effect import BagEdit, Effects
from tinkwell.core.unit.kinds import Owner


@pytest.fixture
def deployed(site: Site) -> Site:
    """The application web has two units, pg one; they are related, and pg/0 has told where it is."""

    def tell(grant: Grant) -> Effects:
        assert grant.event.relation is not None
        edit = BagEdit(relation=grant.event.relation.number, owner=Owner.UNIT, edits={"dsn": "pg://0"})
        return Effects(bags=(edit,) if grant.unit == "pg/0" else ())

    async def deploy(client: Client, agent: Agent) -> None:
        agent.handlers["db-relation-joined"] = tell
        await client.applications.deploy("web", site.web, units=2, anywhere=True)
        await client.applications.deploy("pg", site.pg, anywhere=True)
        await agent.run()
        await client.applications.relate("web", "pg")
        await agent.run()

    site.work(deploy)
    return site


def test_a_unit_is_shown_with_its_relations(juju: JujuLine, deployed: Site) -> None:
    found = juju.json("show-unit", "web/0")["web/0"]
    assert (found["charm"], found["leader"], found["life"], found["opened-ports"]) == ("local:web-0", True, "alive", [])
    relations = {each["endpoint"]: each for each in found["relation-info"]}
    database = relations["db"]
    assert (database["related-endpoint"], database["application-data"]) == ("db", {})
    assert database["local-unit"] == {"in-scope": True, "data": {}}
    assert database["related-units"] == {"pg/0": {"in-scope": True, "data": {"dsn": "pg://0"}}}
    assert [*relations["cluster"]["related-units"]] == ["web/1"]


def test_relations_are_chosen_and_made_brief(juju: JujuLine, deployed: Site) -> None:
    def endpoints(*words: str) -> list[str]:
        return [each["endpoint"] for each in juju.json("show-unit", "web/0", *words)["web/0"].get("relation-info", [])]

    assert endpoints("--endpoint", "db") == ["db"]
    assert endpoints("--related-unit", "web/1") == ["cluster"]
    assert endpoints("--related-unit", "pg/7") == []
    (database,) = juju.json("show-unit", "web/0", "--app", "--endpoint", "db")["web/0"]["relation-info"]
    assert {*database} == {"relation-id", "endpoint", "related-endpoint", "application-data"}


def test_an_application_is_shown(juju: JujuLine, deployed: Site) -> None:
    found = juju.json("show-application", "web", "pg")
    assert [*found] == ["web", "pg"]
    assert (found["web"]["charm"], found["web"]["life"], found["web"]["exposed"]) == ("web", "alive", False)
    assert found["web"]["endpoint-bindings"] == {"": "alpha", "db": "alpha", "cluster": "alpha"}


def test_what_is_not_there_is_not_found(juju: JujuLine, deployed: Site) -> None:
    assert juju.fails("show-unit", "web/7") == 'ERROR unit "web/7" not found\n'
    assert juju.fails("show-application", "x") == 'ERROR application "x" not found\n'
    assert juju.fails("show-machine", "x") == "ERROR machine x not found\n"


def test_machines_are_those_of_units(juju: JujuLine, deployed: Site) -> None:
    assert juju.json("machines") == {"machines": {}}
    assert juju.json("show-machine") == {"machines": {}}
