"""Finds the credentials for pulling from a registry.

The login in the provisioner's settings comes first, for its own registry only. Then comes Docker's config.json, which
is read anew for each pull because it may change: `auths`, and the helper programs that `credHelpers` and `credsStore`
name. Credentials are sent only to the registry that they are for.
"""

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tinkwell.core.process_log import redaction
from tinkwell.core.value.image import DOCKER_HUB, registry_of
from tinkwell.provisioner.runtime.docker import setting

HELPER_SECONDS = 10
# The name of Docker Hub in config.json and in the protocol of the helpers.
_HUB_URL = "https://index.docker.io/v1/"
_HUB_HOSTS = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})
_TOKEN_USER = "<token>"  # noqa: S105  (a marker of the helpers' protocol)
_NOT_FOUND = "credentials not found"

Login: TypeAlias = dict[str, str]


class CredentialError(Exception):
    """Credentials are configured and cannot be read; the text says which and why."""


def header(settings: setting.DockerSettings, registry: str) -> str | None:
    """Return the header that logs in to a registry, None for an anonymous pull. It may block for `HELPER_SECONDS`."""
    login = _own_login(settings, registry) or _login_from_file(_config_file(settings), registry)
    if login is None:
        return None
    redaction.register(login.get("password", ""), login.get("identitytoken", ""))
    login["serveraddress"] = _address(registry)
    return base64.urlsafe_b64encode(json.dumps(login).encode()).decode("ascii")


def _own_login(settings: setting.DockerSettings, registry: str) -> Login | None:
    if not settings.user or registry != registry_of(f"{settings.registry}/"):
        return None
    return {"username": settings.user, "password": settings.password}


def _config_file(settings: setting.DockerSettings) -> Path | None:
    """Return the config.json to read, None if there is none. A file that the settings name must exist."""
    if settings.config_file is not None:
        return settings.config_file
    folder = os.environ.get("DOCKER_CONFIG")
    path = (Path(folder) if folder else Path.home() / ".docker") / "config.json"
    return path if path.exists() else None


def _login_from_file(path: Path | None, registry: str) -> Login | None:
    if path is None:
        return None
    try:
        config = json.loads(path.read_bytes())
        helper = _entry(config.get("credHelpers") or {}, registry) or config.get("credsStore")
        login = _read_login(_entry(config.get("auths") or {}, registry))
    except OSError as error:
        raise CredentialError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise CredentialError(f"{path} is no Docker config.json: {error}") from error
    return (_ask_helper(str(helper), registry) if helper else None) or login


def _entry(entries: Mapping[str, Any], registry: str) -> Any:
    """Return the entry of a registry, whose key may be a URL; None if there is none."""
    for key, entry in entries.items():
        host = key.removeprefix("https://").removeprefix("http://").partition("/")[0]
        if host == registry or {host, registry} <= _HUB_HOSTS:
            return entry
    return None


def _read_login(entry: Mapping[str, str] | None) -> Login | None:
    """Read an entry of `auths`; None if it is empty, because a helper has the login."""
    if not entry:
        return None
    if token := entry.get("identitytoken"):
        return {"identitytoken": token}
    user, password = entry.get("username", ""), entry.get("password", "")
    if auth := entry.get("auth"):
        user, _, password = base64.b64decode(auth, validate=True).decode().partition(":")
    return {"username": user, "password": password} if user else None


def _ask_helper(name: str, registry: str) -> Login | None:
    """Ask a helper program for a login: it gets the registry on stdin and writes JSON to stdout."""
    program = f"docker-credential-{name}"
    try:
        asked = subprocess.run(  # noqa: S603
            [program, "get"],
            input=_address(registry),
            capture_output=True,
            text=True,
            timeout=HELPER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CredentialError(f"{program} does not answer: {error}") from error
    if asked.returncode:
        said = (asked.stdout or asked.stderr).strip()
        if _NOT_FOUND in said.lower():
            return None
        raise CredentialError(f"{program} fails: {said}")
    try:
        answer = json.loads(asked.stdout)
        user, secret = str(answer["Username"]), str(answer["Secret"])
    except (ValueError, KeyError, TypeError) as error:
        raise CredentialError(f"{program} answers with something other than a login") from error
    return {"identitytoken": secret} if user == _TOKEN_USER else {"username": user, "password": secret}


def _address(registry: str) -> str:
    return _HUB_URL if registry in _HUB_HOSTS else registry
