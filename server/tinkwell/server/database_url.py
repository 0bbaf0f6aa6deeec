"""Reads the database's URL, for all connections of a server, by the rules of PostgreSQL's own programs.

PostgreSQL documents the parameters of such a URL (https://www.postgresql.org/docs/current/libpq-connect.html). The
driver knows some of them, so each is one of three kinds here:

    understood      the driver does what it asks for
    accepted        it asks for what is done anyway, with some of its values; it is refused with the others
    refused         nobody here can do it, so it is an error that names it, and never ignored in silence

No error and no text of this module shows a value: a password that holds a character which needs escaping makes any
part of the URL the end of that password.
"""

import difflib
import ipaddress
import re
import urllib.parse
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

# A host, empty if only a port is given, and its port, None for the default.
Place: TypeAlias = tuple[str, int | None]

EXAMPLE = "postgresql://USER:PASSWORD@HOST/DATABASE"
DEFAULT_PORT = 5432
# Each connection has a time limit, so `connect_timeout=0`, which means no limit for PostgreSQL's programs, is refused.
MAX_CONNECT_SECONDS = 600
# The limit for the path of a Unix socket, in Linux.
_LONGEST_SOCKET_BYTES = 107

# In the first form, a name or a password may contain no "/", "?" or "@", as PostgreSQL demands. In the second form they
# may, up to the last "@" that can end them, so that a password that was not escaped works all the same.
_FORMS = (
    re.compile(
        r"postgres(?:ql)?://(?:(?P<user>[^:/?@]*)(?::(?P<password>[^/?@]*))?@)?(?P<hosts>[^/?@]*)"
        r"(?:/(?P<database>[^?@]*))?(?:\?(?P<query>.*))?",
        re.DOTALL,
    ),
    re.compile(
        r"postgres(?:ql)?://(?P<user>[^:/]*)(?::(?P<password>[^@]*))?@(?P<hosts>[^/?@]*)"
        r"(?:/(?P<database>[^?@]*))?(?:\?(?P<query>.*))?",
        re.DOTALL,
    ),
)
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_TLS_VERSIONS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
# The parameters that repeat other parts of a URL; `database` is the driver's word for `dbname`.
_PARTS = ("user", "password", "dbname", "database", "host", "port")
TLS_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
# The driver accepts these only as parameters of a URL, under the same names.
_TLS = ("sslmode", *TLS_FILES, "sslpassword", "ssl_min_protocol_version", "ssl_max_protocol_version")
_CHOICES: Mapping[str, Collection[str]] = {
    "sslmode": _SSL_MODES,
    "sslnegotiation": ("postgres", "direct"),
    "ssl_min_protocol_version": _TLS_VERSIONS,
    "ssl_max_protocol_version": _TLS_VERSIONS,
}
# The driver accepts these as arguments with the same names.
_ARGUMENTS = ("krbsrvname", "passfile", "service")
_UNDERSTOOD = frozenset((*_PARTS, *_TLS, *_CHOICES, *_ARGUMENTS, "connect_timeout", "options"))
# The values that ask for what is done anyway, and why other values are impossible.
_ACCEPTED: Mapping[str, tuple[Collection[str], str]] = {
    "channel_binding": (("disable", "prefer"), "the driver cannot bind a login to its TLS connection"),
    "client_encoding": (("UTF8", "UTF-8", "utf8", "utf-8", "auto"), "all text is UTF-8 here"),
    "gssdelegation": (("0",), "the driver forwards no credentials"),
    "gssencmode": (("disable", "prefer"), "the driver encrypts by TLS alone"),
    "gsslib": (("gssapi",), "the driver has no other library"),
    "load_balance_hosts": (("disable",), "hosts are tried in their order"),
    "max_protocol_version": (("3.0", "3.2", "latest"), "the driver speaks version 3.0"),
    "min_protocol_version": (("3.0",), "the driver speaks version 3.0"),
    "replication": (("0", "false", "off", "no"), "a session for replication runs no statements"),
    "sslcertmode": (("allow",), "a certificate that is named is shown wherever a server asks for one"),
    "sslcompression": (("0",), "the driver does not compress"),
    "sslsni": (("1",), "the driver always names the host"),
    "target_session_attrs": (("any", "primary", "read-write"), "a server writes, and always looks for the primary"),
}
_KERNEL = "leave it out, and set it in the kernel (net.ipv4.tcp_keepalive_time and its like)"
_NO_OAUTH = "leave it out, and log in with a password or a certificate: the driver knows no OAuth"
# The advice for parameters that are refused.
_REFUSED: Mapping[str, str] = {
    "application_name": "leave it out: a server names each of its sessions by what it does, such as `tinkwell reader`",
    "hostaddr": "give the address as the host",
    "keepalives": _KERNEL,
    "keepalives_count": _KERNEL,
    "keepalives_idle": _KERNEL,
    "keepalives_interval": _KERNEL,
    "oauth_client_id": _NO_OAUTH,
    "oauth_client_secret": _NO_OAUTH,
    "oauth_issuer": _NO_OAUTH,
    "oauth_scope": _NO_OAUTH,
    "require_auth": "leave it out, and demand a server that is known by sslmode=verify-full",
    "requirepeer": "leave it out, and keep the socket in a folder that others cannot write to",
    "requiressl": "write sslmode=require",
    "scram_client_key": "give the password",
    "scram_server_key": "give the password",
    "servicefile": "name the file in the environment variable PGSERVICEFILE",
    "sslcrldir": "put the lists into one file and name that in sslcrl",
    "sslkeylogfile": "leave it out: it writes down what decrypts the connection",
    "tcp_user_timeout": "leave it out, and set it in the kernel (net.ipv4.tcp_retries2)",
}
# It counts only without an application_name, which a server always sets.
_WITHOUT_EFFECT = frozenset({"fallback_application_name"})
PARAMETERS = frozenset(_UNDERSTOOD | set(_ACCEPTED) | set(_REFUSED) | _WITHOUT_EFFECT)


