"""Scripts call tools as programs; only those of an attempt that runs are answered."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from unit.provisioner.unit import stage

from support.waiting import eventually
from tinkwell.provisioner.unit.attempt.attempt import BagEdit
from tinkwell.provisioner.unit.tool import desk, frame, installation, program
from tinkwell.provisioner.unit.tool.command import table


@pytest.fixture(params=["", "deep/" * 30], ids=["short", "longer than an address"])
async def office(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[desk.Desk]:
    folder = tmp_path / request.param
    folder.mkdir(parents=True, exist_ok=True)
    async with desk.Desk(folder / "socket", [os.geteuid()]).serving() as serving:
        yield serving


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    installation.install(folder, table.NAMES)
    return folder


async def _run(
    tools: Path, line: str, environment: Mapping[str, str], given: bytes | None = None
) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_shell(
        line,
        env={"PATH": f"{tools}:/usr/bin:/bin", **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(given)
    return process.returncode, out.decode(), err.decode()


def _environment(office: desk.Desk, context: str) -> dict[str, str]:
    return {program.SOCKET: str(office.path), program.CONTEXT: context}


async def test_a_script_calls_tools(office: desk.Desk, tools: Path) -> None:
    attempt = stage.attempt()
    with office.admitting(attempt) as context:
        line = 'config-get workers && echo \'{"a": "é"}\' | relation-set --file - && relation-get a web/0'
        assert await _run(tools, line, _environment(office, context)) == (0, "2\né\n", "")
    assert attempt.bag_edits == [BagEdit(7, "web/0", "a", "é")]


async def test_a_tool_reads_a_file_itself(office: desk.Desk, tools: Path, tmp_path: Path) -> None:
    (tmp_path / "content").write_text('{"k": "v"}')
    attempt = stage.attempt()
    with office.admitting(attempt) as context:
        line = f"state-set --file {tmp_path}/content; state-set --file={tmp_path}/none"
        code, _, err = await _run(tools, line, _environment(office, context))
    assert (code, attempt.state_edits) == (1, {"k": "v"})
    assert err.startswith("ERROR --file: ")


async def test_exit_code_and_errors_are_the_tools(office: desk.Desk, tools: Path) -> None:
    with office.admitting(stage.attempt()) as context:
        environment = _environment(office, context)
        assert await _run(tools, "relation-list -r 9", environment) == (
            2,
            "",
            'ERROR invalid value "9" for option -r: relation not found\n',
        )


async def test_a_context_is_over_with_its_attempt(office: desk.Desk, tools: Path) -> None:
    with office.admitting(stage.attempt()) as context:
        pass
    environment = _environment(office, context)
    over = "ERROR is-leader: the event that this belongs to is over\n"
    assert await _run(tools, "is-leader", environment) == (1, "", over)


async def test_too_much_input_is_refused(office: desk.Desk, tools: Path) -> None:
    with office.admitting(stage.attempt()) as context:
        result = await _run(tools, "state-set --file -", _environment(office, context), b"x" * 4_194_305)
    assert result[0] == 1
    assert "4,194,304 bytes" in result[2]


async def test_a_tool_outside_of_a_script_says_so(tools: Path) -> None:
    code, _, err = await _run(tools, "is-leader", {})
    assert code == 1
    assert "within a charm's scripts only" in err


async def test_a_tool_whose_agent_is_gone_says_so(tools: Path, tmp_path: Path) -> None:
    code, _, err = await _run(tools, "is-leader", {program.SOCKET: str(tmp_path / "none"), program.CONTEXT: "c"})
    assert code == 1
    assert err.startswith("ERROR the agent does not answer: ")


async def test_an_attempt_has_a_most_of_calls(office: desk.Desk, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "MAX_CALLS", 1)
    with office.admitting(stage.attempt()) as context:
        code, out, err = await _run(tools, "is-leader; is-leader", _environment(office, context))
    assert (code, out) == (1, "False\n")
    assert "one event may make 1 calls" in err


async def test_only_this_account_opens_the_socket(office: desk.Desk) -> None:
    assert office.path.stat().st_mode & 0o777 == 0o600


async def test_other_accounts_are_hung_up_on(tmp_path: Path, tools: Path) -> None:
    async with desk.Desk(tmp_path / "socket", [os.geteuid() + 1]).serving() as office:
        with office.admitting(stage.attempt()) as context:
            code, _, err = await _run(tools, "is-leader", _environment(office, context))
    assert code == 1
    assert "does not answer" in err


@pytest.mark.parametrize(
    "message",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x00\x05\x00\x00\x00\x09x",
        b"\x00\x00\x00\x03\x00\x00\x00",
        frame.encode([b"only", b"two"]),
        frame.encode([b"\xff"] * 10_001),
    ],
)
async def test_what_is_no_message_ends_the_connection_and_nothing_else(
    office: desk.Desk, tools: Path, message: bytes
) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        folder = os.open(office.path.parent, os.O_PATH)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, f"/proc/self/fd/{folder}/socket")
        await loop.sock_sendall(connection, message)
        assert await loop.sock_recv(connection, 1) == b""
        os.close(folder)
    with office.admitting(stage.attempt()) as context:
        assert (await _run(tools, "is-leader", _environment(office, context)))[0] == 0


async def test_more_connections_than_the_most_are_hung_up_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "MAX_CONNECTIONS", 1)
    async with desk.Desk(tmp_path / "socket", [os.geteuid()]).serving() as office:
        _, first = await asyncio.open_unix_connection(office.path)
        await eventually(lambda: office.connections == 1)
        reader, second = await asyncio.open_unix_connection(office.path)
        assert await reader.read() == b""
        second.close()
        first.close()
        await eventually(lambda: office.connections == 0)


def test_tools_are_installed_again_over_old_ones(tools: Path) -> None:
    installation.install(tools, table.NAMES)
    assert {path.name for path in tools.iterdir()} == {*table.NAMES, installation.PROGRAM}
