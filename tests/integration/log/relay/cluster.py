"""Three real nodes of NATS on loopback that keep streams together, each of which can be killed and started again."""

import asyncio
import contextlib
import dataclasses
import shutil
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trustme

PROGRAM = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
_NODES = 3
_CONFIG = """
server_name: {name}
listen: 127.0.0.1:{client}
jetstream {{ store_dir: "{store}", max_file_store: 1GB, max_memory_store: 100MB }}
cluster {{ name: tinkwell, listen: 127.0.0.1:{route}, routes: [{routes}] }}
{tls}
"""
# Whoever connects must show a certificate of the same authority.
_TLS = 'tls {{ cert_file: "{cert}", key_file: "{key}", ca_file: "{ca}", verify: true }}'


@dataclasses.dataclass(frozen=True, slots=True)
class Certificates:
    """Files of an authority, and of a certificate and its key, which serve all nodes and all who connect to them."""

    ca: Path
    cert: Path
    key: Path

    @classmethod
    def issue(cls, directory: Path) -> "Certificates":
        """Write certificates of a new authority."""
        authority, made = trustme.CA(), cls(*(directory / name for name in ("ca.pem", "cert.pem", "key.pem")))
        issued = authority.issue_cert("127.0.0.1")
        authority.cert_pem.write_to_path(made.ca)
        issued.cert_chain_pems[0].write_to_path(made.cert)
        issued.private_key_pem.write_to_path(made.key)
        return made

    @property
    def settings(self) -> dict[str, str]:
        """The same, as settings of a server."""
        return {"nats_ca": str(self.ca), "nats_cert": str(self.cert), "nats_key": str(self.key)}


class Cluster:
    """The nodes, by their number."""

    def __init__(self, directory: Path, *, certificates: Certificates | None = None) -> None:
        self._certificates = certificates
        ports = free_ports(2 * _NODES)
        self._clients, routes = ports[:_NODES], ports[_NODES:]
        self._directory = directory
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        for node, client in enumerate(self._clients):
            self._config(node).write_text(
                _CONFIG.format(
                    name=f"node{node}",
                    client=client,
                    route=routes[node],
                    routes=", ".join(f"nats://127.0.0.1:{route}" for route in routes),
                    store=directory / f"store{node}",
                    tls=_TLS.format(**dataclasses.asdict(certificates)) if certificates is not None else "",
                )
            )

    @property
    def settings(self) -> dict[str, str]:
        """How servers reach the nodes."""
        scheme, files = ("tls", self._certificates.settings) if self._certificates is not None else ("nats", {})
        return {"nats_url": ",".join(f"{scheme}://127.0.0.1:{port}" for port in self._clients), **files}

    async def start(self, *nodes: int) -> None:
        """Start the nodes that are not running, all of them by default; they need a while to find each other."""
        assert PROGRAM is not None
        for node in nodes or range(_NODES):
            if node in self._processes:
                continue
            with self._log(node).open("ab") as log:
                self._processes[node] = await asyncio.create_subprocess_exec(
                    PROGRAM, "-c", str(self._config(node)), stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
                )

    async def kill(self, *nodes: int) -> None:
        """Kill the nodes, all of them by default, without a warning."""
        killed = [self._processes.pop(node) for node in nodes or range(_NODES) if node in self._processes]
        for process in killed:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
        await asyncio.gather(*(process.wait() for process in killed))

    def _config(self, node: int) -> Path:
        return self._directory / f"node{node}.conf"

    def _log(self, node: int) -> Path:
        return self._directory / f"node{node}.log"


@asynccontextmanager
async def running(directory: Path, *, certificates: Certificates | None = None) -> AsyncIterator[Cluster]:
    """Start three nodes, and kill them with the block."""
    cluster = Cluster(directory, certificates=certificates)
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.kill()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(opened.getsockname()[1]) for opened in sockets]