class InvalidUrl(ValueError):
    """The URL cannot be used. The text says what to do, and shows none of its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseUrl:
    """The parts of a URL. Missing parts are taken from the environment variables of PostgreSQL's own programs."""

    hosts: tuple[str, ...] = ()
    # None for the default. There are as many as hosts, or a single one for all.
    ports: tuple[int | None, ...] = ()
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    tls: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Further arguments of the driver, by its names.
    more: Mapping[str, str | bool] = field(default_factory=dict)
    options: str | None = None
    connect_seconds: int | None = None

    def arguments(self, session: Mapping[str, str], *, connect_seconds: float) -> dict[str, Any]:
        """Return the arguments of `asyncpg.connect`.

        `session` are settings of the session, which override those in the URL's `options`.
        """
        found: dict[str, Any] = {
            "user": self.user,
            "password": self.password,
            "database": self.database,
            "host": list(self.hosts) or None,
            "port": self._driver_ports(),
            "dsn": self._driver_url(),
            **self.more,
        }
        given = {name: value for name, value in found.items() if value is not None}
        settings = {"options": self.options, **session} if self.options else dict(session)
        return {**given, "timeout": self.connect_seconds or connect_seconds, "server_settings": settings}

    def _driver_url(self) -> str | None:
        query = urllib.parse.urlencode(self.tls, quote_via=urllib.parse.quote, safe="/")
        return f"postgresql://?{query}" if query else None

    def _driver_ports(self) -> list[int] | None:
        if not any(self.ports):
            return None
        return [port or DEFAULT_PORT for port in self.ports]

    @property
    def place(self) -> str:
        """The URL without anything that may be secret, for messages."""
        ports = self.ports if len(self.ports) == len(self.hosts) else self.ports[:1] * len(self.hosts)
        pairs = list(zip(self.hosts, ports or (None,) * len(self.hosts), strict=True))
        named = ",".join(_shown(host, port) for host, port in pairs if not host.startswith("/"))
        query = [f"host={_shown(host, port)}" for host, port in pairs if host.startswith("/")]
        if "service" in self.more:
            query.append(f"service={self.more['service']}")
        user = f"{self.user}@" if self.user else ""
        return f"postgresql://{user}{named}/{self.database or ''}{'?' if query else ''}{'&'.join(query)}"

    @property
    def secrets(self) -> list[str]:
        """The texts that nobody may read. A password that equals the user's or the database's name is not one."""
        is_secret = self.password not in (None, self.user, self.database)
        return [secret for secret in (self.password if is_secret else None, self.tls.get("sslpassword")) if secret]


