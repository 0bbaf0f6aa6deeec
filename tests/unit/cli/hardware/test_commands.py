"""The commands for machines."""

import json
import re
from pathlib import Path

import pytest

from support.command_line import CommandLine
from tinkwell.client import Hardware
from tinkwell.core import errors

A = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"
B = "1eba0bf8-3772-4b4a-ab9f-6ebe93b90a95"
C = "2eba0bf8-3772-4b4a-ab9f-6ebe93b90a96"


def interface(mac: str, ip: str = "", hostname: str = "") -> dict[str, object]:
    dhcp: dict[str, object] = {"mac": mac}
    if hostname:
        dhcp["hostname"] = hostname
    if ip:
        dhcp["ip"] = {"address": ip}
    return {"dhcp": dhcp}


def put(cli: CommandLine, machine_id: str, *interfaces: dict[str, object]) -> None:
    cli.do(lambda server: server.put(Hardware(id=machine_id, network={"interfaces": list(interfaces)})))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"id": A, "metadata": {"a": 1}}) + "\n" + json.dumps({"id": B}),
        json.dumps([{"id": A, "metadata": {"a": 1}}, {"id": B}]),
        f"- id: {A}\n  metadata: {{a: 1}}\n- id: {B}\n",
    ],
)
def test_machines_are_pushed_from_standard_input_in_any_form(cli: CommandLine, text: str) -> None:
    assert cli.ok("hardware", "push", stdin=text) == f"{A}  version 1  revision 1\n{B}  version 1  revision 2\n"
    assert cli.json("hardware", "get", A)["metadata"] == {"a": 1}


def test_machines_are_pushed_from_files(cli: CommandLine, tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one.json", "two.yaml", "three.jsonl"))
    one.write_text(json.dumps({"id": A}))
    two.write_text(f"id: {B}")
    three.write_text(json.dumps({"id": C}))
    printed = cli.ok("hardware", "push", str(one), "--file", str(three), str(two))
    assert [line.split()[0] for line in printed.splitlines()] == [A, B, C]


def test_metadata_keeps_its_numbers_as_they_are_written(cli: CommandLine) -> None:
    text = f'{{"id": "{A}", "metadata": {{"big": 12345678901234567890123, "price": 1.10}}}}'
    cli.ok("hardware", "push", stdin=text)
    [request] = cli.do(lambda server: server.requests("Push"))
    assert request.data.metadata == '{"big":12345678901234567890123,"price":1.10}'


def test_a_push_prints_an_object_for_one_machine_and_a_list_for_several(cli: CommandLine) -> None:
    one = cli.ok("hardware", "push", "-o", "json", stdin=json.dumps({"id": A}))
    assert json.loads(one) == {"id": A, "version": 1, "revision": 1}
    both = [{"id": A, "metadata": {"rack": 7}}, {"id": B}]
    two = cli.ok("hardware", "push", "-o", "json", stdin=json.dumps(both))
    assert [item["version"] for item in json.loads(two)] == [2, 1]
    again = cli.ok("hardware", "push", stdin=json.dumps(both))
    assert again.splitlines() == [f"{A}  version 2  unchanged", f"{B}  version 1  unchanged"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'[{{"id": "{A}"}},\n {{"id": 1}}]', "m.json:2:3: id: must be a string"),
        (f'[{{"id": "{A}"}},\n {{"id": "x"}}]', "m.json:2:3: id: must be a UUID"),
        (f'[{{"id": "{A}"}},\n {{"id": "{B}", "netwrok": {{}}}}]', "m.json:2:49: netwrok: unknown key; did you mean"),
        (f'{{"id": "{A}"}}\n[1]', "m.json:2:2: a machine is an object, not a number"),
        (f'[{{"id": "{A}"}},\n {{"id": "{B}", "metadata": 3}}]', "m.json:2:49: metadata: must be an object"),
    ],
)
def test_the_first_machine_that_is_refused_ends_a_push_with_its_place(
    cli: CommandLine, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "m.json").write_text(text)
    first, second = cli.fails("hardware", "push", str(tmp_path / "m.json")).splitlines()
    assert first.startswith(f"Error: {tmp_path}/{message}")
    assert second == "Error: 1 of 2 machines were pushed"


def test_nothing_is_pushed_when_a_later_machine_cannot_even_be_read(cli: CommandLine) -> None:
    assert "standard input:2:1: not JSON" in cli.fails("hardware", "push", stdin=json.dumps({"id": A}) + "\nnonsense")
    assert not cli.do(lambda server: server.calls)


def test_a_machine_that_no_message_can_carry_is_not_sent(cli: CommandLine) -> None:
    machines = [{"id": A}, {"id": B, "metadata": {"x": "x" * 5_000_000}}]
    stderr = cli.fails("hardware", "push", stdin="\n".join(map(json.dumps, machines)))
    assert stderr.startswith("Error: standard input:2:1: a machine may have at most 1 MiB of metadata")
    assert len(cli.json("hardware", "list")) == 1


