"""What `status` says of a model."""

import json

import pytest
from unit.juju.stage import JujuLine, Site

from support.unit_agent import Agent
from tinkwell.client import Client, UnitStatus
from tinkwell.core.unit.kinds import STATUS_URGENCY
from tinkwell.server.unit.store.request import application

BLOCKED = UnitStatus("blocked", "no database")
MACHINE = {
    "id": "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11",
    "network": {
        "interfaces": [
            {"dhcp": {"mac": "52:54:00:10:00:03", "hostname": "rack1-node03", "ip": {"address": "10.0.0.3"}}}
        ]
    },
}


def test_a_model_where_nothing_is_has_all_parts_that_programs_read(juju: JujuLine) -> None:
    found = juju.json("status")
    assert found["model"] == {
        "name": "default",
        "type": "iaas",
        "controller": "tinkwell",
        "cloud": "tinkwell",
        "version": "3.6.9",
        "model-status": {"current": "available"},
    }
    assert (found["machines"], found["applications"], found["storage"]["storage"]) == ({}, {}, {})
    assert found["controller"]["timestamp"].endswith("Z")


def test_an_application_is_shown_with_its_units_and_relations(deployed: Site) -> None:
    web = deployed.juju.json("status")["applications"]["web"]
    units = web.pop("units")
    status = web.pop("application-status")
    assert web == {
        "charm": "local:web-0",
        "charm-origin": "local",
        "charm-name": "web",
        "charm-rev": 0,
        "exposed": False,
        "relations": {
            "cluster": [{"related-application": "web", "interface": "web", "scope": "global"}],
            "db": [{"related-application": "pg", "interface": "sql", "scope": "global"}],
        },
        "endpoint-bindings": {"": "alpha", "cluster": "alpha", "db": "alpha"},
    }
    assert status["current"] == "waiting"
    assert {name: each.get("leader") for name, each in units.items()} == {"web/0": True, "web/1": None}
    agent = units["web/0"]["juju-status"]
    assert (agent["current"], agent["version"]) == ("idle", "3.6.9")


def test_a_unit_that_was_not_told_anything_yet_waits(site: Site) -> None:
    site.juju.ok("deploy", site.web)
    found = site.juju.json("status")["applications"]["web"]
    unit = found["units"]["web/0"]
    assert unit["workload-status"]["current"] == "waiting"
    assert unit["workload-status"]["message"] == "waits for an agent that takes scripts charms anywhere"
    assert unit["juju-status"]["current"] == "allocating"
    assert found["application-status"] == unit["workload-status"]


def test_what_a_charm_says_of_itself_is_its_status(site: Site) -> None:
    site.juju.ok("deploy", site.web)

    async def act(client: Client, agent: Agent) -> None:
        await agent.run()
        (unit,) = [each async for each in client.applications.units("web")]
        await client.units.set_status(agent.token, unit.id, status=BLOCKED, workload_version="1.2")

    site.work(act)
    found = site.juju.json("status")["applications"]["web"]
    assert found["version"] == "1.2"
    for each in (found["application-status"], found["units"]["web/0"]["workload-status"]):
        assert (each["current"], each["message"]) == ("blocked", "no database")
        assert each["since"].endswith("Z")


def test_an_application_is_as_urgent_as_the_most_urgent_of_its_units(deployed: Site) -> None:
    async def act(client: Client, agent: Agent) -> None:
        async for unit in client.applications.units("web"):
            said = UnitStatus("waiting", "for pg") if unit.name == "web/0" else UnitStatus("maintenance", "updates")
            await client.units.set_status(agent.token, unit.id, status=said)
        assert (await client.applications.get("web")).status == UnitStatus("maintenance", "updates")

    deployed.work(act)
    status = deployed.juju.json("status")["applications"]["web"]["application-status"]
    assert (status["current"], status["message"]) == ("maintenance", "updates")


def test_the_server_knows_the_same_order_of_urgency() -> None:
    assert f"array_position('{{{','.join(STATUS_URGENCY)}}}'" in application.FIND


def test_a_failed_event_is_an_error_in_jujus_words(deployed: Site) -> None:
    deployed.juju.ok("config", "web", "title=second")
    deployed.fail("config-changed", "exit 1")
    found = deployed.juju.json("status")["applications"]["web"]
    assert found["application-status"]["current"] == "error"
    assert found["units"]["web/0"]["workload-status"]["message"] == 'hook failed: "config-changed"'
    assert found["units"]["web/0"]["juju-status"]["current"] == "idle"


