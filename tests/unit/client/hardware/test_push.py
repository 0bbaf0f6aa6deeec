"""What a pushed machine may look like: nothing is dropped silently, and what is wrong is named by its path."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.client import errors
from tinkwell.client.hardware import message as hardware_message
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.value import message

SAMPLE: dict[str, Any] = {
    "id": "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11",
    "metadata": {"facility": {"facility_code": "lab"}, "instance": {"tags": ["a", "b"], "big": 2**80}},
    "network": {
        "interfaces": [
            {
                "dhcp": {
                    "mac": "52:54:00:10:00:03",
                    "hostname": "rack1-node03",
                    "arch": "x86_64",
                    "uefi": True,
                    "lease_time": 86400,
                    "name_servers": ["192.168.56.1"],
                    "ip": {"address": "192.168.56.43", "netmask": "255.255.255.0", "gateway": "192.168.56.1"},
                },
                "netboot": {"allow_pxe": True, "osie": {"kernel": "vmlinuz-x86_64"}, "ipxe": {"url": "http://boot"}},
            }
        ]
    },
}


def test_a_machine_comes_back_as_it_was_pushed() -> None:
    back = hardware_message.hardware(hardware_message.to_hardware(SAMPLE))
    assert {key: back.to_json()[key] for key in SAMPLE} == SAMPLE


def test_a_machine_that_was_read_may_be_pushed_again() -> None:
    machine = hardware_message.hardware(hardware_message.to_hardware(SAMPLE))
    printed = machine.to_json() | {"created_at": "2026-11-20T12:00:00.000000Z", "deleted_at": None}
    assert hardware_message.to_hardware(printed) == hardware_message.to_hardware(machine)


def test_metadata_may_be_json_text_which_is_sent_as_it_is() -> None:
    text = '{"exact": 1.10, "big": 12345678901234567890, "large": 1e308, "long": ' + "9" * 5_000 + "}"
    assert hardware_message.to_hardware({"id": "m1", "metadata": text}).metadata == text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"lease_time": "86400"}, {"lease_time": 86400}),
        ({"lease_time": 8.64e4}, {"lease_time": 86400}),
        ({"leaseTime": "4294967294"}, {"lease_time": 4294967294}),
        ({"ip": {"family": "4"}}, {"ip": {"family": 4}}),
        ({"nameServers": ["1.1.1.1"], "ifaceName": "eno1"}, {"name_servers": ["1.1.1.1"], "iface_name": "eno1"}),
        ({"time_servers": None, "uefi": True}, {"uefi": True}),
    ],
)
def test_a_machine_may_be_written_as_the_json_of_protobuf_has_it(
    written: dict[str, Any], meant: dict[str, Any]
) -> None:
    netboot = {"allowPxe": True, "allowWorkflow": True, "osie": {"baseUrl": "http://osie"}}
    sent = hardware_message.to_hardware(
        {"id": "m1", "version": "3", "network": {"interfaces": [{"dhcp": written, "netboot": netboot}]}}
    )
    expected = {"allow_pxe": True, "allow_workflow": True, "osie": {"base_url": "http://osie"}}
    assert sent.version == 3
    assert hardware_message.hardware(sent).network == {"interfaces": [{"dhcp": meant, "netboot": expected}]}


@pytest.mark.parametrize(
    ("data", "violations"),
    [
        ({"id": "m1", "netwrk": {}}, {"netwrk": "unknown key; did you mean network?"}),
        ({"id": "m1", "arch": "x86_64"}, {"arch": "unknown key; known keys: created_at, deleted_at, id"}),
        ({"id": 5}, {"id": "must be a string, not a number"}),
        ({"id": "m1", "version": "3.5"}, {"version": "must be a whole number, not a string"}),
        ({"id": "m1", "version": "v3"}, {"version": "must be a whole number, not a string"}),
        ({"id": "m1", "version": "9" * 30}, {"version": "must be a whole number, not a string"}),
        ({"id": "m1", "version": float("inf")}, {"version": "must be a whole number, not a number"}),
        ({"id": "m1", "version": "9223372036854775808"}, {"version": "out of range"}),
        ({"id": "m1", "version": 1.5}, {"version": "must be a whole number, not a number"}),
        ({"id": "m1", "network": []}, {"network": "must be an object, not a list"}),
        ({"id": "m1", "network": {"interfaces": {}}}, {"network.interfaces": "must be a list, not an object"}),
        ({"id": "m1", "network": {"interfaces": [5]}}, {"network.interfaces[0]": "must be an object, not a number"}),
        (
            {"id": "m1", "network": {"interfaces": [{}, {"dhcp": {"mac": 5, "uefi": "yes", "lease": 1}}]}},
            {
                "network.interfaces[1].dhcp.mac": "must be a string, not a number",
                "network.interfaces[1].dhcp.uefi": "must be true or false, not a string",
                "network.interfaces[1].dhcp.lease": "unknown key; did you mean lease_time?",
            },
        ),
        (
            {"id": "m1", "network": {"interfaces": [{"dhcp": {"name_servers": ["a", 1]}}]}},
            {"network.interfaces[0].dhcp.name_servers[1]": "must be a string, not a number"},
        ),
        (
            {"id": "m1", "network": {"interfaces": [{"dhcp": {"lease_time": 2**63}}]}},
            {"network.interfaces[0].dhcp.lease_time": "out of range"},
        ),
        (
            {"id": "m1", "network": {"interfaces": [{"dhcp": {"lease_time": True}}]}},
            {"network.interfaces[0].dhcp.lease_time": "must be a whole number, not true or false"},
        ),
        (
            {"id": "m1", "network": {"interfaces": [{"dhcp": {"lease_time": 1, "leaseTime": "2"}}]}},
            {"network.interfaces[0].dhcp.leaseTime": "means the same as lease_time"},
        ),
        (
            {"apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "spec": {}},
            {"kind": "tinkwell hardware push reads such files"},
        ),
        ({"id": "\ud800"}, {"id": "surrogates not allowed"}),
        ({"id": "m1", "metadata": []}, {"metadata": "must be an object, not list"}),
        ({"id": "m1", "metadata": "[1]"}, {"metadata": "must be a JSON object"}),
        ({"id": "m1", "metadata": "{"}, {"metadata": "is not JSON"}),
        ({"id": "m1", "metadata": {"a": float("nan")}}, {"metadata": "is not JSON"}),
        ({"id": "m1", "metadata": {"a": {1, 2}}}, {"metadata": "is not JSON"}),
        ({"id": "m1", "metadata": {"a": "\ud800"}}, {"metadata": "is not JSON"}),
        ({"id": "m1", 5: "five"}, {"5": "unknown key"}),
        (["id"], {"": "hardware must be an object, not list"}),
    ],
)
def test_what_is_wrong_is_named_by_its_path(data: Any, violations: dict[str, str]) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        hardware_message.to_hardware(data)
    found = {violation.field: violation.description for violation in caught.value.violations}
    assert found.keys() == violations.keys()
    assert [field for field, text in violations.items() if text.lower() not in found[field].lower()] == []


def test_metadata_nested_too_deeply_is_an_error_not_a_crash() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(errors.InvalidField, match="metadata"):
        hardware_message.to_hardware({"id": "m1", "metadata": deep})


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_objects = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=3)
numbers = st.integers(-(2**63), 2**63 - 1)
networks = st.fixed_dictionaries(
    {},
    optional={
        "interfaces": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "dhcp": st.fixed_dictionaries(
                        {},
                        optional={
                            "mac": texts,
                            "uefi": st.booleans(),
                            "lease_time": numbers,
                            "name_servers": st.lists(texts, max_size=2),
                            "ip": st.fixed_dictionaries({}, optional={"address": texts, "family": numbers}),
                        },
                    ),
                    "netboot": st.fixed_dictionaries({}, optional={"allow_pxe": st.booleans()}),
                },
            ),
            max_size=2,
        )
    },
)


@given(network=networks, metadata=json_objects)
def test_a_valid_machine_arrives_whole_but_for_default_values(network: Any, metadata: Any) -> None:
    sent = hardware_message.to_hardware({"id": "m1", "network": network, "metadata": metadata})
    assert message.to_json(sent.network) == _without_defaults(network)
    assert hardware_message.hardware(sent).metadata == json.loads(json.dumps(metadata))


def _without_defaults(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_defaults(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if isinstance(item, dict) or item}
    return [_without_defaults(item) for item in value] if isinstance(value, list) else value


keys = st.sampled_from(["id", "version", "metadata", "network", "interfaces", "dhcp", "mac", "uefi", "name_servers"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
likely = st.recursive(
    scalars, lambda inner: st.dictionaries(keys | st.text(), inner, max_size=4) | st.lists(inner, max_size=2)
)


@given(likely)
def test_no_input_raises_anything_but_an_invalid_field(data: Any) -> None:
    try:
        hardware_message.to_hardware(data)
    except errors.InvalidField as error:
        if not error.violations:
            pytest.fail("nothing is named")


def test_a_machine_object_is_pushed_like_its_json() -> None:
    machine = Hardware("m1", metadata={"a": 1}, network={"interfaces": [{"dhcp": {"mac": "x"}}]})
    assert hardware_message.to_hardware(machine) == hardware_message.to_hardware(machine.to_json())
