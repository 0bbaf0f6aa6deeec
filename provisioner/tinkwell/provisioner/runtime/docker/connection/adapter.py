"""Sends the HTTP requests of the `docker` SDK to one engine, in place of the SDK's own connections."""

import contextlib
from collections.abc import Mapping
from typing import Any

import requests
import urllib3

# The scheme of the engine's address in the SDK. The adapter that is mounted for it makes the connections.
SCHEME = "http+docker://"


class NotReached(Exception):
    """No engine is reached. It is no `OSError`, because HTTP libraries would wrap that in errors of their own."""


class EngineAdapter(requests.adapters.HTTPAdapter):
    """An adapter of `requests` that sends all requests to one engine, through one pool. `name` is for messages."""

    def __init__(self, pool: urllib3.HTTPConnectionPool, *, name: str) -> None:
        super().__init__()
        self._pool = pool
        self._name = name

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> urllib3.HTTPConnectionPool:
        """Return the pool, and ignore proxies of the environment."""
        return self._pool

    def request_url(self, request: requests.PreparedRequest, proxies: Mapping[str, str] | None) -> str:
        """Return only the path, since there is no proxy."""
        return request.path_url

    def api_version(self, *, answer_seconds: int) -> str:
        """Ask the engine for its API's version; raises `NotReached`."""
        request = requests.Request("GET", f"{SCHEME}localhost/version").prepare()
        try:
            with contextlib.closing(self.send(request, timeout=answer_seconds)) as answer:
                answer.raise_for_status()
                return str(answer.json()["ApiVersion"])
        except requests.Timeout as error:
            raise NotReached(f"{self._name} gives no answer within {answer_seconds} s") from error
        except (requests.RequestException, ValueError, KeyError, TypeError) as error:
            raise NotReached(f"{self._name} does not answer as a Docker Engine does: {error}") from error

    def close(self) -> None:
        """End all connections."""
        self._pool.close()
        super().close()
