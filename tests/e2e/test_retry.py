"""Attempts that are repeated and a workflow that recovers another one, from the template to the command line."""

import uuid
from pathlib import Path

from support import process
from support.waiting import eventually
from tinkwell.client import Client, State

MAC = "52:54:00:10:00:03"
MAIN = """
version: "0.1"
name: main
on-failure: rescue
tasks:
  - name: os
    worker: "{{.device_1}}"
    actions:
      - name: second-time-lucky
        image: shell
        command: ["echo x >>FOLDER/tries; [ $(wc -l <FOLDER/tries) -ge 2 ]"]
        retries: 1
        retry-delay: 1
        on-failure: [": >FOLDER/hook"]
      - name: hopeless
        image: shell
        command: ["echo y >>FOLDER/hopeless; exit 3"]
        retries: 1
        retry-delay: 0
"""
RESCUE = """
version: "0.1"
name: rescue
tasks:
  - name: os
    worker: "{{.device_1}}"
    actions:
      - name: save
        image: shell
        command: [": >FOLDER/saved"]
"""


async def test_what_fails_is_repeated_and_then_recovered_and_whoever_waits_hears_of_it(
    client: Client, server_address: str, tmp_path: Path
) -> None:
    entry_point = tmp_path / "images" / "shell" / "run"
    entry_point.parent.mkdir(parents=True)
    entry_point.write_text('#!/bin/sh\nexec /bin/sh -c "$1"\n')
    entry_point.chmod(0o755)
    await client.hardware.push({"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}})
    for text in (MAIN, RESCUE):
        await client.templates.create(text.replace("FOLDER", str(tmp_path)))
    server = ("--server", server_address)
    runtime = ("--runtime", "process", "--process-images", str(tmp_path / "images"), "--agent-for", "all")
    place = ("--state-dir", str(tmp_path / "state"))
    create = ("workflow", "create", *server, "--template", "main", "--device", f"device_1={MAC}", "--wait")
    async with (
        process.running("provisioner", *server, *runtime, *place, log=tmp_path / "provisioner.log") as provisioner,
        process.running(*create, log=tmp_path / "create.log") as waiting,
    ):
        await provisioner.line("workflows are watched")
        assert await waiting.wait(deadline_seconds=60) == 1
        await eventually((tmp_path / "saved").exists, deadline_seconds=30)
        (recovery,) = [found async for found in client.workflows.list() if found.recovers]
    lucky, hopeless = await client.workflows.actions(recovery.recovers)
    assert (lucky.state, lucky.attempt) == (State.SUCCEEDED, 2)
    assert (hopeless.state, hopeless.attempt, hopeless.exit_code) == (State.FAILED, 2, 3)
    assert [(tmp_path / name).read_text().split() for name in ("tries", "hopeless")] == [["x"] * 2, ["y"] * 2]
    assert not (tmp_path / "hook").exists()
    assert "attempt 1 of 2  exit 1  retries in 1s" in waiting.output
    assert f"; workflow {recovery.id} recovers it, by template rescue" in " ".join(waiting.output.split())
