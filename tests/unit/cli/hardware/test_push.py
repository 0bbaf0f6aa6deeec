"""Pushing thousands of machines from files: one line at the end, a bar on terminals, and places in errors."""

import asyncio
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from support.command_line import CommandLine
from tinkwell.cli.document import files
from tinkwell.cli.hardware import push
from tinkwell.cli.shell.output import Format
from tinkwell.client import BulkChange, Client
from tinkwell.core import errors

COUNT = 250


def machine(number: int, **more: object) -> dict[str, Any]:
    dhcp = {"mac": f"52:54:00:00:{number // 256:02x}:{number % 256:02x}"}
    return {"id": f"5f0c1c3e-8a54-4b7e-9a53-{number:012d}", "network": {"interfaces": [{"dhcp": dhcp}]}, **more}


def lines(*changed: tuple[int, dict[str, Any]], count: int = COUNT) -> str:
    """Write machines as JSON lines, some of them changed."""
    machines = [machine(number) for number in range(count)]
    for number, change in changed:
        machines[number] |= change
    return "".join(f"{json.dumps(each)}\n" for each in machines)


def stored(cli: CommandLine) -> int:
    return len(cli.json("hardware", "list"))


@pytest.mark.parametrize(
    "text",
    [
        lines(),
        json.dumps([machine(number) for number in range(COUNT)]),
        json.dumps([machine(number) for number in range(COUNT)], indent=1),
        "".join(f"- {json.dumps(machine(number))}\n" for number in range(COUNT)),
        "".join(f"---\n{json.dumps(machine(number))}\n" for number in range(COUNT)),
    ],
)
def test_many_machines_in_any_form_are_told_of_in_one_line(cli: CommandLine, text: str) -> None:
    assert cli.ok("hardware", "push", stdin=text) == "250 machines pushed, 250 of them changed, revision 250\n"
    assert cli.ok("hardware", "push", stdin=text) == "250 machines pushed, all unchanged\n"
    assert cli.do(lambda server: server.requests("Push")) == []


def test_many_machines_are_one_object_for_programs(cli: CommandLine) -> None:
    printed = cli.ok("hardware", "push", "-o", "json", stdin=lines())
    assert json.loads(printed) == {"stored": 250, "changed": 250, "revision": 250}
    assert cli.ok("hardware", "push", "-o", "yaml", stdin=lines()) == "stored: 250\nchanged: 0\nrevision: 0\n"


def test_a_hundred_machines_have_a_line_each(cli: CommandLine) -> None:
    assert len(cli.ok("hardware", "push", stdin=lines(count=100)).splitlines()) == 100
    assert cli.ok("hardware", "push", stdin=lines(count=101)).startswith("101 machines pushed, 1 of them changed")


def test_metadata_of_many_keeps_its_numbers(cli: CommandLine) -> None:
    text = lines().replace('"network"', '"metadata": {"price": 1.10}, "network"')
    cli.ok("hardware", "push", stdin=text)
    [first, *_] = cli.do(lambda server: server.requests("PushMany"))
    assert first.machines[0].data.metadata == '{"price":1.10}'


def test_a_folder_is_its_json_and_yaml_files_by_name(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(lines(count=150))
    (tmp_path / "a.YAML").write_text(json.dumps(machine(900)))
    (tmp_path / "README.md").write_text("about these machines")
    (tmp_path / ".hidden.json").write_text("nonsense")
    (tmp_path / "sub.json").mkdir()
    assert cli.ok("hardware", "push", str(tmp_path)).startswith("151 machines pushed")
    assert cli.json("hardware", "list")[0]["id"] == machine(900)["id"]


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (200, {"id": "x"}, "201:2: id: must be a UUID"),
        (200, {"netwrok": {}}, "201:117: netwrok: unknown key; did you mean network?"),
        (0, {"network": []}, "1:48: network: must be an object, not a list"),
        (249, {"metadata": 3}, "250:117: metadata: must be an object, not int"),
        (123, {"network": machine(5)["network"]}, "124:1: mac 52:54:00:00:00:05 is already taken by"),
        (7, {"metadata": {"x": "x" * 3_000_000}}, "8:1: a machine may have at most 1 MiB of metadata"),
    ],
)
def test_the_machine_that_is_refused_is_named_by_file_and_line(
    cli: CommandLine, tmp_path: Path, number: int, change: dict[str, Any], message: str
) -> None:
    (tmp_path / "m.jsonl").write_text(lines((number, change)))
    first, *rest = cli.fails("hardware", "push", str(tmp_path)).splitlines()
    assert first.startswith(f"Error: {tmp_path}/m.jsonl:{message}")
    assert rest == ([f"Error: {number} of 250 machines were pushed"] if number else [])
    assert stored(cli) == number


def test_what_is_no_machine_among_many_is_told_with_its_place(cli: CommandLine) -> None:
    text = lines() + "5\n"
    first, second = cli.fails("hardware", "push", stdin=text).splitlines()
    assert first == "Error: standard input:251:1: a machine is an object, not a number"
    assert second == "Error: 250 of 251 machines were pushed"


def test_one_broken_line_in_ten_thousand_keeps_all_from_being_pushed(cli: CommandLine, tmp_path: Path) -> None:
    text = "".join(f'{{"id": "{number}"}}\n' for number in range(10_000))
    (tmp_path / "m.jsonl").write_text(text.replace('"7777"}', '"7777"'))
    stderr = cli.fails("hardware", "push", str(tmp_path / "m.jsonl"))
    assert stderr.startswith(f"Error: {tmp_path}/m.jsonl:7779:1: not JSON")
    assert not cli.do(lambda server: server.calls)


def test_the_wrong_folder_is_told_at_once(cli: CommandLine, tmp_path: Path) -> None:
    assert (
        cli.fails("hardware", "push", str(tmp_path / "none")) == f"Error: {tmp_path}/none: No such file or directory\n"
    )
    assert cli.fails("hardware", "push", str(tmp_path)) == (
        f"Error: {tmp_path} holds no file whose name ends in .json, .jsonl, .ndjson, .yaml, .yml\n"
    )
    (tmp_path / "empty.json").touch()
    assert cli.fails("hardware", "push", str(tmp_path)) == "Error: there is no machine in the input\n"


def test_a_server_that_goes_away_leaves_a_count_and_what_to_do(cli: CommandLine) -> None:
    cli.do(lambda server: server.fail_next(errors.Unavailable("the server is stopping"), method="PushMany"))
    assert "the server is stopping" in cli.fails("hardware", "push", stdin=lines())


class _StuckHardware:
    """Stores seven machines, and then nothing."""

    def __init__(self) -> None:
        self.is_stuck = asyncio.Event()

    async def push_many(self, machines: object, *, on_progress: Callable[[BulkChange], None]) -> BulkChange:
        on_progress(BulkChange(stored=7, changed=7, revision=7))
        self.is_stuck.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody ends the wait")


async def test_an_interrupt_says_how_many_are_stored(capsys: pytest.CaptureFixture[str]) -> None:
    parts = list(files.parts(files.Source("m.jsonl", lines())))
    stuck = _StuckHardware()
    client = cast("Client", types.SimpleNamespace(hardware=stuck))
    pushing = asyncio.ensure_future(push.many(client, parts, Format.TABLE))
    await stuck.is_stuck.wait()
    pushing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pushing
    told = capsys.readouterr()
    assert told.err == "Interrupted: at least 7 of 250 machines were pushed; push again to go on\n"
    assert not told.out
