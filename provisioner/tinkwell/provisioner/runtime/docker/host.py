"""Builds the host configuration of a container, from the operator's settings and the kind of the run.

Actions of workflows are the operator's own, and get what the settings say. The authors of releases' images are not
trusted with the host, so containers of releases have limits even if the settings set none, and never have privileges.
"""

from collections.abc import Iterable
from typing import Any

from docker.types import Mount

from tinkwell.core.value.run_key import RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import inspection, setting

# The engine keeps the output in this many files, and drops the oldest when the newest is full.
LOG_FILES = 2
# Limits of a container of a release if the settings have none, and the limit for its output in any case.
RELEASE_PIDS = 256
RELEASE_MEMORY_BYTES = 512 * 1024 * 1024
RELEASE_LOG_BYTES = 40 * 1024 * 1024


def host_config(spec: port.RunSpec, settings: setting.DockerSettings) -> dict[str, Any]:
    """Return the options for the SDK's `create_host_config`."""
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
        host |= {"mem_limit": memory_bytes, "memswap_limit": memory_bytes}  # The second one rules out swap.
    if settings.cpus is not None:
        host["nano_cpus"] = round(settings.cpus * 1e9)
    if is_bounded:
        host["security_opt"] = ["no-new-privileges"]
    return host


def _binds(mounts: Iterable[port.Mount]) -> list[str]:
    """Return the mounts that `may_create` as binds: the engine creates their sources if they are missing."""
    return [f"{each.source}:{each.target}{':ro' if each.read_only else ''}" for each in mounts if each.may_create]


def _log_config(spec: port.RunSpec, settings: setting.DockerSettings, *, is_bounded: bool) -> dict[str, Any]:
    """Have the engine keep the output, unless the run is asked for an answer, because an answer may be a secret."""
    if spec.answer_bytes:
        return {"type": inspection.NO_LOG}
    log_bytes = min(settings.log_bytes, RELEASE_LOG_BYTES) if is_bounded else settings.log_bytes
    return {"type": "json-file", "config": {"max-size": str(log_bytes // LOG_FILES), "max-file": str(LOG_FILES)}}
