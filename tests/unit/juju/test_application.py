"""Applications: deployed, configured, related, scaled, refreshed and removed."""

from pathlib import Path

import pytest
from unit.juju.stage import JujuLine, Site

from support.unit_agent import PG, Agent, charm
from tinkwell.client import Client
from tinkwell.core.unit.kinds import Profile


def units(juju: JujuLine, application: str) -> list[str]:
    return sorted(juju.json("status")["applications"][application]["units"])


def test_a_charm_of_this_machine_is_deployed_under_its_name_or_another_one(site: Site) -> None:
    assert site.juju.notes("deploy", site.web) == 'Deploying "web" from local charm "web"\n'
    site.juju.ok("deploy", site.web, "other", "--num-units", "0")
    assert (units(site.juju, "web"), units(site.juju, "other")) == (["web/0"], [])
    refused = site.juju.fails("deploy", site.web)
    assert refused == 'ERROR cannot add application "web": application already exists\n'


def test_a_package_is_deployed_as_its_folder_is(site: Site, tmp_path: Path) -> None:
    package = tmp_path / "pg.charm"
    package.write_bytes(charm(PG))
    site.juju.ok("deploy", str(package), "database")
    assert site.juju.json("status")["applications"]["database"]["charm-name"] == "pg"


def test_the_events_of_a_charm_have_jujus_order(site: Site) -> None:
    site.juju.ok("deploy", site.web)

    async def profile(client: Client, _: Agent) -> Profile:
        return (await client.applications.get("web")).profile

    assert site.work(profile) is Profile.JUJU


def test_a_charm_of_charmhub_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = site.juju.fails("deploy", "postgresql")
    assert refused == (
        'ERROR charm "postgresql" is one of Charmhub, which Tinkwell does not ask: give the path of a folder or of a '
        "package, such as ./postgresql.charm\n"
    )
    monkeypatch.chdir(Path(site.web).parent)
    assert site.juju.fails("deploy", "web").endswith('; run "juju deploy ./web" for the local one\n')
    site.juju.ok("deploy", "./web")
    assert site.juju.fails("deploy", "./gone") == "ERROR no charm was found at ./gone\n"


def test_a_charm_that_is_none_is_refused_with_each_mistake(juju: JujuLine, tmp_path: Path) -> None:
    (tmp_path / "charm.yaml").write_text("name: web\ncontainers: {web: {}}\n")
    assert juju.fails("deploy", str(tmp_path)).startswith(f"ERROR {tmp_path}: charm.yaml.containers: ")


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (("--constraints", "mem=4G"), "--constraints is not supported: Tinkwell makes no machines"),
        (("--bind", "alpha"), "--bind is not supported: Tinkwell has no spaces"),
        (("--revision", "4"), "--revision is not supported: it is for charms of Charmhub"),
        (("--overlay", "x.yaml"), "--overlay is not supported: Tinkwell deploys no bundles"),
        (("--attach-storage", "data/0"), "--attach-storage is not supported: attach the storage to the existing unit"),
        (("--storage", "data=ebs,1G"), "storage data: there is no pool ebs"),
        (("--to", "anywhere,0"), "--to anywhere is for all units at once"),
    ],
)
def test_what_would_be_taken_for_done_is_refused(site: Site, option: tuple[str, ...], sentence: str) -> None:
    result = site.juju.run("deploy", site.web, *option)
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith(f"ERROR {sentence}")


def test_what_says_nothing_about_a_local_charm_has_no_effect(site: Site) -> None:
    said = site.juju.notes("deploy", site.web, "--base", "ubuntu@24.04", "--channel", "edge", "--trust", "--force")
    assert [line.partition(" has no effect")[0] for line in said.splitlines()[:-1]] == [
        "--base",
        "--channel",
        "--trust",
    ]


