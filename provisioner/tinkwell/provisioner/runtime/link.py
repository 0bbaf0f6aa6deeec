"""The way to an engine: a local socket, TCP with or without TLS, or ssh."""

import importlib.util
import os
import socket
from pathlib import Path
from typing import Any

import docker
import requests
from docker import utils

from tinkwell.provisioner.runtime import setting

_UNIX, _SSH = "http+unix://", "ssh://"
_CERT_FILES = ("ca.pem", "cert.pem", "key.pem")


class _Client(docker.APIClient):
    """The SDK's client, which trusts the engine's own authority, also where the environment names one for the web.

    The library below the SDK prefers `REQUESTS_CA_BUNDLE` to what a client was told, unless the request says it again.
    """

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        """Make a request."""
        return super().request(*arguments, **{"verify": self.verify} | options)


def open_client(settings: setting.DockerSettings, *, connections: int, answer_seconds: int) -> docker.APIClient:
    """Open a client of the engine that the settings or the environment name, and agree on a version of its API.

    Blocks for about `answer_seconds` at most; raises `OSError` and what the SDK raises.
    """
    arguments = utils.kwargs_from_env(_environment(settings))
    url = str(utils.parse_host(arguments.get("base_url")))
    if url.startswith(_UNIX):
        _probe(url.removeprefix(_UNIX), answer_seconds)
    if url.startswith(_SSH):
        _check_ssh(url)
    return _Client(version="auto", timeout=answer_seconds, max_pool_size=connections, **arguments)


def _environment(settings: setting.DockerSettings) -> dict[str, str]:
    """Return the environment as if it said what the settings say."""
    environment = dict(os.environ)
    if settings.host:
        environment["DOCKER_HOST"] = settings.host
    if settings.cert_dir is not None:
        environment |= {"DOCKER_CERT_PATH": str(settings.cert_dir), "DOCKER_TLS_VERIFY": "1"}
    if folder := environment.get("DOCKER_CERT_PATH"):
        missing = [name for name in _CERT_FILES if not (Path(folder) / name).is_file()]
        if missing:
            raise OSError(f"TLS to the engine needs {', '.join(_CERT_FILES)} in {folder}, and {missing[0]} is missing")
    return environment


def _probe(path: str, answer_seconds: int) -> None:
    """Raise `OSError` where a local socket leads nowhere; the SDK tells that less plainly and leaks a socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(answer_seconds)
        try:
            probe.connect(path)
        except OSError as error:
            raise OSError(f"{path}: {error.strerror or error}") from error


def _check_ssh(url: str) -> None:
    """Raise `OSError` where the SDK lacks what it does ssh with."""
    if importlib.util.find_spec("paramiko") is None:
        host = url.removeprefix(_SSH)
        raise OSError(
            f"{url} needs the Python package paramiko, which is not installed. Without it, forward the engine's socket "
            f"(ssh -N -L /run/tinkwell-docker.sock:/var/run/docker.sock {host.partition(':')[0]}) and take "
            "unix:///run/tinkwell-docker.sock for the host"
        )
