"""The device map, and what a reference to a worker is."""

import pytest

from tinkwell.core import errors
from tinkwell.core.workflow import devices
from tinkwell.core.workflow.devices import WorkerKind

ID = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"


def test_a_device_map_is_an_object_of_any_json() -> None:
    text = '{"device_1": "52:54:00:10:00:03", "a-b c": {"d": [1, null]}}'
    assert devices.parse_devices("hardware", text) == {"device_1": "52:54:00:10:00:03", "a-b c": {"d": [1, None]}}
    assert devices.parse_devices("hardware", b"{}") == {}


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        ("", "hardware", "is empty"),
        ("[]", "hardware", "must be a JSON object"),
        ("null", "hardware", "must be a JSON object"),
        ('{"a": 1, "a": 2}', "hardware", "occurs twice"),
        ('{"": 1}', "hardware", "empty key"),
        ('{"a\\n": 1}', 'hardware["a\\u000a"]', "control character"),
        ('{"' + "k" * 201 + '": 1}', 'hardware["' + "k" * 60 + '…"]', "at most 200"),
        ("{" + '"a":[' * 100_000, "hardware", "nested deeper"),
    ],
)
def test_what_is_not_a_device_map_is_refused(text: str, field: str, problem: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        devices.parse_devices("hardware", text)
    (violation,) = refused.value.violations
    assert violation.field == field
    assert problem in violation.description


@pytest.mark.parametrize(
    ("text", "kind", "normal"),
    [
        ("52:54:00:1A:00:03", WorkerKind.MAC, "52:54:00:1a:00:03"),
        ("5254.001a.0003", WorkerKind.MAC, "52:54:00:1a:00:03"),
        ("192.168.56.43", WorkerKind.IP, "192.168.56.43"),
        ("2001:DB8::2B", WorkerKind.IP, "2001:db8::2b"),
        (ID.upper(), WorkerKind.HARDWARE_ID, ID),
    ],
)
def test_a_worker_is_a_mac_an_ip_or_a_hardware_id(text: str, kind: WorkerKind, normal: str) -> None:
    assert devices.parse_worker("worker", text) == devices.Worker(kind, normal)


@pytest.mark.parametrize("text", ["", "node-3", "52:54:00", "999.1.1.1", ID[:-1], "fe80::1%eth0", "{{.device_1}}"])
def test_what_names_no_worker_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        devices.parse_worker("worker", text)
    assert "is not a worker" in str(refused.value)