def test_an_application_is_configured_when_it_is_deployed_by_values_and_files(site: Site, tmp_path: Path) -> None:
    (tmp_path / "options.yaml").write_text("web:\n  workers: 4\n  title: of the file\n")
    (tmp_path / "title").write_text("of its own file")
    options, title = str(tmp_path / "options.yaml"), f"title=@{tmp_path / 'title'}"
    site.juju.ok("deploy", site.web, "--config", options, "--config", title)
    found = site.juju.json("config", "web")["settings"]
    assert (found["workers"]["value"], found["title"]["value"]) == (4, "of its own file")


def test_options_are_shown_as_programs_read_them(deployed: Site) -> None:
    found = deployed.juju.json("config", "web")
    assert (found["application"], found["charm"]) == ("web", "web")
    assert found["settings"] == {
        "title": {"description": "", "source": "user", "type": "string", "value": "first"},
        "workers": {"default": 2, "description": "", "source": "default", "type": "int", "value": 2},
    }
    assert found["application-config"]["trust"]["value"] is False


def test_options_are_set_and_given_back(deployed: Site, tmp_path: Path) -> None:
    juju = deployed.juju
    juju.ok("config", "web", "workers=3", "title=a=b")
    assert (juju.ok("config", "web", "workers"), juju.ok("config", "web", "title")) == ("3\n", "a=b\n")
    juju.ok("config", "web", "workers=5", "--reset", "title")
    assert (juju.ok("config", "web", "workers"), juju.ok("config", "web", "title")) == ("5\n", "\n")
    (tmp_path / "options.yaml").write_text("workers: 7\n")
    juju.ok("config", "web", "--file", str(tmp_path / "options.yaml"))
    assert juju.json("config", "web", "workers") == 7
    juju.ok("config", "web", "--reset", "workers,title")
    assert juju.json("config", "web")["settings"]["title"]["source"] == "unset"


def test_what_is_wrong_with_options_is_said(deployed: Site) -> None:
    juju = deployed.juju
    unknown = juju.fails("config", "web", "colour")
    assert unknown == 'ERROR key "colour" not found in "web" application config or charm settings.\n'
    assert "the charm has no such option" in juju.fails("config", "web", "colour=red")
    assert "must be a whole number" in juju.fails("config", "web", "workers=many")
    both = juju.fails("config", "web", "workers=1", "--reset", "workers", code=2)
    assert both == "ERROR cannot set and reset key 'workers' simultaneously\n"
    assert juju.fails("config", "gone") == 'ERROR application "gone" not found\n'
    assert juju.fails("config", "web", "a", "b", code=2) == "ERROR can only retrieve a single value, got 2\n"


def test_a_relation_that_is_there_already_is_refused(deployed: Site) -> None:
    refused = deployed.juju.fails("integrate", "web:db", "pg:db")
    assert refused == 'ERROR cannot add relation "web:db pg:db": relation web:db pg:db already exists\n'


def test_a_relation_that_cannot_be_is_refused(deployed: Site) -> None:
    assert deployed.juju.fails("integrate", "web:cluster", "pg").startswith("ERROR no relations found: ")
    assert deployed.juju.fails("relate", "web", "gone") == 'ERROR application "gone" not found\n'
    assert deployed.juju.fails("integrate", "web", "pg", "--via", "10.0.0.0/8").startswith("ERROR --via is not ")


@pytest.mark.parametrize("ends", [("web", "pg"), ("web:db", "pg:db"), ("2",)])
def test_a_relation_is_removed_by_its_ends_or_its_number(deployed: Site, ends: tuple[str, ...]) -> None:
    deployed.juju.ok("remove-relation", *ends)
    deployed.run()
    assert list(deployed.juju.json("status")["applications"]["web"]["relations"]) == ["cluster"]
    assert "not found" in deployed.juju.fails("remove-relation", *ends)


