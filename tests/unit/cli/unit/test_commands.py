"""The commands for units, charms and namespaces."""

import json
from pathlib import Path

from unit.cli.unit.conftest import Site

from support import tiny_charm
from support.unit_agent import Agent
from tinkwell.client import Client, Grant, UnitLogLine
from tinkwell.core.unit import notice
from tinkwell.core.unit.effect import Effects, Notice


def test_units_are_listed_and_shown(deployed: Site) -> None:
    rows = deployed.cli.ok("unit", "list", "web").splitlines()
    assert [row.split()[0] for row in rows] == ["UNIT", "web/0", "web/1"]
    shown = dict(line.split(maxsplit=1) for line in deployed.cli.ok("unit", "status", "web/0").splitlines())
    assert (shown["UNIT"], shown["PHASE"], shown["LEADER"], shown["MACHINE"]) == (
        "web/0",
        "operation",
        "yes",
        "anywhere",
    )
    assert deployed.cli.fails("unit", "status", "web/7") == "Error: unit web/7 does not exist\n"
    assert "is not the name of a unit" in deployed.cli.fails("unit", "status", "web", code=2)


def test_units_are_added_and_removed(deployed: Site) -> None:
    assert deployed.cli.ok("unit", "add", "web", "2", "--to", "anywhere") == "web/2\nweb/3\n"
    assert deployed.cli.ok("unit", "remove", "web/2", "web/3", "--force") == (
        "web/2: is being removed\nweb/3: is being removed\n"
    )
    assert [each["name"] for each in deployed.cli.json("unit", "list", "web")] == ["web/0", "web/1"]
    assert "--grace goes with --force" in deployed.cli.fails("unit", "remove", "web/0", "--grace", "5s", code=2)


def test_events_are_listed_in_their_order(deployed: Site) -> None:
    header, *rows = deployed.cli.ok("unit", "events", "pg/0").splitlines()
    assert header.split() == ["ORDINAL", "EVENT", "STATE", "ATTEMPT", "STARTED", "SECONDS", "MESSAGE"]
    assert [row.split()[:3] for row in rows[:2]] == [
        ["1", "install", "COMMITTED"],
        ["2", "leader-elected", "COMMITTED"],
    ]
    assert "db-relation-joined (web/0)" in "".join(rows)
    joined = deployed.cli.json("unit", "events", "pg/0", "--kind", "relation-joined")
    assert [each["relation"]["unit"] for each in joined] == ["web/0", "web/1"]
    assert len(deployed.cli.json("unit", "events", "pg/0", "--limit", "1")) == 1
    assert "is none of" in deployed.cli.fails("unit", "events", "pg/0", "--kind", "reboot")


def test_a_failure_is_explained_and_resolved(deployed: Site) -> None:
    deployed.cli.ok("app", "config", "web", "title=second")
    deployed.fail("config-changed", "exit 1")
    first, *rest = deployed.cli.ok("unit", "explain", "web/0").splitlines()
    assert first.startswith("web/0 #")
    assert first.endswith("config-changed failed once: exit 1")
    assert "  go on  tinkwell unit resolve web/0 retries the event; add --skip to skip it" in rest
    assert "is skipped" in deployed.cli.ok("unit", "resolve", "web/0", "--skip")
    assert "is retried" in deployed.cli.ok("unit", "resolve", "web/1")
    assert ("web/1", "config-changed") in deployed.run()
    assert deployed.cli.json("unit", "explain", "web/0")["unit"]["name"] == "web/0"


def test_deferred_events_are_listed_and_named_in_explanations(deployed: Site) -> None:
    def defer(grant: Grant) -> Effects:
        event = grant.event
        return Effects(deferred=(Notice(ordinal=event.ordinal, handler="database", event=notice.write(event.told)),))

    async def act(client: Client, agent: Agent) -> None:
        agent.handlers["config-changed"] = defer
        await client.applications.set_config("web", {"title": "x"})
        await agent.run()

    deployed.work(act)
    header, row = deployed.cli.ok("unit", "deferred", "web/0").splitlines()
    assert header.split() == ["EVENT", "HANDLER", "AGE", "ATTEMPTS"]
    assert row.split()[0] == "config-changed"
    assert row.split()[2:] == ["database", "0s", "1"]
    assert "behind  deferred: 1 (config-changed #" in deployed.cli.ok("unit", "explain", "web/0")


def test_logs_have_the_unit_and_the_event_before_each_line(deployed: Site) -> None:
    async def act(client: Client, agent: Agent) -> None:
        unit = await client.applications.unit("web/0")
        lines = [UnitLogLine(1, 1, 1, "begun"), UnitLogLine(1, 1, 2, "\x1b[31mred", "STDERR")]
        await client.units.append_logs(agent.token, unit.id, lines)

    deployed.work(act)
    assert deployed.cli.ok("unit", "logs", "web") == (
        "web/0 install INFO | begun\nweb/0 install STDERR | \x1b[31mred\n"
    )
    printed = deployed.cli.ok("unit", "logs", "web/0", "--limit", "1", "-o", "jsonl")
    assert json.loads(printed)["text"] == "\x1b[31mred"


