"""The connection to a server: its address, its encryption, and the options of its channel.

An address may stand for several servers over one database: a name that resolves to all of them, or a list of their IP
addresses. Each connection goes to one of them, chosen at random among those that answer. When it breaks, the next
connection goes to another one.
"""

import ipaddress
import json
import re
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc import aio

from tinkwell.client import errors

DEFAULT_PORT = 50051
# Schemes that gRPC resolves by itself; every other address is host[:port].
_SCHEMES = ("unix:", "unix-abstract:", "vsock:", "dns:", "ipv4:", "ipv6:", "xds:")
_HOST_PORT = re.compile(r"(\[[^\]/\s]+\]|[^\[\]:/\s]+)(:(?P<port>\d+))?")
_LOOPBACK = ("localhost:", "127.", "[::1]:")

# The channel's own pause between tries to connect. gRPC lengthens it a little, at random.
LONGEST_RECONNECT_MS = 500
# The longest answer that the client accepts. The longest one that a server makes is a grant, which holds all data of a
# unit: as much as its charm may write.
MAX_ANSWER_BYTES = 128 * 1024 * 1024
# A dead server is noticed within half a minute, also by a watch that gets no events. No pings are sent while no call is
# open. The channel tries again soon, because each watch and call has its own pauses on top. A try to connect that gets
# no answer, as when packets are dropped, ends after five seconds.
_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", LONGEST_RECONNECT_MS),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
    ("grpc.primary_user_agent", "tinkwell-python"),
    # Each client has its own connection. By default gRPC shares one among all clients of a process, so that one worker
    # of the server would serve all of them.
    ("grpc.use_local_subchannel_pool", 1),
    # Without this, gRPC takes the first of several addresses, so that all clients use the same server.
    ("grpc.service_config", json.dumps({"loadBalancingConfig": [{"pick_first": {"shuffleAddressList": True}}]})),
)


@dataclass(frozen=True, slots=True)
class TLS:
    """Encryption: paths of PEM files. Without `ca`, gRPC's own root certificates are trusted.

    `cert` and `key` are the client's certificate and its key. `server_name` is the name in the server's certificate, if
    it is not the host of the address.
    """

    ca: str | Path | None = None
    cert: str | Path | None = None
    key: str | Path | None = None
    server_name: str | None = None


def open_channel(address: str, tls: TLS | None) -> aio.Channel:
    """Open a channel, which connects at its first call; raises `InvalidField` for a wrong option."""
    options = list(_OPTIONS)
    if address.startswith(_LOOPBACK) or "," in address:
        # The proxy that the environment names cannot reach this machine's own ports, and does not understand lists.
        options.append(("grpc.enable_http_proxy", 0))
    if tls is None:
        return aio.insecure_channel(address, options=options)
    if "," in address and not tls.server_name:
        raise errors.InvalidField.of("tls.server_name", "must say which name the certificates of several servers carry")
    if tls.server_name:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
        options.append(("grpc.default_authority", tls.server_name))
    return aio.secure_channel(address, _credentials(tls), options=options)


def check_address(address: str) -> str:
    """Return the address, or a list of them, with ports; raises `InvalidField` for any other text, such as a URL."""
    if address.startswith(_SCHEMES):
        return address
    if "," in address:
        return _list_of(address.split(","))
    found = _HOST_PORT.fullmatch(address)
    if found is None:
        raise errors.InvalidField.of("address", f"{address!r} is not host:port, such as localhost:50051 or [::1]:50051")
    return address if found["port"] else f"{address}:{DEFAULT_PORT}"


def _list_of(addresses: list[str]) -> str:
    checked = [check_address(address.strip()) for address in addresses]
    try:
        versions = {ipaddress.ip_address(address.rpartition(":")[0].strip("[]")).version for address in checked}
    except ValueError as error:
        raise errors.InvalidField.of("address", "a list consists of IP addresses; a name may have several") from error
    if len(versions) > 1:
        raise errors.InvalidField.of("address", "a list must not mix IPv4 and IPv6 addresses")
    return f"ipv{versions.pop()}:{','.join(checked)}"


def _credentials(tls: TLS) -> grpc.ChannelCredentials:
    if (tls.cert is None) != (tls.key is None):
        raise errors.InvalidField.of("tls", "cert and key belong together: give both or neither")
    ca, cert, key = (_read(name, getattr(tls, name)) for name in ("ca", "cert", "key"))
    return grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=cert)


def _read(name: str, path: str | Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise errors.InvalidField.of(f"tls.{name}", f"{path}: {error.strerror}") from error
