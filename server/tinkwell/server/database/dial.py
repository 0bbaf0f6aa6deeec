"""Connects to the primary: tries the hosts of a URL in turn, and reports for each why it cannot be used.

A server writes, so it cannot use a session of a standby, whichever hosts its URL names. The driver finds the primary,
too, but it has one time limit for all hosts, which the first one uses up if its machine is gone, and it reports only
the last error.
"""

import asyncio
import configparser
import errno
import os
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import asyncpg

from tinkwell.server import database_url as urls

# A host and its port. None stands for the driver's default if no host is named.
Place: TypeAlias = tuple[str, int] | None

# After these errors the next host is tried. After others, such as a wrong password, it would fail in the same way.
_NEXT = (
    OSError,
    UnicodeError,  # a name that cannot be looked up
    asyncpg.OperatorInterventionError,  # it starts or stops
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
)
# The host that was the primary last, for each set of hosts that this process has connected to.
_primary: dict[tuple[Place, ...], Place] = {}


class CannotConnect(ConnectionError):
    """No host is the primary. The text says for each why, and `causes` has the errors."""

    def __init__(self, faults: Sequence[tuple[str, BaseException]]) -> None:
        sentences = [sentence for sentence, _ in faults]
        super().__init__(sentences[0] if len(sentences) == 1 else f"no host is the primary: {'; '.join(sentences)}")
        self.causes = tuple(error for _, error in faults)


async def connect(
    dsn: str | None = None,
    *,
    timeout: float,
    host: Sequence[str] | None = None,
    port: Sequence[int] | None = None,
    **others: Any,
) -> asyncpg.Connection:
    """Connect to the primary. The arguments are those of `asyncpg.connect`.

    The host that was the primary last is tried first, then the others in order. `timeout` is in seconds, for all hosts;
    each gets an equal share of the time that is left, so that the last one is tried, too. Raises `CannotConnect`, and
    the driver's errors if a host refuses this account, or if the arguments cannot be used.
    """
    places = _places(host, port, is_by_service="service" in others)
    deadline = asyncio.get_running_loop().time() + timeout
    faults: list[tuple[str, BaseException]] = []
    for count, place in enumerate(_in_turn(places)):
        left = deadline - asyncio.get_running_loop().time()
        seconds = max(left, 0.0) / (len(places) - count)
        try:
            connection = await _try(dsn, place, seconds, port, others)
        except _NEXT as error:
            faults.append((_fault(place, error, others), error))
        except asyncpg.ClientConfigurationError:
            raise
        except (ValueError, configparser.Error) as error:
            # The driver does not check the values from the environment or a service file.
            raise asyncpg.ClientConfigurationError(f"a variable or the service cannot be used: {error}") from error
        else:
            _primary[places] = place
            return connection
    raise CannotConnect(faults) from faults[-1][1]


async def _try(
    dsn: str | None, place: Place, seconds: float, port: Sequence[int] | None, others: Mapping[str, Any]
) -> asyncpg.Connection:
    where: dict[str, Any] = {"port": port} if place is None else {"host": [place[0]], "port": [place[1]]}
    chosen = {**others, "target_session_attrs": "primary"}
    return await asyncpg.connect(dsn, timeout=seconds, **where, **chosen)


def _places(host: Sequence[str] | None, port: Sequence[int] | None, *, is_by_service: bool) -> tuple[Place, ...]:
    """Return the hosts to try, as PostgreSQL's programs do: the given ones, or else those of the environment."""
    hosts = host or [] if is_by_service else host or _variable("PGHOST")
    ports = list(port or map(_port, _variable("PGPORT"))) or [urls.DEFAULT_PORT]
    if not hosts:
        return (None,)
    if len(ports) not in (1, len(hosts)):
        raise asyncpg.ClientConfigurationError(
            f"there are {len(hosts)} hosts and {len(ports)} ports: give one port, or as many as there are hosts"
        )
    return tuple(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=True))


def _in_turn(places: tuple[Place, ...]) -> list[Place]:
    last = _primary.get(places, places[0])
    return [last, *(place for place in places if place != last)]


def _variable(name: str) -> list[str]:
    return os.environ[name].split(",") if os.environ.get(name) else []


def _port(text: str) -> int:
    try:
        return urls.read_port(text) or urls.DEFAULT_PORT
    except urls.InvalidUrl as error:
        raise asyncpg.ClientConfigurationError("the variable PGPORT must be a number from 1 to 65535") from error


def _fault(place: Place, error: BaseException, arguments: Mapping[str, Any]) -> str:
    """Return a sentence about the error of a host."""
    where = _where(place, arguments)
    match error:
        case asyncpg.TargetServerAttributeNotMatched():
            return f"{where} is a standby, and a server needs the primary"
        case TimeoutError():
            return f"{where} does not answer in time"
        case socket.gaierror():
            return f"the host of {where} cannot be found: {error.strerror}"
        case UnicodeError():
            return f"the host of {where} is no name"
        case FileNotFoundError() | ConnectionRefusedError():
            return f"no PostgreSQL listens at {where}"
        case PermissionError():
            return f"this account may not use {where}"
        case _:
            return _otherwise(where, error)


def _otherwise(where: str, error: BaseException) -> str:
    said = str(error).split("\n", 1)[0] or type(error).__name__
    if set(re.findall(r"\[Errno (-?\d+)\]", said)) == {str(errno.ECONNREFUSED)}:
        return f"no PostgreSQL listens at {where}"
    said = re.sub(r"\[Errno -?\d+\] ", "", said)
    return said if where in said else f"{where} cannot be used: {said}"


def _where(place: Place, arguments: Mapping[str, Any]) -> str:
    if place is None:
        service = arguments.get("service")
        return f"the host of the service {service}" if service else "the default places, as no host is named"
    host, port = place
    if host.startswith("/"):
        return f"the socket {host.rstrip('/')}/.s.PGSQL.{port}"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