def test_an_audit_finds_nothing_wrong_with_what_has_happened(deployed: Site) -> None:
    deployed.cli.ok("unit", "remove", "web/1")
    deployed.run()
    assert "rules checked on 3 units" in deployed.cli.ok("unit", "audit")
    report = deployed.cli.json("unit", "audit", "web")
    assert (report["units"], report["violations"], report["whole"]) == (2, [], True)
    assert "rules checked on 1 unit and " in deployed.cli.ok("unit", "audit", "pg/0")
    assert deployed.cli.fails("unit", "audit", "pg/0", "nope/9") == (
        "Error: the log has no events of nope/9 in namespace default\n"
    )


def test_an_audit_convicts_an_order_that_may_not_be(deployed: Site) -> None:
    def forge(fake: object) -> None:
        log = deployed.cli.fake.log
        wanted = [each for each in log.events if each.data.get("kind") == "start" and each.data["state"] == "COMMITTED"]
        log.events.remove(wanted[0])

    deployed.cli.do(forge)
    said = deployed.cli.run("unit", "audit")
    assert said.exit_code == 1
    assert "Error: I" in said.stderr


def test_requests_reach_the_unit(deployed: Site) -> None:
    for command in ("prepare-upgrade", "finish-upgrade", "collect-metrics"):
        assert deployed.cli.ok("unit", command, "pg/0") == "pg/0: the event was requested\n"
        deployed.run()
    events = [each["kind"] for each in deployed.cli.json("unit", "events", "pg/0")]
    assert events[-3:] == ["pre-series-upgrade", "post-series-upgrade", "collect-metrics"]


def test_storage_is_attached_and_detached(deployed: Site) -> None:
    assert deployed.cli.ok("unit", "attach", "web/0", "data") == "web/0: data/0 is being attached\n"
    deployed.run()
    assert deployed.cli.json("unit", "status", "web/0")["storage"] == ["data/0"]
    refused = deployed.cli.fails("unit", "remove-storage", "data/0")
    assert "unit web/0 has it; detach it first" in refused
    assert "data/0: is being detached" in deployed.cli.ok("unit", "detach", "data/0")


def test_a_charm_is_inspected_without_a_server_and_pushed(site: Site) -> None:
    shown = site.cli.json("charm", "inspect", site.web)
    assert (shown["name"], shown["requires"]) == ("web", {"db": {"interface": "sql"}})
    pushed = site.cli.ok("charm", "push", site.web)
    assert pushed == f"web  {shown['digest']}\n"
    assert [each["digest"] for each in site.cli.json("charm", "list", "--name", "web")] == [shown["digest"]]
    site.cli.ok("app", "deploy", "web", shown["digest"], "--to", "anywhere")
    (Path(site.web) / "charm.yaml").write_text("nam: web\n")
    assert f"{site.web}: charm.yaml" in site.cli.fails("charm", "inspect", site.web)


def test_actions_and_resources_of_a_charm_are_inspected(site: Site, tmp_path: Path) -> None:
    keeper, page = Path(tiny_charm.__file__).parent / "keeper_of_ops", tmp_path / "page"
    page.write_text("hello")
    shown = site.cli.json("charm", "inspect", str(keeper), "--resource", f"page={page}")
    assert (shown["kind"], shown["profile"]) == ("ops", "juju")
    assert shown["actions"] == {
        "kept": {"description": "Tell what is kept.", "params": {"prefix": {"type": "string", "default": ""}}}
    }
    assert shown["resources"] == {"page": {"type": "file", "filename": "page.txt", "description": "What it shows."}}
    # Without its file it is another charm, and says so.
    without = site.cli.run("charm", "inspect", str(keeper))
    assert "resources.page is not in the package" in without.stderr
    assert shown["digest"] not in without.stdout
    assert "has no such resource" in site.cli.fails("charm", "inspect", str(keeper), "--resource", f"pages={page}")


def test_what_of_a_charm_is_not_used_is_a_warning(site: Site) -> None:
    manifest = Path(site.pg) / "charm.yaml"
    manifest.write_text(manifest.read_text() + "colour: red\n")
    result = site.cli.run("charm", "push", site.pg)
    assert result.exit_code == 0
    assert "Warning: " in result.stderr


def test_namespaces_are_set_and_shown(site: Site) -> None:
    site.cli.ok("namespace", "set", "staging", "--update-status", "1m", "--no-retry")
    (header, row) = site.cli.ok("namespace", "get", "staging").splitlines()
    assert header.split() == ["NAME", "UPDATE", "STATUS", "EVENT", "TIMEOUT", "RETRY", "CREATED"]
    assert row.split()[:4] == ["staging", "1m00s", "1h00m", "no"]
    assert [each["name"] for each in site.cli.json("namespace", "list")] == ["staging"]
    assert site.cli.fails("namespace", "get") == "Error: namespace default does not exist\n"
