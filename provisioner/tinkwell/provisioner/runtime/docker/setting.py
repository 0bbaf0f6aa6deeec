"""What an operator decides about containers, whatever the actions say."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

LOG_BYTES = 200 * 1024 * 1024


class PullPolicy(StrEnum):
    """When an image is fetched from its registry."""

    ALWAYS = "always"
    MISSING = "missing"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerSettings:
    """Which engine, whose images, and how much of the machine a container gets.

    Without `host`, `cert_dir` or `config_file`, what Docker's own programs take from the environment counts; without
    `ssh_config`, ssh's own files do. `registry`
    is put before the names of images that name no registry. `user` and `password` are for that registry, or, without
    it, for Docker Hub. A limit that is None is none. `log_bytes` bounds what the engine keeps of one run's output.
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