def test_a_failed_event_of_a_relation_names_its_other_end(site: Site) -> None:
    site.juju.ok("deploy", site.web)
    site.juju.ok("deploy", site.pg)
    site.run()
    site.juju.ok("integrate", "web", "pg")
    site.fail("db-relation-created", "exit 1")
    unit = site.juju.json("status")["applications"]["pg"]["units"]["pg/0"]
    assert unit["workload-status"]["message"] == 'hook failed: "db-relation-created" for web:db'


def test_a_unit_that_has_more_to_do_is_not_idle(deployed: Site) -> None:
    deployed.juju.ok("config", "web", "title=second")
    units = deployed.juju.json("status")["applications"]["web"]["units"]
    assert {each["juju-status"]["current"] for each in units.values()} == {"executing"}


def test_machines_are_named_by_their_hostnames(site: Site) -> None:
    async def push(client: Client, _: Agent) -> None:
        await client.hardware.push(MACHINE)

    site.work(push)
    site.juju.ok("deploy", site.web, "--to", "rack1-node03")
    site.juju.ok("add-unit", "web", "--to", "10.0.0.3")
    found = site.juju.json("status")
    machine = found["machines"]["rack1-node03"]
    assert (machine["hostname"], machine["ip-addresses"]) == ("rack1-node03", ["10.0.0.3"])
    assert machine["juju-status"]["current"] == "down"
    assert machine["instance-id"] == MACHINE["id"]
    units = found["applications"]["web"]["units"]
    assert {name: (each["machine"], each["public-address"]) for name, each in units.items()} == {
        "web/0": ("rack1-node03", "10.0.0.3"),
        "web/1": ("rack1-node03", "10.0.0.3"),
    }
    assert site.juju.fails("add-unit", "web", "--to", "rack9").startswith("ERROR machine rack9 not found; give ")


def test_storage_is_shown_with_the_unit_that_has_it(site: Site) -> None:
    site.juju.ok("deploy", site.web, "--storage", "data=1G,2")
    site.run()
    found = site.juju.json("status")["storage"]["storage"]
    assert sorted(found) == ["data/0", "data/1"]
    assert found["data/0"]["kind"] == "filesystem"
    assert found["data/0"]["status"]["current"] == "attached"
    assert found["data/0"]["attachments"] == {"units": {"web/0": {"life": "alive"}}}
    assert found["data/0"]["persistent"] is False


def test_what_is_going_says_so(deployed: Site) -> None:
    deployed.juju.ok("remove-application", "web", "--no-prompt")
    found = deployed.juju.json("status")["applications"]["web"]
    assert found["life"] == "dying"
    assert {each["juju-status"]["life"] for each in found["units"].values()} == {"dying"}


def test_revisions_of_a_charm_are_counted(deployed: Site) -> None:
    assert deployed.juju.json("status")["applications"]["pg"]["charm-rev"] == 0
    other = deployed.juju.folder / "pg"
    other.mkdir()
    (other / "charm.yaml").write_text("name: pg\nsummary: Another one\nprovides:\n  db: {interface: sql}\n")
    deployed.juju.ok("refresh", "pg", "--path", str(other))
    found = deployed.juju.json("status")["applications"]["pg"]
    assert (found["charm-rev"], found["charm"]) == (1, "local:pg-1")


@pytest.mark.parametrize("patterns", [("web",), ("web/1",), ("w*",)])
def test_patterns_choose_applications(deployed: Site, patterns: tuple[str, ...]) -> None:
    assert list(deployed.juju.json("status", *patterns)["applications"]) == ["web"]


def test_people_get_tables(deployed: Site) -> None:
    model, applications, units, relations = deployed.juju.ok("status", "--relations").split("\n\n")
    assert model.splitlines()[1].split()[:4] == ["default", "tinkwell", "tinkwell", "3.6.9"]
    assert applications.splitlines()[1].split() == ["pg", "waiting", "1", "pg", "0"]
    assert units.splitlines()[2].split() == ["web/0*", "waiting", "idle"]
    assert relations.splitlines()[1].split() == ["web:cluster", "web:cluster", "web", "peer"]
    assert relations.splitlines()[2].split() == ["pg:db", "web:db", "sql", "regular"]
    assert deployed.juju.ok("status", "--format", "yaml").startswith("model:\n")


def test_an_empty_model_and_patterns_that_fit_nothing_are_said_to_be_so(juju: JujuLine) -> None:
    assert juju.notes("status") == 'Model "admin/default" is empty.\n'
    assert juju.notes("status", "-q") == ""
    assert juju.notes("status", "web") == "Nothing matched specified filters.\n"


def test_a_model_that_is_not_there_is_not_found(juju: JujuLine) -> None:
    assert juju.fails("status", "-m", "staging") == 'ERROR model "staging" not found\n'
    assert json.loads(juju.ok("status", "-m", "tinkwell:admin/default", "--format", "json"))
