"""`tinkwell release test`, and what other commands do about an operation that leaves its release as it is."""

import re

from unit.cli.release.conftest import Site

from support.release_provisioner import Provisioner
from tinkwell.client import Client
from tinkwell.core.event.kinds import State


async def _pass(client: Client, owner: Provisioner) -> None:
    handle = await client.releases.test("shop")
    await owner.look(handle, {})


async def _fail(client: Client, owner: Provisioner) -> None:
    handle = await client.releases.test("shop", reason="nightly")
    await owner.begin(handle.id)
    await owner.keep(handle.id, "role")
    await owner.fail(handle.id, "db", "no route to host")
    await owner.finish(handle.id, State.FAILED, path="db")


def test_tests_are_begun_with_the_options_of_an_operation(deployed: Site) -> None:
    cli = deployed.cli
    id_ = cli.ok("release", "test", "shop", "--timeout", "90s", "--reason", "nightly", "--detach").strip()
    (request,) = cli.do(lambda server: server.requests("Test"))
    assert (request.operation_id, request.options.timeout_seconds, request.reason) == (id_, 90, "nightly")
    stderr = cli.fails("release", "test", "shop")
    assert f"operation {id_} of it has not ended" in stderr
    assert cli.ok("release", "cancel", "shop") == f"shop  cancelled  operation {id_}\n"
    status = cli.json("release", "status", "shop")
    assert (status["release"]["state"], status["operation"]["kind"]) == ("DEPLOYED", "INSTALL")


def test_the_outcome_of_tests_is_the_exit_code(deployed: Site) -> None:
    cli = deployed.cli
    deployed.work(_pass)
    shown = cli.ok("release", "watch", "shop")
    assert re.search(r"SUCCEEDED +shop +test ", shown)
    deployed.work(_fail)
    stderr = cli.fails("release", "watch", "shop")
    assert "db failed at action create (exit 3)" in stderr
    assert "resume" not in stderr
    assert "no route to host" in cli.ok("release", "logs", "shop")
    assert cli.json("release", "status", "shop")["release"]["state"] == "DEPLOYED"


def test_only_what_is_installed_is_tested(pending: Site) -> None:
    assert "has not ended" in pending.cli.fails("release", "test", "shop")
    pending.cli.ok("release", "cancel", "shop")
    assert "nothing of it was ever installed" in pending.cli.fails("release", "test", "shop")
    assert pending.cli.fails("release", "test", "bank") == "Error: release bank does not exist\n"
