"""The settings of a server, and the places where they may be set.

An option of the command wins over the environment (`TINKWELL_` and the setting's name in capitals), which wins over a
TOML file. An unknown name is an error in all three places, so that a misspelt setting is not ignored silently. Only
service links of Kubernetes (`service_link`) are ignored.
"""

import ipaddress
import os
import tomllib
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
import pydantic_settings

from tinkwell.core import access
from tinkwell.core.process_log import redaction
from tinkwell.server import database_url as urls
from tinkwell.server import service_link, setting_name, url_file

_DEFAULT_FILE = Path("tinkwell.toml")
_MEBIBYTE = 1 << 20
_SHORTEST_RETENTION_SECONDS = 60
# Settings whose variables contain JSON.
_TABLES = {"tokens": '{"alice": "TOKEN"}', "roles": '{"alice": "reader"}'}

Port = Annotated[int, pydantic.Field(ge=0, le=65_535)]
Name = Annotated[str, pydantic.StringConstraints(min_length=1, max_length=100, pattern=r"^[^\s]+$")]


class InvalidSettings(Exception):
    """Settings are missing or wrong. Each line of the text names one and says what is wrong."""


class Settings(pydantic_settings.BaseSettings):
    """The settings of one server. Made from its arguments alone; `load` reads the environment and the file."""

    model_config = pydantic_settings.SettingsConfigDict(
        env_prefix=setting_name.PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    database_url: pydantic.SecretStr
    """postgresql://USER:PASSWORD@HOST/DATABASE, or `?host=DIRECTORY` for a Unix socket, with PostgreSQL's parameters.

    Sessions must be the server's own, as notifications and revisions belong to them: no pooler of transactions between.
    """
    throwaway_database: bool = False
    """Accept a database that a crash of the machine would damage (fsync = off)."""
    pool_size: int = pydantic.Field(default=10, ge=1, le=500)
    """Connections to the database that requests share, in each worker."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` or `::` for all of the machine's."""
    port: Port = 50_051
    """gRPC port; 0 takes a free one."""
    http_port: Port = 8_080
    """Port of health checks, metrics and phone calls of machines; 0 takes a free one."""
    max_http_connections: int = pydantic.Field(default=1_000, ge=1, le=100_000)
    """Connections to the HTTP port that may be open at once; at most a quarter of the files that it may open."""
    max_http_connections_per_address: int = pydantic.Field(default=100, ge=1, le=100_000)
    """Connections to the HTTP port from one address, or from one /64 of IPv6; never more than half of all."""
    phone_home: bool = True
    """Let machines announce themselves by `POST /phone-home` on the HTTP port; their address tells which they are."""
    trusted_proxies: str = ""
    """Addresses and networks, joined by commas, of proxies before the HTTP port, whose X-Forwarded-For is believed.

    The bound on connections from one address does not hold for them.
    """
    enrol_unknown: bool = False
    """Make a machine of an unknown one that announces itself."""
    max_enrolled: int = pydantic.Field(default=1_000, ge=1, le=1_000_000)
    """How many machines there may be that enrolled themselves."""
    workers: int = pydantic.Field(default=1, ge=1, le=64)
    """Processes that share the gRPC port. Each is a whole server, for which each bound holds by itself."""
    server_cert: pydantic.FilePath | None = None
    """PEM file of the server's certificate chain; turns TLS on."""
    server_key: pydantic.FilePath | None = None
    """PEM file of the private key of `server_cert`."""
    client_ca: pydantic.FilePath | None = None
    """PEM file of the authorities whose certificates clients must show."""
    tink_port: Port | None = None
    """Port for Tinkerbell's own tools, which come with TLS and no token; off unless set, 0 takes a free one."""
    tink_cert: pydantic.FilePath | None = None
    """PEM file of the certificate chain to show on `tink_port`, which `/cert` tells; without it, `server_cert`."""
    tink_key: pydantic.FilePath | None = None
    """PEM file of the private key of `tink_cert`."""
    tokens: dict[Name, pydantic.SecretStr] = pydantic.Field(default_factory=dict)
    """Bearer tokens by the name of their owner; with none, everybody is admitted, as an admin."""
    roles: dict[Name, access.Role] = pydantic.Field(default_factory=dict)
    """What the owners of tokens may do: admin, operator, reader or agent; who is not named is an admin."""
    secret_keys: pydantic.FilePath | None = None
    """File of the keys that seal secrets; without it, requests that have secrets are refused."""
    allow_exec: bool = False
    """Let admins run any command on units; actions of charms need no leave."""
    reflection: bool = True
    """Let tools such as grpcurl ask for the services' descriptions: where there are tokens, with one of them."""
    max_concurrent_streams: int = pydantic.Field(default=1_000, ge=1, le=1_000_000)
    """Calls, watches among them, that one connection may have open at once; clients wait with what is beyond."""

    lease_seconds: float = pydantic.Field(default=30.0, ge=1, le=3_600)
    """How long whoever runs actions is taken to be alive without a word; they speak every third of it."""

    ring_bytes: int = pydantic.Field(default=64 * _MEBIBYTE, ge=_MEBIBYTE)
    """Newest events that are kept in memory for watchers that begin or fall behind."""
    subscriber_bytes: int = pydantic.Field(default=4 * _MEBIBYTE, ge=65_536)
    """Live events that may wait for the slowest of the watchers that select the same, before it reads on alone.

    The responses made of them, shared by those watchers, are not counted: they take up to half as much again, and up to
    as much where data is not ASCII.
    """
    max_stall_seconds: float = pydantic.Field(default=60.0, ge=0.1, le=86_400)
    """How long a watcher may take no response before it is ended; clients resume by themselves."""
    max_lag_revisions: int = pydantic.Field(default=1_000_000, ge=1)
    """How far a watcher that has been live may fall behind before it is ended; clients resume by themselves.

    One that finds what it needs in memory is never too far behind.
    """
    max_watchers: int = pydantic.Field(default=10_000, ge=1)
    """Watches that may be open at once."""
    catchup_readers: int = pydantic.Field(default=4, ge=1, le=100)
    """Watchers that may read old events from the database at the same time."""

    retention_age_seconds: float = pydantic.Field(default=86_400.0, ge=60)
    """How long events are kept at least; up to an eighth more, since they are forgotten by whole partitions."""
    retention_count: int = pydantic.Field(default=100_000, ge=0, le=10_000_000)
    """How many of the newest events are kept, whatever their age."""
    retention_interval_seconds: float = pydantic.Field(default=300.0, ge=0, le=86_400)
    """How often one of the servers forgets what is past its time; 0 leaves it to `tinkwell db maintain`."""
    workflow_retention_seconds: float = pydantic.Field(default=90 * 86_400.0, ge=0, le=36_500 * 86_400.0)
    """How long workflows are kept once they were finished or deleted, and machines and templates once deleted: a minute
    or more, or 0 for ever."""

    nats_url: pydantic.SecretStr | None = None
    """Nodes of NATS, joined by commas, through which servers share one reading of the log: `nats://USER:PASSWORD@HOST:4222`
    or `tls://…`; needs `tinkwell[nats]`. Without it every server reads the database."""
    nats_credentials: pydantic.FilePath | None = None
    """Credentials file of the NATS user; needs `nats-py[nkeys]`."""
    nats_ca: pydantic.FilePath | None = None
    """PEM file of the authorities that NATS is trusted by; turns TLS on."""
    nats_cert: pydantic.FilePath | None = None
    """PEM file of the certificate chain to show to NATS."""
    nats_key: pydantic.FilePath | None = None
    """PEM file of the private key of `nats_cert`."""
    nats_stream: Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = "TINKWELL"
    """Name of the JetStream stream; servers of one database share it, those of another one must not."""
    nats_replicas: int = pydantic.Field(default=1, ge=1, le=5)
    """How many nodes keep the stream; a cluster of three should keep three."""
    nats_stream_seconds: float = pydantic.Field(default=3_600.0, ge=60, le=365 * 86_400)
    """How long the stream keeps messages. It bridges interruptions; older events are read from the database."""
    nats_stream_bytes: int = pydantic.Field(default=256 * _MEBIBYTE, ge=16 * _MEBIBYTE)
    """How much the stream keeps, at most."""

    shutdown_grace_seconds: float = pydantic.Field(default=5.0, ge=0, le=600)
    """How long calls that are under way may take once the server is told to stop."""
    log_format: Literal["text", "json"] = "text"
    """How the log is written to standard error: as lines of text, or of JSON."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least level that is written to the log."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[pydantic_settings.BaseSettings],
        init_settings: pydantic_settings.PydanticBaseSettingsSource,
        *others: pydantic_settings.PydanticBaseSettingsSource,
        **more: pydantic_settings.PydanticBaseSettingsSource,
    ) -> tuple[pydantic_settings.PydanticBaseSettingsSource, ...]:
        """Use only the arguments, so that only `load` depends on its environment."""
        return (init_settings,)

    @pydantic.field_validator("database_url")
    @classmethod
    def _is_postgresql(cls, url: pydantic.SecretStr) -> pydantic.SecretStr:
        if problem := url_file.problem(urls.parse(url.get_secret_value())):
            raise ValueError(problem)
        return url

    @pydantic.field_validator("nats_url")
    @classmethod
    def _is_nats(cls, urls: pydantic.SecretStr | None) -> pydantic.SecretStr | None:
        if urls is not None and not all(map(_is_nats_url, nats_urls(urls))):
            raise ValueError("it must look like nats://HOST:4222, or several of these joined by commas")
        return urls

    @pydantic.field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, joined: str) -> str:
        try:
            networks(joined)
        except ValueError as error:
            raise ValueError(f"{error}; give such as 10.0.0.7 or 10.1.0.0/16, joined by commas") from None
        return joined

    @pydantic.field_validator("tokens")
    @classmethod
    def _tell_callers_apart(cls, tokens: dict[str, pydantic.SecretStr]) -> dict[str, pydantic.SecretStr]:
        secrets = [token.get_secret_value() for token in tokens.values()]
        if not all(secrets):
            raise ValueError("a token must not be empty")
        if len(set(secrets)) < len(secrets):
            raise ValueError("two names have the same token")
        return tokens

    @pydantic.field_validator("workflow_retention_seconds")
    @classmethod
    def _leaves_time_to_look(cls, seconds: float) -> float:
        if 0 < seconds < _SHORTEST_RETENTION_SECONDS:
            raise ValueError(f"it must be {_SHORTEST_RETENTION_SECONDS} or more, or 0 to keep workflows for ever")
        return seconds

    @pydantic.model_validator(mode="after")
    def _roles_have_tokens(self) -> Self:
        if unknown := sorted(self.roles.keys() - self.tokens.keys()):
            raise ValueError(f"roles: {', '.join(unknown)}: nobody of this name has a token; add one to tokens")
        return self

    @pydantic.model_validator(mode="after")
    def _tls_is_complete(self) -> Self:
        if (self.server_cert is None) != (self.server_key is None):
            raise ValueError("server_cert and server_key belong together: set both or neither")
        if self.client_ca is not None and self.server_cert is None:
            raise ValueError("client_ca needs server_cert and server_key, since only TLS can ask for certificates")
        if (self.nats_cert is None) != (self.nats_key is None):
            raise ValueError("nats_cert and nats_key belong together: set both or neither")
        if (self.tink_cert is None) != (self.tink_key is None):
            raise ValueError("tink_cert and tink_key belong together: set both or neither")
        if self.tink_port is not None and self.tink_cert is None and self.server_cert is None:
            raise ValueError(
                "tink_port needs tink_cert and tink_key, or server_cert and server_key: there is always TLS"
            )
        return self

    def secrets(self) -> list[str]:
        """Return the texts that must never be written where people read them."""
        found = urls.parse(self.database_url.get_secret_value()).secrets
        found += [token.get_secret_value() for token in self.tokens.values()]
        for url in nats_urls(self.nats_url) if self.nats_url is not None else ():
            login = urllib.parse.urlsplit(url)
            # A name without a password is a token.
            found += filter(None, (login.password or login.username, login.password))
        return found + _secrets_in(self.nats_credentials) + _secrets_in(self.secret_keys)

    @property
    def tink_bundle(self) -> Path | None:
        """The certificate chain that Tinkerbell's tools have to trust, or None if they are not served."""
        return None if self.tink_port is None else self.tink_cert or self.server_cert


def load(config: Path | None = None, **options: object) -> Settings:
    """Read the settings: the options that are not None, the environment, the file. Their secrets are registered.

    The file is the given one, or $TINKWELL_CONFIG, or tinkwell.toml in the working directory where there is one.
    Raises `InvalidSettings`.
    """
    given = {name: value for name, value in options.items() if value is not None}
    file = _file(config)
    from_file = _read(file) if file else {}
    if unknown := setting_name.unknown_variables(os.environ, Settings.model_fields):
        raise InvalidSettings("\n".join(unknown))
    try:
        from_environment = _from_environment()
        chosen = Settings(**{**from_file, **from_environment, **given})
    except pydantic_settings.SettingsError as error:
        raise InvalidSettings(_wrong_json(str(error))) from error
    except pydantic.ValidationError as error:
        sources = [
            (given, setting_name.option),
            (from_environment, setting_name.variable),
            (from_file, lambda name: f"{name} in {file}"),
        ]
        lines = [_sentence(problem, sources) for problem in error.errors()]
        raise InvalidSettings("\n".join(lines)) from error
    redaction.register(*chosen.secrets())
    return chosen


def source(name: str, config: Path | None = None, **options: object) -> str:
    """Return where `load` with the same arguments takes a setting from, in words for people."""
    if options.get(name) is not None:
        return setting_name.option(name)
    return setting_name.variable(name) if name in _from_environment() else f"{name} in {_file(config)}"


def nats_urls(joined: pydantic.SecretStr) -> list[str]:
    """Return the addresses of a list separated by commas."""
    return [url.strip() for url in joined.get_secret_value().split(",")]


def networks(joined: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Return the addresses and networks of a list separated by commas. Raises `ValueError`."""
    return [ipaddress.ip_network(text.strip()) for text in joined.split(",") if text.strip()]


def _secrets_in(file: Path | None) -> list[str]:
    """Return the lines of a file of credentials or keys, without empty lines and the lines around a secret."""
    if file is None:
        return []
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("-", "*", "#"))]


def _is_nats_url(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme in ("nats", "tls") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _file(config: Path | None) -> Path | None:
    named = os.environ.get(setting_name.variable("config"))
    chosen = config or (Path(named) if named else None)
    return chosen or (_DEFAULT_FILE if _DEFAULT_FILE.exists() else None)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(f"{file}: {getattr(error, 'strerror', None) or error}") from error


def _from_environment() -> dict[str, Any]:
    """Read the settings from environment variables, without service links."""
    given = pydantic_settings.EnvSettingsSource(Settings)()
    return {
        name: value for name, value in given.items() if not service_link.is_one(setting_name.variable(name), str(value))
    }


def _sentence(problem: Mapping[str, Any], sources: Iterable[tuple[Mapping[str, object], Any]]) -> str:
    location = [str(part) for part in problem["loc"]]
    if not location:
        return _without_prefix(problem["msg"])
    name = location[0]
    place = next((label(name) for values, label in sources if name in values), setting_name.variable(name))
    match problem["type"]:
        case "missing":
            return f"{place} is not set: set it, pass {setting_name.option(name)}, or put {name} into {_DEFAULT_FILE}"
        case "extra_forbidden":
            return f"{place}: there is no such setting{setting_name.hint(name, list(Settings.model_fields))}"
        case _:
            where = f"{place}, {'.'.join(location[1:])}" if location[1:] else place
            return f"{where}: {_without_prefix(problem['msg'])}"


def _wrong_json(problem: str) -> str:
    """Name the variable whose value is not JSON.

    The problem has its name in quotation marks; its value may be a secret.
    """
    name, example = next((name, example) for name, example in _TABLES.items() if f'"{name}"' in problem)
    return f"{setting_name.variable(name)}: it must be a JSON object such as {example}"


def _without_prefix(message: str) -> str:
    return message.removeprefix("Value error, ")
