"""Opens a client of an engine: by a Unix socket, by TCP with or without TLS, or by ssh."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import requests
from docker import utils

from tinkwell.provisioner.runtime.docker import setting
from tinkwell.provisioner.runtime.docker.connection import adapter, ssh, unix

_UNIX = "http+unix://"
# The SDK checks the address that its client is made with, so it first gets this one, and then the real one.
_NOWHERE = "tcp://localhost:1"
_CERT_FILES = ("ca.pem", "cert.pem", "key.pem")


class _Client(docker.APIClient):
    """The SDK's client, which trusts the engine's certificate authority even if the environment names another one.

    `requests` prefers `REQUESTS_CA_BUNDLE` to the setting of a client, but not to the setting of a request.
    """

    def __init__(self, **options: Any) -> None:
        try:
            super().__init__(**options)
        except BaseException:
            self.close()  # The SDK may have opened a connection to ask for the engine's version.
            raise

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        """Make a request."""
        return super().request(*arguments, **{"verify": self.verify} | options)


def open_client(settings: setting.DockerSettings, *, connections: int, answer_seconds: int) -> docker.APIClient:
    """Open a client of the engine that the settings or the environment name, with the engine's API version.

    It blocks for about `answer_seconds` at most, and longer by ssh. Raises `OSError`, `adapter.NotReached` and errors
    of the SDK, and leaves nothing open then.
    """
    arguments = utils.kwargs_from_env(_environment(settings))
    named = str(arguments.get("base_url") or "")
    if named.startswith(ssh.SCHEME):
        # The SDK's own ssh support needs another library, has no time limits once it is connected, and ignores the
        # port of ssh's configuration.
        by_ssh = ssh.SshAdapter(ssh.Target.parse(named, settings.ssh_config), connections)
        return _open_by(by_ssh, {"base_url": _NOWHERE}, answer_seconds)
    url = str(utils.parse_host(arguments.get("base_url")))
    if url.startswith(_UNIX):
        path = "/" + url.removeprefix(_UNIX).lstrip("/")
        return _open_by(unix.UnixAdapter(path, connections), arguments, answer_seconds)
    return _Client(version="auto", timeout=answer_seconds, max_pool_size=connections, **arguments)


def is_local(client: docker.APIClient) -> bool:
    """Return whether a client reaches its engine by a Unix socket of this machine."""
    return isinstance(client.adapters.get(adapter.SCHEME), unix.UnixAdapter)


def _open_by(way: adapter.EngineAdapter, arguments: Mapping[str, object], answer_seconds: int) -> docker.APIClient:
    """Open a client that sends its requests by an adapter of this package."""
    try:
        client = _Client(version=way.api_version(answer_seconds=answer_seconds), timeout=answer_seconds, **arguments)
    except BaseException:
        way.close()
        raise
    client.base_url = f"{adapter.SCHEME}localhost"
    client.mount(adapter.SCHEME, way)
    return client


def _environment(settings: setting.DockerSettings) -> dict[str, str]:
    """Return the environment with the values of the settings in place of its own."""
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
