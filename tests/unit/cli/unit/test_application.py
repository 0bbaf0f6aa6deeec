"""The commands for applications."""

import json
import threading
from pathlib import Path

import pytest
from unit.cli.unit.conftest import Site

import tinkwell.client


def test_the_status_shows_applications_units_and_relations(deployed: Site) -> None:
    applications, units, relations = deployed.cli.ok("app", "status", "web").split("\n\n")
    header, row = applications.splitlines()
    assert header.split() == ["APPLICATION", "CHARM", "UNITS", "STATUS", "MESSAGE", "LEADER"]
    assert row.split() == ["web", "web", "2", "waiting", "-", "web/0"]
    header, first, second = units.splitlines()
    assert header.split() == ["UNIT", "MACHINE", "PHASE", "EVENT", "STATUS", "MESSAGE"]
    assert first.split()[:5] == ["web/0", "anywhere", "operation", "-", "waiting"]
    assert second.split()[0] == "web/1"
    _, peer, other = relations.splitlines()
    assert peer.split() == ["1", "web", "web:cluster", "alive"]
    assert other.split() == ["2", "sql", "pg:db", "web:db", "alive"]


def test_the_status_of_a_failure_says_why_and_where_to_look(deployed: Site) -> None:
    deployed.cli.ok("app", "config", "web", "title=second")
    deployed.fail("config-changed", "exit 1")
    _, units, _ = deployed.cli.ok("app", "status", "web").split("\n\n")
    assert "config-changed" in units
    assert "error   exit 1, again in " in units
    assert "see tinkwell unit explain web/0" in units


def test_machines_are_named_by_their_hostnames_and_addresses(site: Site) -> None:
    machine = {
        "id": "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11",
        "network": {"interfaces": [{"dhcp": {"mac": "52:54:00:10:00:03", "hostname": "rack1-node03"}}]},
    }
    site.cli.ok("hardware", "push", "-", stdin=json.dumps(machine))
    said = site.cli.ok("app", "deploy", "web", site.web, "--to", "rack1-node03").splitlines()[-1]
    assert said.startswith(f"web/0 waits for an agent of machine {machine['id']}; start tinkwell provisioner")
    site.cli.ok("unit", "add", "web", "--to", "52:54:00:10:00:03")
    _, units, *_ = site.cli.ok("app", "status", "web").split("\n\n")
    _, *rows = units.splitlines()
    assert [row.split()[:2] for row in rows] == [["web/0", "rack1-node03"], ["web/1", "rack1-node03"]]
    assert all("waits for an agent of machine rack1-node03" in row for row in rows)
    assert site.cli.json("unit", "status", "web/1")["machine"] == machine["id"]
    refused = site.cli.fails("unit", "add", "web", "--to", "rack9")
    assert refused.startswith("Error: no machine has the hostname rack9; give its id")


def test_a_deployment_says_what_its_units_wait_for(site: Site) -> None:
    _, said = site.cli.ok("app", "deploy", "web", site.web).splitlines()
    assert said.startswith("web/0 waits for a machine: no agent that is alive takes scripts charms; start ")
    assert "waits for a machine" in site.cli.ok("app", "status", "web")


def test_the_status_as_json_has_all_parts(deployed: Site) -> None:
    found = deployed.cli.json("app", "status")
    assert {key: len(part) for key, part in found.items()} == {"applications": 2, "units": 3, "relations": 2}


def test_applications_are_listed_by_namespace(deployed: Site) -> None:
    deployed.cli.ok("app", "deploy", "pg", deployed.pg, "-n", "staging", "--to", "anywhere")
    rows = [line.split()[:2] for line in deployed.cli.ok("app", "list").splitlines()[1:]]
    assert rows == [["default", "pg"], ["default", "web"], ["staging", "pg"]]
    assert [each["name"] for each in deployed.cli.json("app", "list", "-n", "staging")] == ["pg"]


def test_options_are_shown_with_where_they_are_from(deployed: Site) -> None:
    header, title, workers = sorted(deployed.cli.ok("app", "config", "web").splitlines())
    assert header.split() == ["OPTION", "VALUE", "SOURCE", "TYPE", "DESCRIPTION"]
    assert title.split()[:4] == ["title", "first", "set", "string"]
    assert workers.split()[:4] == ["workers", "2", "default", "int"]


