"""Applications, by jubilant: deployed, configured, scaled, refreshed and removed."""

import contextlib
import shutil
from pathlib import Path

import jubilant
import pytest
from integration.juju import stage
from integration.juju.stage import SITE

# Each question starts a process, and each event several; a loaded machine takes minutes for a module.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def site(juju: jubilant.Juju) -> str:
    """An application that was deployed from its source."""
    juju.deploy(SITE, config={"title": "First", "workers": 3}, to="node-1")
    juju.wait(jubilant.all_active, error=jubilant.any_error)
    return "site"


def test_a_charm_is_deployed_from_its_source(juju: jubilant.Juju, site: str) -> None:
    status = juju.status()
    assert status.apps[site].charm_name == "site"
    assert status.apps[site].charm_origin == "local"
    assert stage.message(juju, "site/0") == "First, by 3"


def test_the_status_has_what_units_say_of_themselves(juju: jubilant.Juju, site: str) -> None:
    app = stage.settle(juju, site).apps[site]
    (unit,) = app.units.values()
    assert (app.version, app.is_active, app.exposed, app.life) == ("1.2", True, False, "")
    assert (unit.leader, unit.is_active, unit.open_ports) == (True, True, ["80/tcp"])
    assert (unit.machine, unit.public_address) == ("node-1", "192.168.56.51")
    assert unit.juju_status.current == "idle"
    assert unit.workload_status.since


def test_the_machines_are_those_that_units_are_on(juju: jubilant.Juju, site: str) -> None:
    (machine,) = juju.status().machines.values()
    assert machine.hostname == "node-1"
    assert machine.ip_addresses == ["192.168.56.51"]
    assert machine.juju_status.current == "started"


def test_options_are_read_set_and_reset(juju: jubilant.Juju, site: str) -> None:
    assert juju.config(site) == {"title": "First", "workers": 3, "is-open": True}
    juju.config(site, {"title": "Second", "workers": 5, "is-open": True})
    stage.settle(juju, site)
    assert stage.message(juju, "site/0") == "Second, by 5"
    juju.config(site, {"title": "Third"}, reset=["workers", "is-open"])
    assert juju.config(site) == {"title": "Third", "workers": 2, "is-open": True}


@pytest.mark.parametrize(
    ("option", "value", "text"), [("titel", "x", "titel"), ("workers", "many", "workers"), ("is-open", 7, "is-open")]
)
def test_options_that_the_charm_cannot_take_are_refused(
    juju: jubilant.Juju, site: str, option: str, value: str, text: str
) -> None:
    before = juju.config(site)
    with pytest.raises(jubilant.CLIError) as caught:
        juju.config(site, {option: value})
    assert text in stage.error_of(caught)
    assert juju.config(site) == before


def test_a_blocked_application_is_waited_for(juju: jubilant.Juju, site: str) -> None:
    juju.config(site, {"is-open": False})
    status = stage.wait(juju, lambda status: jubilant.all_blocked(status, site))
    assert status.apps[site].app_status.message == "is closed"
    juju.config(site, reset="is-open")
    stage.wait(juju, lambda status: jubilant.all_active(status, site))


def test_a_failed_hook_is_an_error_and_is_resolved(juju: jubilant.Juju, site: str) -> None:
    juju.config(site, {"title": "broken"})
    with pytest.raises(jubilant.WaitError):
        stage.wait(juju, lambda status: False, error=jubilant.any_error)
    unit = juju.status().apps[site].units["site/0"]
    assert (unit.is_error, unit.workload_status.message) == (True, 'hook failed: "config-changed"')
    juju.config(site, {"title": "Mended"})
    # It may have been tried again by itself since, and then there is nothing to resolve.
    with contextlib.suppress(jubilant.CLIError):
        juju.cli("resolved", "site/0")
    stage.wait(juju, lambda status: jubilant.all_active(status, site))
    assert stage.message(juju, "site/0").startswith("Mended, by ")


def test_what_is_not_waited_for_long_enough_times_out(juju: jubilant.Juju, site: str) -> None:
    with pytest.raises(TimeoutError, match="wait timed out"):
        juju.wait(lambda status: jubilant.all_waiting(status, site), delay=0.1, timeout=0.5)


def test_units_are_added_and_removed(juju: jubilant.Juju, tmp_path: Path) -> None:
    juju.deploy(stage.packed(SITE, tmp_path), "wide", num_units=2)
    stage.wait(juju, lambda status: jubilant.all_active(status, "wide"), error=jubilant.any_error)
    juju.add_unit("wide", num_units=2)
    status = stage.wait(
        juju, lambda status: len(status.apps["wide"].units) == 4 and jubilant.all_active(status, "wide")
    )
    assert sorted(status.apps["wide"].units) == ["wide/0", "wide/1", "wide/2", "wide/3"]
    assert [unit.leader for unit in status.get_units("wide").values()].count(True) == 1
    juju.remove_unit("wide/0", "wide/3")
    status = stage.wait(juju, lambda status: set(status.apps["wide"].units) == {"wide/1", "wide/2"})
    stage.wait(juju, lambda status: any(unit.leader for unit in status.get_units("wide").values()))
    juju.remove_application("wide")
    stage.wait(juju, lambda status: "wide" not in status.apps)


def test_a_unit_is_shown(juju: jubilant.Juju, site: str) -> None:
    unit = juju.show_unit("site/0")
    assert (unit.leader, unit.opened_ports, unit.machine, unit.life) == (True, ["80/tcp"], "node-1", "alive")
    assert (unit.workload_version, unit.charm, unit.address) == ("1.2", "local:site-0", "192.168.56.51")
    with pytest.raises(jubilant.CLIError) as caught:
        juju.show_unit("site/9")
    assert stage.error_of(caught) == 'unit "site/9" not found'


def test_another_revision_of_a_charm_is_run(juju: jubilant.Juju, site: str, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(SITE, newer)
    hook = newer / "hooks" / "config-changed"
    hook.write_text(hook.read_text().replace('active "$title', 'active "New $title'))
    juju.refresh(site, path=newer, config={"title": "Page"})
    stage.wait(juju, lambda status: status.get_units(site)["site/0"].workload_status.message.startswith("New"))
    assert stage.message(juju, "site/0") == "New Page, by 2"


def test_what_cannot_be_deployed_is_refused(juju: jubilant.Juju, site: str, tmp_path: Path) -> None:
    with pytest.raises(jubilant.CLIError) as caught:
        juju.deploy(SITE)
    assert "already exists" in stage.error_of(caught)
    with pytest.raises(jubilant.CLIError) as caught:
        juju.deploy("postgresql")
    assert "Charmhub" in stage.error_of(caught)
    with pytest.raises(jubilant.CLIError):
        juju.deploy(tmp_path / "nothing.charm")
    with pytest.raises(jubilant.CLIError):
        juju.config("nothing")


def test_an_application_that_hangs_in_an_error_is_removed_by_force(juju: jubilant.Juju) -> None:
    juju.deploy(SITE, "stuck", config={"title": "broken"})
    stage.wait(juju, lambda status: jubilant.any_error(status, "stuck"))
    juju.remove_application("stuck", force=True)
    stage.wait(juju, lambda status: "stuck" not in status.apps)
