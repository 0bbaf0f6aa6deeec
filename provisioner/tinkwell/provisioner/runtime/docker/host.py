"""What a container gets of its host: the operator's settings, and what a run of its kind may have at all.

Actions of workflows are the operator's own, and get what the settings say. Images of releases are written by people who
are not trusted with the host, so their containers have bounds whatever the settings leave open, and no privileges.
"""

from collections.abc import Iterable
from typing import Any

from docker.types import Mount

from tinkwell.core.value.run_key import RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import inspection, setting

# The engine forgets its older file when the other one is full.
LOG_FILES = 2
# What a container of a release gets where the settings say nothing, and the most that is kept of its output.
RELEASE_PIDS = 256
RELEASE_MEMORY_BYTES = 512 * 1024 * 1024
RELEASE_LOG_BYTES = 40 * 1024 * 1024


def host_config(spec: port.RunSpec, settings: setting.DockerSettings) -> dict[str, Any]:
    """Return the options that the SDK makes a host configuration of."""
    is_bounded = spec.key.kind is RunKind.RELEASE
    host: dict[str, Any] = {
        "binds": [*_binds(spec.mounts), *spec.volumes],
        "mounts": [
            Mount(each.target, each.source, type="bind", read_only=each.read_only)
            for each in spec.mounts
            if not each.may_create
        ],
        "pid_mode": spec.pid or None,
        "privileged": settings.is_privileged and not is_bounded,
        "log_config": _log_config(spec, settings, is_bounded=is_bounded),
        "pids_limit": settings.pids or (RELEASE_PIDS if is_bounded else None),
    }
    if memory_bytes := settings.memory_bytes or (RELEASE_MEMORY_BYTES if is_bounded else None):
        host |= {"mem_limit": memory_bytes, "memswap_limit": memory_bytes}  # without the second, it gets as much swap
    if settings.cpus is not None:
        host["nano_cpus"] = round(settings.cpus * 1e9)
    if is_bounded:
        host["security_opt"] = ["no-new-privileges"]
    return host


def _binds(mounts: Iterable[port.Mount]) -> list[str]:
    """Return the mounts that the engine, too, creates where they are missing on its machine."""
    return [f"{each.source}:{each.target}{':ro' if each.read_only else ''}" for each in mounts if each.may_create]


def _log_config(spec: port.RunSpec, settings: setting.DockerSettings, *, is_bounded: bool) -> dict[str, Any]:
    """Have the engine keep output, but not what is said to who has asked: that may be a secret."""
    if spec.answer_bytes:
        return {"type": inspection.NO_LOG}
    log_bytes = min(settings.log_bytes, RELEASE_LOG_BYTES) if is_bounded else settings.log_bytes
    return {"type": "json-file", "config": {"max-size": str(log_bytes // LOG_FILES), "max-file": str(LOG_FILES)}}
