"""The charms of examples/charms live together: one served by its own program, one by a provisioner."""

from pathlib import Path

import pytest

from support import process
from support.author import EXAMPLES
from tinkwell.cli.unit import auditing
from tinkwell.client import Client
from tinkwell.client.unit.model import UnitStatus

SECONDS = 90.0
CHARMS = EXAMPLES.parent / "charms"


@pytest.mark.timeout(240)
async def test_a_program_and_scripts_are_related(client: Client, tmp_path: Path) -> None:
    connection = {"TINKWELL_SERVER": client.address}
    page = str(CHARMS / "page" / "page.py")
    deploy = ("app", "deploy", "page", page, "--to", "anywhere", "--config", "title=All")
    run = ("unit", "run", page, "--application", "page", "--state-dir", str(tmp_path / "page"))
    provision = ("provisioner", "--units", "--runtime", "process", "--state-dir", str(tmp_path / "provisioner"))
    async with (
        process.running(*deploy, log=tmp_path / "deploy.log", environment=connection) as deploying,
        process.running(*provision, log=tmp_path / "provisioner.log", environment=connection),
    ):
        assert await deploying.wait(deadline_seconds=SECONDS) == 0, deploying.output
        async with process.running(*run, log=tmp_path / "page.log", environment=connection) as serving:
            await client.applications.deploy("text", CHARMS / "text", units=2, anywhere=True)
            await client.applications.relate("page", "text")
            await client.applications.settled("page", "text", timeout_seconds=SECONDS)
            assert (await client.applications.unit("page/0")).status == UnitStatus("active", "2 on the page")
            assert (await client.applications.unit("text/1")).status == UnitStatus("active", "Hello, world!")
            await client.applications.set_config("text", {"text": "Good morning!"})
            await client.applications.settled("page", "text", timeout_seconds=SECONDS)
            (written,) = (tmp_path / "page").rglob("index.html")
            assert written.read_text() == "<h1>All</h1>\n<p>Good morning!</p>\n<p>Good morning!</p>\n"
            await client.applications.remove("text")
            await client.applications.settled("page", "text", timeout_seconds=SECONDS)
            assert (await client.applications.unit("page/0")).status == UnitStatus("active", "0 on the page")
            assert await serving.stop(deadline_seconds=SECONDS) == 0, serving.output
    report = await auditing.audit(client, "default", [])
    assert (report.violations, report.units) == ((), 3)
