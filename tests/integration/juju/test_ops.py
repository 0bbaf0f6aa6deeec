"""Charms of ops, unmodified, by jubilant: one packed, one from its source, related through a secret."""

from pathlib import Path

import jubilant
import pytest
from integration.juju import stage

from support import tiny_charm
from tinkwell.core.charm import package

# Each question starts a process, and each event several; a loaded machine takes minutes for a module.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def vault(juju: jubilant.Juju, tmp_path_factory: pytest.TempPathFactory) -> jubilant.Juju:
    """A vault, and who has a password of it. Each of their events starts a Python that imports ops."""
    folder = tmp_path_factory.mktemp("charms")
    source = tiny_charm.write(folder / "vault", [*tiny_charm.source(tiny_charm.VAULT), *tiny_charm.venv()])
    packed = folder / "tiny_amd64.charm"
    packed.write_bytes(package.pack(tiny_charm.packed()))
    juju.deploy(source)
    juju.deploy(packed, config={"workers": 5})
    juju.integrate("tiny", "vault")
    juju.wait(jubilant.all_agents_idle)
    return juju


def test_both_are_active(vault: jubilant.Juju) -> None:
    status = vault.wait(jubilant.all_active, error=jubilant.any_error)
    tiny = status.apps["tiny"]
    assert (tiny.units["tiny/0"].workload_status.message, tiny.version) == ("5 workers", "1.2")
    assert tiny.units["tiny/0"].open_ports == ["8080/tcp"]
    assert status.apps["vault"].app_status.current == "active"


def test_an_application_owns_the_secret_that_the_other_reads(vault: jubilant.Juju) -> None:
    (secret,) = vault.secrets(owner="vault")
    assert (secret.owner, secret.name) == ("vault", None)
    assert secret.label is not None
    (access,) = vault.show_secret(secret.uri).access or []
    assert access.target == "application-tiny"
    assert len(vault.show_secret(secret.uri, reveal=True).content["password"]) == 10


def test_an_action_has_all_that_follows_from_it(vault: jubilant.Juju) -> None:
    task = vault.run("vault/leader", "rotate", {"length": 7})
    assert (task.results, task.log) == ({"relations": "1"}, ["gave tiny another password"])
    stage.settle(vault)
    assert "db has 14 characters now" in vault.debug_log()
    with pytest.raises(jubilant.TaskError, match="as it was asked to"):
        vault.run("tiny/0", "fail")


def test_both_are_removed(vault: jubilant.Juju, tmp_path: Path) -> None:
    vault.remove_application("tiny", "vault")
    stage.wait(vault, lambda status: not status.apps)
