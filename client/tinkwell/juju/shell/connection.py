"""The connection to the server, which the environment describes: Juju's command line has no options for it.

Its variables are those of `tinkwell`: TINKWELL_SERVER, TINKWELL_TOKEN, TINKWELL_TLS, TINKWELL_TLS_CA, …_CERT, …_KEY,
…_SERVER_NAME and TINKWELL_TIMEOUT.
"""

import getpass
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tinkwell.core.process_log import redaction
from tinkwell.juju.shell import duration, failure

if TYPE_CHECKING:
    from tinkwell.client import TLS, Client

_DEFAULT_SERVER = "localhost:50051"
_DEFAULT_TIMEOUT = "30s"
_VARIABLES = {
    "address": "TINKWELL_SERVER",
    "token": "TINKWELL_TOKEN",
    "tls": "TINKWELL_TLS_CERT",
    "tls.ca": "TINKWELL_TLS_CA",
    "tls.cert": "TINKWELL_TLS_CERT",
    "tls.key": "TINKWELL_TLS_KEY",
}
_NO = ("", "0", "false", "no", "off")


def open_client(environment: Mapping[str, str]) -> "Client":
    """Return a client, which connects at its first call. Raises `Failure` for a wrong variable."""
    from tinkwell import client as library  # gRPC costs start-up time, see main

    token = environment.get("TINKWELL_TOKEN") or None
    if token:
        redaction.register(token)
    try:
        return library.connect(
            environment.get("TINKWELL_SERVER") or _DEFAULT_SERVER,
            token=token,
            tls=_tls(environment),
            actor=_actor(),
            timeout_seconds=_timeout(environment),
        )
    except library.errors.InvalidField as error:
        violation = error.violations[0]
        name = _VARIABLES.get(violation.field, violation.field)
        raise failure.Failure(f"{name}: {violation.description}") from error


def _tls(environment: Mapping[str, str]) -> "TLS | None":
    from tinkwell import client as library  # gRPC costs start-up time, see main

    parts = [environment.get(f"TINKWELL_TLS_{name}") or None for name in ("CA", "CERT", "KEY", "SERVER_NAME")]
    is_wanted = environment.get("TINKWELL_TLS", "").lower() not in _NO
    return library.TLS(*parts) if is_wanted or any(parts) else None


def _timeout(environment: Mapping[str, str]) -> float:
    text = environment.get("TINKWELL_TIMEOUT") or _DEFAULT_TIMEOUT
    try:
        found = duration.seconds(text)
    except ValueError as error:
        raise failure.Failure(f"TINKWELL_TIMEOUT: {error}") from error
    if not found:
        raise failure.Failure(f"TINKWELL_TIMEOUT: {text!r} leaves no time for an answer; write it as 30s or 5m")
    return found


def _actor() -> str | None:
    """Return the user's name for the event log; None if a header cannot carry the name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return None
    return name if name and name.isascii() and name.isprintable() else None
