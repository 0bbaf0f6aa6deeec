"""Storage and logs, by jubilant."""

import jubilant
import pytest
from integration.juju import stage
from integration.juju.stage import SITE

# Each question starts a process, and each event several; a loaded machine takes minutes for a module.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def site(juju: jubilant.Juju) -> jubilant.Juju:
    juju.deploy(SITE, num_units=2, storage={"data": "1"}, to=["node-1", "node-1"])
    stage.wait(juju, jubilant.all_active)
    stage.settle(juju)
    return juju


def test_the_status_has_the_storage_of_units(site: jubilant.Juju) -> None:
    storage = site.status().storage.storage
    assert len(storage) == 2
    for each in storage.values():
        assert (each.kind, each.status.current, each.persistent) == ("filesystem", "attached", False)
    assert sorted(map(_owner, storage.values())) == ["site/0", "site/1"]


def test_storage_goes_from_one_unit_to_another_with_what_is_in_it(site: jubilant.Juju) -> None:
    site.cli("add-storage", "site/0", "data=1")
    stage.settle(site)
    own = [name for name, each in site.status().storage.storage.items() if _owner(each) == "site/0"]
    lent = max(own, key=lambda name: int(name.partition("/")[2]))
    site.cli("detach-storage", lent)
    stage.settle(site)
    detached = site.status().storage.storage[lent]
    assert (detached.status.current, detached.attachments) == ("detached", None)
    site.cli("attach-storage", "site/1", lent)
    stage.settle(site)
    assert _owner(site.status().storage.storage[lent]) == "site/1"
    assert "finds what site/0 has left" in site.cli("debug-log", "--include", "site/1")
    assert lent in site.cli("show-storage", lent)


def test_storage_that_a_unit_has_is_not_removed(site: jubilant.Juju) -> None:
    name = next(iter(site.status().storage.storage))
    with pytest.raises(jubilant.CLIError) as caught:
        site.cli("remove-storage", name)
    assert "detach it first" in stage.error_of(caught)
    with pytest.raises(jubilant.CLIError) as caught:
        site.cli("add-storage", "site/0", "data=ebs,10G")
    assert "there are no pools" in stage.error_of(caught)


def test_the_log_has_what_units_have_said_in_its_order(site: jubilant.Juju) -> None:
    lines = site.debug_log().splitlines()
    assert len([line for line in lines if "installs site/" in line]) == 2
    assert site.debug_log(limit=3).splitlines() == lines[-3:]
    own = site.cli("debug-log", "--include", "unit-site-1", "--level", "INFO").splitlines()
    assert own
    assert all(line.startswith("unit-site-1: ") and " INFO unit.site/1.juju-log " in line for line in own)


def _owner(storage: jubilant.statustypes.StorageInfo) -> str:
    return next(iter(storage.attachments.units)) if storage.attachments is not None else ""