def parse(url: str) -> DatabaseUrl:
    """Read a URL; raises `InvalidUrl`."""
    _check_characters(url)
    problem = InvalidUrl(f"it must look like {EXAMPLE}, where a password has %40 for @ and %2F for /")
    for form in _FORMS:
        if (found := form.fullmatch(url)) is not None:
            try:
                authority = _places(found["hosts"], is_escaped=True)
            except InvalidUrl as error:
                problem = error
            else:
                return _read(found, authority)
    raise problem


def _check_characters(url: str) -> None:
    if url != url.strip():
        raise InvalidUrl("a blank or the end of a line stands before or behind it: take that away")
    if not url.isprintable():
        raise InvalidUrl("it holds a character that cannot be printed, such as the end of a line: take that away")
    try:
        text = urllib.parse.unquote_to_bytes(url).decode()
    except UnicodeDecodeError:
        raise InvalidUrl("what it escapes by % is no UTF-8: write %25 for a % that is meant as such") from None
    if "\0" in text:
        raise InvalidUrl("it holds a zero byte")


def _read(found: re.Match[str], authority: Sequence[Place]) -> DatabaseUrl:
    """Combine the parts of a URL and its parameters. Parameters override parts."""
    query = dict(_parameters(found["query"] or ""))
    parts = {name: urllib.parse.unquote(text) for name, text in found.groupdict().items() if text}
    last = parts | {name: values[-1] for name, values in query.items()}
    hosts, ports = _combined(authority, query.get("host", []), last.get("port"))
    more: dict[str, str | bool] = {name: last[name] for name in _ARGUMENTS if name in last}
    tls = _tls(last)
    if last.get("sslnegotiation") == "direct":
        if tls.get("sslmode") not in _SSL_MODES[3:] and tls.get("sslrootcert") != "system":
            raise InvalidUrl("its parameter sslnegotiation=direct needs sslmode=require, verify-ca or verify-full")
        more["direct_tls"] = True
    if tls.get("sslrootcert") == "system":
        # The driver's word for all that the system trusts, with a certificate for the host.
        more["ssl"], tls = True, {}
    return DatabaseUrl(
        hosts=hosts,
        ports=ports,
        user=last.get("user"),
        password=last.get("password"),
        database=last.get("dbname", last.get("database")),
        tls=tls,
        more=more,
        options=last.get("options"),
        connect_seconds=_connect_seconds(last.get("connect_timeout")),
    )


