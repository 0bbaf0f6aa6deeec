"""Connects to the primary: tries the hosts of a URL in turn, and says of each why it will not do.

A server writes, so that a session of a standby is of no use to it, however many hosts its URL names. The driver would
find the primary as well, but it gives all hosts one limit of time, which the first one uses up when its machine is
gone, and it tells of the last one alone.
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

# A host and its port; None for what the driver itself takes where nothing names a host.
Place: TypeAlias = tuple[str, int] | None

# With these the next host may do better. Whoever is refused by one, for a password say, would not be wanted elsewhere.
_NEXT = (
    OSError,
    UnicodeError,  # a name that cannot be looked up
    asyncpg.OperatorInterventionError,  # it starts or stops
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
)
# The host that was the primary last, of each set of hosts that this process has connected to.
_primary: dict[tuple[Place, ...], Place] = {}


class CannotConnect(ConnectionError):
    """No host is the primary; the text says of each what is wrong with it, and `causes` has it as it was raised."""

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
    """Do what `asyncpg.connect` does, whose arguments these are, and lead to the primary.

    The host that was the primary last is tried first, then the others in their order. `timeout` is in seconds, for all
    of them; each gets an equal share of what is left, so that the last one has its turn. Raises `CannotConnect`, and
    what the driver raises when a host refuses this account, or when the arguments cannot be used.
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
            # The driver does not look closely at what the environment or a service says.
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
    """Return where to try, as PostgreSQL's programs do: what is said, or else what their variables say."""
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
    """Say in a sentence what is wrong with a host."""
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
