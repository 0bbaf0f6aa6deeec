"""The way to an engine: a local socket, TCP with or without TLS, or ssh."""

import os
import socket
from pathlib import Path
from typing import Any

import docker
import requests
from docker import utils

from tinkwell.provisioner.runtime.docker import setting, ssh

_UNIX = "http+unix://"
# The SDK is told an address that it makes nothing of, and then the real one.
_NOWHERE = "tcp://localhost:1"
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

    Blocks for about `answer_seconds` at most, and some more by ssh; raises `OSError`, `ssh.SshError` and what the SDK
    raises.
    """
    arguments = utils.kwargs_from_env(_environment(settings))
    named = str(arguments.get("base_url") or "")
    if named.startswith(ssh.SCHEME):  # the SDK's way would have it ignore the port that ssh is configured with
        return _open_by_ssh(ssh.Target.parse(named, settings.ssh_config), connections, answer_seconds)
    url = str(utils.parse_host(arguments.get("base_url")))
    if url.startswith(_UNIX):
        _probe(url.removeprefix(_UNIX), answer_seconds)
    return _Client(version="auto", timeout=answer_seconds, max_pool_size=connections, **arguments)


def _open_by_ssh(target: ssh.Target, connections: int, answer_seconds: int) -> docker.APIClient:
    """Open a client by way of ssh; the SDK's own way needs another library, and has no time limits once it is open."""
    adapter = ssh.SshAdapter(target, connections)
    try:
        version = adapter.api_version(answer_seconds=answer_seconds)
        client = _Client(base_url=_NOWHERE, version=version, timeout=answer_seconds)
    except BaseException:
        adapter.close()
        raise
    client.mount(ssh.BASE_URL, adapter)
    client.base_url = ssh.BASE_URL
    return client


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
