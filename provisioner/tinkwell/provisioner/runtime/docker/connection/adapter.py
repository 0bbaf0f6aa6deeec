"""Sends the HTTP requests of the `docker` SDK to one engine, where the SDK's own connections do not do."""

import contextlib
from collections.abc import Mapping
from typing import Any

import requests
import urllib3

# The engine's address to the SDK, which leaves the way there to what is mounted below it.
SCHEME = "http+docker://"


class NotReached(Exception):
    """No engine is reached. This is no `OSError`, which HTTP libraries would wrap beyond recognition."""


class EngineAdapter(requests.adapters.HTTPAdapter):
    """What `requests` sends requests by: all go to one engine, whose name messages use, through one pool."""

    def __init__(self, pool: urllib3.HTTPConnectionPool, *, name: str) -> None:
        super().__init__()
        self._pool = pool
        self._name = name

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> urllib3.HTTPConnectionPool:
        """Return the pool, whatever the environment says about proxies."""
        return self._pool

    def request_url(self, request: requests.PreparedRequest, proxies: Mapping[str, str] | None) -> str:
        """Return the path alone."""
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