def test_options_are_set_and_reset(deployed: Site, tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text("workers: 4\ntitle: from a file\n")
    set_to = deployed.cli.json("app", "config", "web", "title=here", "--file", str(file))
    assert set_to == {"title": "here", "workers": 4}
    assert deployed.cli.json("app", "config", "web", "--reset", "title") == {"workers": 4}
    assert "config.size" in deployed.cli.fails("app", "config", "web", "size=1")
    assert "is not NAME=VALUE" in deployed.cli.fails("app", "config", "web", "size", code=2)
    file.write_text("- 1\n")
    assert "must hold one object" in deployed.cli.fails("app", "config", "web", "--file", str(file))


def test_an_application_is_scaled_up_and_down(deployed: Site) -> None:
    assert deployed.cli.ok("app", "scale", "web", "3", "--to", "anywhere") == "web: web/2 added\n"
    deployed.run()
    assert deployed.cli.ok("app", "scale", "web", "1") == "web: web/2 is being removed\nweb: web/1 is being removed\n"
    deployed.run()
    assert [each["name"] for each in deployed.cli.json("unit", "list", "web")] == ["web/0"]
    assert "application other does not exist" in deployed.cli.fails("app", "scale", "other", "1")


def test_an_application_is_removed_with_its_relations(deployed: Site) -> None:
    assert deployed.cli.ok("app", "remove", "web") == "web: is being removed\n"
    deployed.run()
    assert [each["name"] for each in deployed.cli.json("app", "list")] == ["pg"]
    assert "application web does not exist" in deployed.cli.fails("app", "status", "web")


def test_relations_are_made_and_ended(deployed: Site) -> None:
    assert deployed.cli.ok("app", "unrelate", "web:db", "pg") == "relation 2: pg:db web:db is ending\n"
    deployed.run()
    assert deployed.cli.ok("app", "relate", "pg", "web") == "relation 3: pg:db web:db related\n"
    assert "is not related to itself" in deployed.cli.fails("app", "relate", "pg", "pg:db")
    assert deployed.cli.fails("app", "relate", "web", "mysql") == "Error: application mysql does not exist\n"


def test_an_upgrade_gives_the_units_another_charm(deployed: Site) -> None:
    manifest = Path(deployed.web) / "charm.yaml"
    manifest.write_text(manifest.read_text().replace("Serves a page", "Serves two"))
    assert deployed.cli.ok("app", "upgrade", "web", deployed.web).startswith("web  web  sha256:")
    assert ("web/0", "upgrade-charm") in deployed.run()
    options = Path(deployed.web).parent / "options.yaml"
    options.write_text("workers: 7\n")
    deployed.cli.ok("app", "upgrade", "web", deployed.web, "--config-file", str(options), "--config", "title=b")
    assert deployed.cli.json("app", "config", "web") == {"title": "b", "workers": 7}
    manifest.write_text("name: web\n")
    said = deployed.cli.fails("app", "upgrade", "web", deployed.web)
    assert said.startswith(f"Error: {deployed.web}: ")
    assert "cluster" in said


def test_a_charm_that_is_wrong_is_refused_with_its_file(site: Site) -> None:
    (Path(site.web) / "charm.yaml").write_text("name: web\ncontainers: {web: {}}\n")
    said = site.cli.fails("app", "deploy", "web", site.web)
    assert f"{site.web}: charm.yaml" in said
    assert "there is no such charm" in site.cli.fails("app", "deploy", "web", "./nothing")
    assert "is not the name of an application" in site.cli.fails("app", "deploy", "web/0", site.pg, code=2)
    assert "give it alone" in site.cli.fails("app", "deploy", "pg", site.pg, "--to", "anywhere", "--to", "x", code=2)


def test_to_wait_is_to_wait_until_nothing_is_due(site: Site) -> None:
    # On a busy machine the agent may look before there is anything to run, and looks again then.
    running = threading.Thread(target=lambda: next(filter(None, (site.run() for _ in range(1_000))), None))
    running.start()
    try:
        site.cli.ok("app", "deploy", "pg", site.pg, "--to", "anywhere", "--wait", "--timeout", "20s")
    finally:
        running.join()
    assert site.cli.json("unit", "status", "pg/0")["phase"] == "OPERATION"


def test_a_wait_ends_with_the_event_that_has_failed(site: Site) -> None:
    site.cli.ok("app", "deploy", "pg", site.pg, "--to", "anywhere")
    site.fail("install", "exit 2")
    said = site.cli.fails("app", "config", "pg", "--reset", "x", "--wait")
    assert "config.x" in said
    said = site.cli.fails("unit", "add", "pg", "--to", "anywhere", "--wait")
    assert "pg/0 #1 install failed once: exit 2; tinkwell unit explain says more" in said


def test_a_wait_that_is_too_long_says_where_to_look(site: Site) -> None:
    said = site.cli.fails("app", "deploy", "pg", site.pg, "--to", "anywhere", "--wait", "--timeout", "100ms")
    assert "pg not settled within 0s; tinkwell app status pg shows why" in said
    assert "--timeout goes with --wait" in site.cli.fails("app", "remove", "pg", "--timeout", "1s", code=2)


def test_who_waits_for_active_units_is_told_which_ones_are_not(deployed: Site) -> None:
    assert deployed.cli.ok("app", "wait", "web", "pg") == "web and pg: settled\n"
    said = deployed.cli.fails("app", "wait", "pg", "--active", "--timeout", "100ms")
    assert said == "Error: pg not active within 0s\nError: pg/0 is waiting\n"
    deployed.say("pg/0", "active")
    assert deployed.cli.ok("app", "wait", "pg", "--active") == "pg: active\n"
    deployed.say("web/1", "waiting", "for a disk")
    said = deployed.cli.fails("app", "wait", "pg", "web", "--active", "--timeout", "100ms")
    assert "web/1 is waiting: for a disk" in said
    assert "pg/0" not in said
    assert "application other does not exist" in deployed.cli.fails("app", "wait", "other")


def test_who_waits_is_told_nothing_of_applications_that_go_meanwhile(
    deployed: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = tinkwell.client.ApplicationClient.get

    async def get(self: tinkwell.client.ApplicationClient, name: str, **where: str) -> tinkwell.client.Application:
        if name == "web":  # its units were seen just now
            raise tinkwell.client.errors.NotFound("application web does not exist")
        return await find(self, name, **where)

    async def never(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(tinkwell.client.ApplicationClient, "get", get)
    monkeypatch.setattr(tinkwell.client.ApplicationClient, "active", never)
    said = deployed.cli.fails("app", "wait", "web", "pg", "--active", "--timeout", "100ms")
    assert said == "Error: web and pg not active within 0s\nError: pg/0 is waiting\n"


def test_who_waits_is_told_of_units_that_run_the_former_charm(deployed: Site) -> None:
    deployed.say("pg/0", "active")
    manifest = Path(deployed.pg) / "charm.yaml"
    manifest.write_text(manifest.read_text() + "summary: Another one\n")
    deployed.cli.ok("app", "upgrade", "pg", deployed.pg)
    said = deployed.cli.fails("app", "wait", "pg", "--active", "--timeout", "100ms")
    digest = deployed.cli.json("app", "status", "pg")["applications"][0]["charm"]
    assert f"pg/0 does not run {digest} yet; does its agent have that charm?" in said


def test_who_waits_is_told_of_what_has_failed_and_of_what_runs(site: Site) -> None:
    site.cli.ok("app", "deploy", "pg", site.pg, "--to", "anywhere")
    said = site.cli.fails("app", "wait", "pg", "--timeout", "100ms")
    assert "pg/0 is waiting: waits for an agent that takes scripts charms anywhere" in said
    site.fail("install", "exit 2")
    assert "pg/0 #1 install failed once: exit 2" in site.cli.fails("app", "wait", "pg")


def test_a_watch_shows_what_belongs_to_an_application(deployed: Site) -> None:
    lines = deployed.cli.ok("app", "watch", "pg", "--count", "3").splitlines()
    assert "pg" in lines[0]
    assert len(lines) == 3
    assert len(deployed.cli.ok("unit", "watch", "web/0", "--count", "2").splitlines()) == 2
