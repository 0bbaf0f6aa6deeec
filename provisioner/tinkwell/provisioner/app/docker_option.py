"""The command line's options for containers.

Like `commands` it is imported to show help, so what costs time is imported inside the functions.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click

F = TypeVar("F", bound=Callable[..., object])

_SIZE = re.compile(r"(\d{1,15})([kmgt]?)(?:i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
# The least memory that engines accept, and the least log that is worth its file.
MIN_MEMORY_BYTES = 6 * 1024 * 1024
MIN_LOG_BYTES = 100 * 1024


def setting(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Build an option with its environment variable, which the help shows."""
    variable = f"TINKWELL_{names[0].removeprefix('--').replace('-', '_').upper()}"
    settings: dict[str, Any] = {"envvar": variable, "show_envvar": True} | attributes
    return click.option(*names, **settings)


class Size(click.ParamType[int]):
    """A number of bytes, such as 512m or 2GiB; as in Docker's own options, k, m, g and t are powers of 1,024."""

    name = "size"

    def __init__(self, least_bytes: int) -> None:
        self._least_bytes = least_bytes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return bytes."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value.strip())
        if match is None:
            self.fail(f"{value!r} is not a size; write it as 512m or 2g", param, ctx)
        size: int = int(match[1]) * 1024 ** _POWERS[match[2].lower()]
        if size < self._least_bytes:
            self.fail(f"{value!r} is less than {self._least_bytes:,} bytes", param, ctx)
        return size


def _registry(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    """Check the registry, which becomes the beginning of images' names."""
    from tinkwell.core import errors
    from tinkwell.core.value import image

    prefix = (value or "").rstrip("/")
    if not prefix:
        return ""
    try:
        image.parse_image("registry", f"{prefix}/name")
    except errors.InvalidField as error:
        message = f"{prefix!r} is no registry; write it as registry.example.com:5000 or registry.example.com/folder"
        raise click.BadParameter(message, ctx, param) from error
    if not image.host_of(f"{prefix}/name"):
        message = f"{prefix!r} would not be taken for a host; name its port or its domain, too, as in {prefix}:5000"
        raise click.BadParameter(message, ctx, param)
    return prefix


OPTIONS = (
    setting("--docker-host", metavar="URL", help="For containers: the engine.  [default: as DOCKER_HOST says]"),
    setting(
        "--docker-cert-path",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="For containers: talk TLS to the engine, with ca.pem, cert.pem and key.pem of this folder.  "
        "[default: as DOCKER_TLS_VERIFY and DOCKER_CERT_PATH say]",
    ),
    setting(
        "--docker-ssh-config",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        metavar="FILE",
        help="For containers: how ssh reaches an engine at ssh://.  [default: ~/.ssh/config]",
    ),
    setting(
        "--docker-pull",
        type=click.Choice(["always", "missing", "never"]),
        default="missing",
        show_default=True,
        help="For containers: when an image is fetched from its registry.",
    ),
    setting(
        "--docker-registry",
        callback=_registry,
        metavar="HOST[:PORT][/FOLDER]",
        help="For containers: where images come from whose names name no registry.  [default: Docker Hub]",
    ),
    setting("--docker-registry-user", metavar="USER", help="For containers: who logs in to that registry."),
    setting(
        "--docker-registry-password",
        metavar="PASSWORD",
        help="For containers: the user's password. In the environment it is not seen by everybody on the machine.",
    ),
    setting(
        "--docker-config",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="For containers: credentials for registries, as docker login writes them.  "
        "[default: $DOCKER_CONFIG/config.json or ~/.docker/config.json]",
    ),
    setting(
        "--docker-privileged",
        is_flag=True,
        help="For containers: give them all of the machine, which actions that write disks or boot kernels need.",
    ),
    setting(
        "--docker-memory",
        type=Size(MIN_MEMORY_BYTES),
        help="For containers: memory of each, such as 512m, with no swap beside it.  "
        "[default: no limit; for releases 512m]",
    ),
    setting(
        "--docker-cpus",
        type=click.FloatRange(0.01, 10_000),
        help="For containers: processors of each, such as 1.5.  [default: no limit]",
    ),
    setting(
        "--docker-pids",
        type=click.IntRange(1, 4_194_304),
        help="For containers: processes and threads of each.  [default: no limit; for releases 256]",
    ),
    setting(
        "--docker-log-size",
        type=Size(MIN_LOG_BYTES),
        default="200m",
        show_default=True,
        help="For containers: how much of one run's output the engine keeps until it has been read.",
    ),
)


def settings_of(options: dict[str, Any]) -> Any:
    """Return what the options say as `DockerSettings`; raises `click.UsageError` for half a login."""
    from tinkwell.provisioner.runtime.docker import setting as docker_setting

    user, password = options["docker_registry_user"] or "", options["docker_registry_password"] or ""
    if bool(user) != bool(password):
        raise click.UsageError("--docker-registry-user and --docker-registry-password go together")
    return docker_setting.DockerSettings(
        host=options["docker_host"] or "",
        cert_dir=options["docker_cert_path"],
        ssh_config=options["docker_ssh_config"],
        pull=docker_setting.PullPolicy(options["docker_pull"]),
        registry=options["docker_registry"],
        user=user,
        password=password,
        config_file=options["docker_config"],
        is_privileged=options["docker_privileged"],
        memory_bytes=options["docker_memory"],
        cpus=options["docker_cpus"],
        pids=options["docker_pids"],
        log_bytes=options["docker_log_size"],
    )
