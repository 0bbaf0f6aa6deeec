"""What a container gets of its host."""

from typing import Any

import pytest

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import host, setting

MIB = 1024 * 1024
ACTION, STEP = RunKey(RunKind.WORKFLOW, "w", "a", 1), RunKey(RunKind.RELEASE, "r", "s", 1)
OPEN = setting.DockerSettings()
CLOSED = setting.DockerSettings(is_privileged=True, memory_bytes=64 * MIB, cpus=0.5, pids=20, log_bytes=MIB)


def host_of(key: RunKey, settings: setting.DockerSettings, **fields: Any) -> dict[str, Any]:
    return host.host_config(port.RunSpec(key=key, image="i", **fields), settings)


@pytest.mark.parametrize(
    ("key", "settings", "expected"),
    [
        (ACTION, OPEN, (False, None, None, None)),
        (ACTION, CLOSED, (True, 64 * MIB, 20, None)),
        (STEP, OPEN, (False, 512 * MIB, 256, ["no-new-privileges"])),
        (STEP, CLOSED, (False, 64 * MIB, 20, ["no-new-privileges"])),
    ],
)
def test_a_step_is_bounded_whatever_the_settings_leave_open_and_never_privileged(
    key: RunKey, settings: setting.DockerSettings, expected: tuple[object, ...]
) -> None:
    found = host_of(key, settings)
    assert (found["privileged"], found.get("mem_limit")) == expected[:2]
    assert (found["pids_limit"], found.get("security_opt")) == expected[2:]
    assert found.get("memswap_limit") == found.get("mem_limit")


@pytest.mark.parametrize(
    ("key", "settings", "half"),
    [(ACTION, OPEN, 100 * MIB), (ACTION, CLOSED, MIB // 2), (STEP, OPEN, 20 * MIB), (STEP, CLOSED, MIB // 2)],
)
def test_of_a_step_less_output_is_kept(key: RunKey, settings: setting.DockerSettings, half: int) -> None:
    config = {"max-size": str(half), "max-file": "2"}
    assert host_of(key, settings)["log_config"] == {"type": "json-file", "config": config}


def test_an_answer_is_kept_by_nobody_else() -> None:
    assert host_of(STEP, OPEN, answer_bytes=1)["log_config"] == {"type": "none"}


def test_the_engine_creates_a_missing_folder_only_where_that_is_wanted() -> None:
    made = port.Mount(source="/made", target="/a", may_create=True)
    given = port.Mount(source="/given", target="/b", read_only=True)
    found = host_of(STEP, OPEN, mounts=(made, given), volumes=("/c:/d:rshared",))
    assert found["binds"] == ["/made:/a", "/c:/d:rshared"]
    assert found["mounts"] == [{"Target": "/b", "Source": "/given", "Type": "bind", "ReadOnly": True}]
