"""Programs of charms run as another account where the provisioner is told so, and what they write is its own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import other_account, real_agent
from support.unit_server import UnitServer
from support.waiting import eventually
from tinkwell.core.charm.package import NewFile
from tinkwell.provisioner.runtime.process import account
from tinkwell.provisioner.unit.tool import installation

DEADLINE_SECONDS = 60.0
# No tools: where Python is below the home of root, the account cannot run them.
HOOK = b"#!/bin/sh\nset -e\nid -un\ntouch .unit-state.db\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may pass through, which those of pytest do not let them."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o711)
        yield Path(path)


@other_account.as_root
async def test_programs_run_as_the_account(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "check_account", lambda _: None)
    server = UnitServer(["install", "start"], {})
    server.storages = {"data/0": True}
    manifest = NewFile("metadata.yaml", b"name: web\nsummary: a\ndescription: b\n")
    server.deploy([manifest, NewFile("hooks/install", HOOK, True), NewFile("hooks/start", HOOK, True)])

    async with real_agent.serving(server, folder / "units", account=account.find(other_account.NAME)):
        await eventually(lambda: server.is_over or bool(server.state.failures), deadline_seconds=DEADLINE_SECONDS)
    assert server.state.failures == []
    assert [text for _, (_, text) in sorted(server.state.lines.items())] == [other_account.NAME] * 2
