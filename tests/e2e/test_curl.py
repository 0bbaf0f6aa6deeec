"""The API from outside Python: buf curl, which speaks gRPC by reflection as grpcurl does, and psql."""

import asyncio
import json
import os
import shutil
import sys
import uuid
from pathlib import Path

from support import process
from support.server import Server

BUF = str(Path(sys.executable).with_name("buf"))
EXAMPLE = Path(__file__).parents[2] / "examples" / "grpcurl" / "curl.sh"
FLAGS = ("curl", "--protocol", "grpc", "--http2-prior-knowledge")


async def run(*arguments: str, program: str = BUF) -> str:
    command = await asyncio.create_subprocess_exec(
        program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(30):
        output, _ = await command.communicate()
    assert command.returncode == 0, output.decode()
    return output.decode()


async def test_reflection_lists_the_services(server: Server) -> None:
    listed = await run(*FLAGS, "--list-services", f"http://{server.address}")
    for name in ("HardwareService", "TemplateService", "WorkflowService", "EventService"):
        assert f"tinkwell.api.v1.{name}" in listed
    assert "grpc.health.v1.Health" in listed


async def test_watch_streams_a_change_made_with_psql_like_one_made_through_the_api(
    server: Server, tmp_path: Path
) -> None:
    url = f"http://{server.address}/tinkwell.api.v1"
    machine = str(uuid.uuid4())
    watch = (*FLAGS, "-d", '{"resourceTypes": ["RESOURCE_TYPE_HARDWARE"]}', f"{url}.EventService/Watch")
    async with process.running(*watch, program=BUF, log=tmp_path / "watch.json") as watching:
        await watching.line('"created": ?true')
        await run(*FLAGS, "-d", json.dumps({"data": {"id": machine}}), f"{url}.HardwareService/Push")
        await watching.line("hardware.created")
        change = f"UPDATE hardware SET metadata = '{{\"by\": \"psql\"}}' WHERE id = '{machine}'"
        psql = shutil.which("psql")
        if psql is not None:
            await run(server.database_url, "-c", change, program=psql)
        else:
            await run("-c", _EXECUTE, server.database_url, change, program=sys.executable)
        await watching.line("hardware.updated")
        assert '\\"by\\": \\"psql\\"' in watching.output


_EXECUTE = """
import asyncio, asyncpg, sys
async def main():
    connection = await asyncpg.connect(sys.argv[1])
    await connection.execute(sys.argv[2])
    await connection.close()
asyncio.run(main())
"""


async def test_the_lines_of_the_example_work(server: Server, tmp_path: Path) -> None:
    path = f"{Path(BUF).parent}:{os.environ['PATH']}"
    arguments = (str(EXAMPLE), server.address)
    async with process.running(
        *arguments, program="/bin/bash", log=tmp_path / "curl.log", environment={"PATH": path}
    ) as example:
        assert await example.wait() == 0, example.output
    assert '"mac": "52:54:00:77:00:01"' in example.output
    assert "hardware.created" in example.output
