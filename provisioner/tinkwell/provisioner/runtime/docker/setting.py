"""The operator's settings of containers, which hold for all actions."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

LOG_BYTES = 200 * 1024 * 1024


class PullPolicy(StrEnum):
    """When an image is pulled from its registry."""

    ALWAYS = "always"
    MISSING = "missing"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerSettings:
    """The engine to use, the source of images, and the limits of a container.

    If `host`, `cert_dir` or `config_file` is empty, the environment variables of Docker's own programs count; if
    `ssh_config` is empty, ssh's own files do. `registry` is put before the names of images that name no registry.
    `user` and `password` are for that registry or, if it is empty, for Docker Hub. A limit of None is no limit.
    `log_bytes` limits the output that the engine keeps of one run.
    """

    host: str = ""
    cert_dir: Path | None = None
    ssh_config: Path | None = None
    pull: PullPolicy = PullPolicy.MISSING
    registry: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    config_file: Path | None = None
    is_privileged: bool = False
    memory_bytes: int | None = None
    cpus: float | None = None
    pids: int | None = None
    log_bytes: int = LOG_BYTES