def _parameters(query: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each parameter that is not empty, with its values. Only a host may have several."""
    found: dict[str, list[str]] = {}
    for part in filter(None, query.split("&")):
        name, separator, value = part.partition("=")
        if not separator:
            raise InvalidUrl(f"it must look like {EXAMPLE}?NAME=VALUE&NAME=VALUE")
        name, value = urllib.parse.unquote(name), urllib.parse.unquote(value)
        if (name, value) == ("ssl", "true"):  # as JDBC writes it
            name, value = "sslmode", "require"
        if name not in PARAMETERS:
            raise InvalidUrl(_unknown(name))
        if value:
            found.setdefault(name, []).append(value)
    for name, values in found.items():
        if len(values) > 1 and name != "host":
            raise InvalidUrl(f"its parameter {name} is given more than once")
        _check(name, values[-1])
        yield name, values


def _check(name: str, value: str) -> None:
    if (advice := _REFUSED.get(name)) is not None:
        raise InvalidUrl(f"its parameter {name} is not supported: {advice}")
    if (choices := _CHOICES.get(name)) is not None and value not in choices:
        raise InvalidUrl(f"its parameter {name} must be {_any_of(choices)}")
    if (accepted := _ACCEPTED.get(name)) is not None and value not in accepted[0]:
        raise InvalidUrl(f"its parameter {name} can only be {_any_of(accepted[0])}: {accepted[1]}; or leave it out")


def _unknown(name: str) -> str:
    if not re.fullmatch(r"[a-z_]{1,40}", name):
        return "one of its parameters has a name that PostgreSQL does not know"
    close = difflib.get_close_matches(name, PARAMETERS, n=1)
    hint = f"did you mean {close[0]}?" if close else "a setting of the session is given as options=-c%20NAME%3DVALUE"
    return f"its parameter {name} is none that PostgreSQL knows; {hint}"


def _tls(query: Mapping[str, str]) -> dict[str, str]:
    tls = {name: query[name] for name in _TLS if name in query}
    lowest, highest = tls.get("ssl_min_protocol_version"), tls.get("ssl_max_protocol_version")
    if lowest and highest and _TLS_VERSIONS.index(lowest) > _TLS_VERSIONS.index(highest):
        raise InvalidUrl("its parameter ssl_min_protocol_version is above its ssl_max_protocol_version")
    if tls.get("sslrootcert") != "system":
        return tls
    if tls.get("sslmode", "verify-full") != "verify-full":
        raise InvalidUrl("its parameter sslrootcert=system needs sslmode=verify-full")
    for name in tls:
        if name not in ("sslmode", "sslrootcert"):
            raise InvalidUrl(f"its parameter {name} cannot be had together with sslrootcert=system: name a file there")
    return tls


def _connect_seconds(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MAX_CONNECT_SECONDS:
        raise InvalidUrl(f"its parameter connect_timeout must be a number of seconds from 1 to {MAX_CONNECT_SECONDS}")
    return int(text)


def _places(text: str, *, is_escaped: bool) -> list[Place]:
    return [_place(part, is_escaped=is_escaped) for part in text.split(",")] if text else []


def _combined(
    authority: Sequence[Place], named: Iterable[str], port: str | None
) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
    """Return hosts and ports: those before the path, or those in parameters, which override them."""
    listed = [place for text in named for place in _places(text, is_escaped=False)]
    has_own_ports = any(number for _, number in listed)
    if listed and not has_own_ports and len(authority) == 1 and not authority[0][0]:
        listed = [(host, authority[0][1]) for host, _ in listed]  # //:PORT/DATABASE?host=FOLDER
    places = listed or authority
    hosts, ports = tuple(host for host, _ in places), tuple(number for _, number in places)
    if len(hosts) > 1 and not all(hosts):
        raise InvalidUrl("one of its hosts is empty")
    if port is not None:
        if has_own_ports:
            raise InvalidUrl("its parameter port cannot be had together with ports in its parameter host")
        ports = tuple(read_port(text) for text in port.split(","))
        if len(ports) not in (1, max(len(hosts), 1)):
            raise InvalidUrl("its parameter port must be one number, or as many as there are hosts")
    for number, host in enumerate(hosts, 1):
        _check_host(host, "its host" if len(hosts) == 1 else f"host {number} of its {len(hosts)}")
    return tuple(filter(None, hosts)), ports


def _check_host(host: str, which: str) -> None:
    """Refuse a host that cannot be looked up.

    `which` names it in the message, because it may be the end of a password.
    """
    if host.startswith("/"):
        if len(f"{host}/.s.PGSQL.65535".encode()) > _LONGEST_SOCKET_BYTES:
            raise InvalidUrl(f"{which} is a folder whose path is too long for a socket in it")
    elif ":" in host:
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise InvalidUrl(f"{which} is no address of IPv6") from None
    elif host and not _is_name(host):
        raise InvalidUrl(f"{which} is no name, no address, and no folder, which would begin with / or %2F")


def _is_name(host: str) -> bool:
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return re.search(r"[\s/\\@#?<>\"'%=]", host) is None


def _place(text: str, *, is_escaped: bool) -> Place:
    """Split HOST:PORT, [ADDRESS]:PORT, or a text without a port: a folder, or an IPv6 address."""
    if text.startswith("/"):
        return text, None
    found = re.fullmatch(r"(?:\[([^\]]+)\]|([^:\[\]]*))(?::([^:]*))?", text)
    if found is None:
        if is_escaped or not re.fullmatch(r"[0-9a-fA-F:.]+", text):
            raise InvalidUrl("one of its hosts cannot be read; an address of IPv6 belongs into brackets")
        return text, None
    if found[1] and ":" not in found[1]:
        raise InvalidUrl("what stands in brackets must be an address of IPv6")
    host = found[1] or found[2] or ""
    return urllib.parse.unquote(host) if is_escaped else host, read_port(found[3] or "")


def read_port(text: str) -> int | None:
    """Read a port, or None for none. Raises `InvalidUrl`."""
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65_535:
        raise InvalidUrl("a port in it is no number from 1 to 65535; characters such as / in a password need escaping")
    return int(text)


def _shown(host: str, port: int | None) -> str:
    return (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")


def _any_of(choices: Iterable[str]) -> str:
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last