def test_units_are_added_and_removed(deployed: Site) -> None:
    juju = deployed.juju
    juju.ok("add-unit", "web", "-n", "2")
    assert units(juju, "web") == ["web/0", "web/1", "web/2", "web/3"]
    deployed.run()
    assert juju.notes("remove-unit", "--no-prompt", "web/0") == "will remove unit web/0\n"
    juju.ok("remove-unit", "--no-prompt", "web", "--num-units", "2")
    deployed.run()
    assert units(juju, "web") == ["web/1"]
    assert juju.fails("remove-unit", "--no-prompt", "web", code=2).startswith('ERROR invalid unit name "web"')
    assert juju.fails("remove-unit", "--no-prompt", "web/9") == 'will remove unit web/9\nERROR unit "web/9" not found\n'
    assert juju.fails("remove-unit", "--no-wait", "web/1", code=2) == "ERROR --no-wait without --force not valid\n"


def test_applications_are_removed_by_who_is_sure(deployed: Site) -> None:
    assert deployed.juju.fails("remove-application", "web", stdin="n\n").endswith("ERROR aborted\n")
    said = deployed.juju.notes("remove-application", "--no-prompt", "web", "pg", "--destroy-storage")
    assert said.splitlines()[:3] == [
        "will remove application web",
        "- will remove unit web/0",
        "- will remove unit web/1",
    ]
    deployed.run()
    assert deployed.juju.json("status")["applications"] == {}
    assert deployed.juju.fails("remove-application", "--no-prompt", "web") == 'ERROR application "web" not found\n'


def test_a_removal_by_force_needs_no_agent(deployed: Site) -> None:
    deployed.juju.ok("remove-application", "--no-prompt", "web", "pg", "--force", "--no-wait")
    assert deployed.juju.json("status")["applications"] == {}


def test_a_unit_that_was_removed_by_force_is_not_shown_any_more(deployed: Site) -> None:
    deployed.juju.ok("remove-unit", "--no-prompt", "web/0", "--force", "--no-wait")
    assert units(deployed.juju, "web") == ["web/1"]


def test_a_charm_is_refreshed_from_a_path(deployed: Site, tmp_path: Path) -> None:
    juju = deployed.juju
    assert juju.notes("refresh", "pg", "--path", deployed.pg) == 'charm "pg": already up-to-date\n'
    (Path(deployed.pg) / "README").write_text("New")
    assert juju.notes("refresh", "pg", "--path", deployed.pg) == 'Added local charm "pg" to the model\n'
    assert ("pg/0", "upgrade-charm") in deployed.run()
    refused = juju.fails("refresh", "pg", "--channel", "edge")
    assert refused.splitlines()[-1].endswith("give the path of one with --path")
    assert juju.fails("refresh", "gone", "--path", deployed.pg) == 'ERROR application "gone" not found\n'


def test_a_failed_event_is_resolved(deployed: Site) -> None:
    juju = deployed.juju
    juju.ok("config", "web", "title=second")
    deployed.fail("config-changed", "exit 1")
    juju.ok("resolved", "web/0")
    assert ("web/0", "config-changed") in deployed.run()
    juju.ok("resolved", "--all", "--no-retry")
    status = juju.json("status")["applications"]["web"]["units"]
    assert {each["workload-status"]["current"] for each in status.values()} == {"waiting"}
    assert juju.fails("resolved", "web/0").startswith("ERROR ")
    assert juju.fails("resolved", code=2) == "ERROR no unit specified\n"


def test_trust_looks_for_the_application_alone(deployed: Site) -> None:
    assert deployed.juju.notes("trust", "web", "--scope", "cluster").startswith("trust has no effect: ")
    assert deployed.juju.fails("trust", "gone") == 'ERROR application "gone" not found\n'


@pytest.mark.parametrize("command", ["expose", "scp", "offer", "consume", "bootstrap", "add-machine", "wait-for"])
def test_what_is_not_there_says_why(juju: JujuLine, command: str) -> None:
    refused = juju.fails(command, "--anything", "x", code=2)
    assert refused.startswith(f"ERROR juju {command} is not supported: ")
    assert len(refused.splitlines()) == 1