def test_an_address_that_is_taken_is_told_with_the_place_of_its_machine(cli: CommandLine) -> None:
    machines = [{"id": name, "network": {"interfaces": [interface("52:54:00:10:00:03")]}} for name in (A, B)]
    stderr = cli.fails("hardware", "push", stdin="\n".join(map(json.dumps, machines)))
    assert re.match(r"Error: standard input:2:1: .*52:54:00:10:00:03.* is already taken", stderr)


@pytest.mark.parametrize("text", ["", "[]", "\n"])
def test_an_input_without_machines_is_a_failure(cli: CommandLine, text: str) -> None:
    assert "there is no machine in the input" in cli.fails("hardware", "push", stdin=text)


def test_a_machine_is_got_by_id_mac_or_ip_in_any_of_their_forms(cli: CommandLine) -> None:
    put(cli, A, interface("52:54:00:10:00:0a", "192.168.1.5", "sm01"))
    for key in (A, A.upper(), "52:54:00:10:00:0a", "52-54-00-10-00-0A", "5254.0010.000a", "192.168.1.5"):
        assert cli.json("hardware", "get", key)["id"] == A


def test_several_machines_are_a_list(cli: CommandLine) -> None:
    put(cli, A)
    put(cli, B)
    assert [machine["id"] for machine in cli.json("hardware", "get", B, A)] == [B, A]


def test_a_machine_that_is_missing_does_not_keep_the_others(cli: CommandLine) -> None:
    put(cli, A)
    result = cli.run("hardware", "get", B, A, "-o", "json")
    assert result.exit_code == 1
    assert [machine["id"] for machine in json.loads(result.stdout)] == [A]
    assert result.stderr == f"Error: hardware {B} does not exist\n"


def test_what_is_neither_id_nor_address_is_a_usage_error(cli: CommandLine) -> None:
    stderr = cli.fails("hardware", "get", "sm01", code=2)
    assert stderr.endswith("'sm01' is neither an id (UUID) nor a MAC or IP address\n")


def test_a_list_has_a_line_for_each_interface(cli: CommandLine) -> None:
    put(cli, A, interface("52:54:00:10:00:01", "10.0.0.1", "sm01"), interface("52:54:00:10:00:02"))
    put(cli, B)
    assert [line.split() for line in cli.ok("hardware", "list").splitlines()] == [
        ["ID", "MAC", "IP", "HOSTNAME", "VERSION"],
        [A, "52:54:00:10:00:01", "10.0.0.1", "sm01", "1"],
        [A, "52:54:00:10:00:02", "-", "-", "1"],
        [B, "-", "-", "-", "1"],
    ]


def test_a_list_of_one_is_a_list_and_of_none_is_empty(cli: CommandLine) -> None:
    assert cli.json("hardware", "list") == []
    put(cli, A)
    assert [machine["id"] for machine in cli.json("hardware", "list")] == [A]


def test_deleting_goes_on_over_what_is_missing_and_fails_at_the_end(cli: CommandLine) -> None:
    put(cli, A)
    put(cli, C)
    result = cli.run("hardware", "delete", A, B, C)
    assert result.exit_code == 1
    assert result.stdout == f"{A}  deleted  revision 3\n{C}  deleted  revision 4\n"
    assert result.stderr == f"Error: hardware {B} does not exist\n"


def test_an_id_that_cannot_exist_does_not_keep_the_others(cli: CommandLine) -> None:
    put(cli, A)
    cli.do(lambda server: server.fail_next(errors.InvalidField.of("id", '"x" is not a UUID'), method="Delete"))
    result = cli.run("hardware", "delete", "x", A)
    assert (result.exit_code, result.stdout) == (1, f"{A}  deleted  revision 2\n")
    assert result.stderr == 'Error: id: "x" is not a UUID\n'


def test_deleting_stops_at_any_other_error(cli: CommandLine) -> None:
    put(cli, A)
    put(cli, C)
    cli.do(lambda server: server.fail_next(errors.LimitReached("too many"), method="Delete"))
    assert cli.fails("hardware", "delete", A, C) == "Error: too many\n"
    assert len(cli.json("hardware", "list")) == 2


@pytest.mark.parametrize("machine", [A, "52:54:00:10:00:01", "10.0.0.1"])
def test_a_machine_phones_home(cli: CommandLine, machine: str) -> None:
    put(cli, A, interface("52:54:00:10:00:01", "10.0.0.1"))
    assert cli.ok("hardware", "phone-home", machine, "--data", '{"up": 1.50}') == f"{machine}  revision 2\n"
    event = json.loads(
        cli.ok("hardware", "watch", A, "--event-type", "hardware-phone-home", "--count", "1", "-o", "jsonl")
    )
    assert event["data"]["phone_home"] == {"up": 1.5}


def test_a_watch_of_one_machine_leaves_out_the_others(cli: CommandLine) -> None:
    put(cli, A)
    put(cli, B)
    put(cli, A)
    printed = cli.ok("hardware", "watch", A, "--count", "2", "-o", "jsonl")
    assert [json.loads(line)["revision"] for line in printed.splitlines()] == [1, 3]
