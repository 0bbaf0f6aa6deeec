"""A host that is reached by ssh: a server of OpenSSH on a free port, with keys and settings of its own."""

import asyncio
import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from support.waiting import eventually

SERVER = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
IS_INSTALLED = SERVER is not None and shutil.which("ssh") is not None
# Fewer sessions than one run of an action has, so that more than one login is needed.
SERVER_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
MaxSessions 2
"""
CLIENT_CONFIG = """\
Host *
  IdentitiesOnly yes
  IdentityFile {folder}/{key}
  UserKnownHostsFile {folder}/{known}
  GlobalKnownHostsFile /dev/null
"""


@dataclass(frozen=True)
class Host:
    """The host, and the folder of all that it and those who log in to it are configured with."""

    port: int
    folder: Path
    pid: int

    @property
    def url(self) -> str:
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}"

    def config(self, *, key: str = "welcome", known: str = "known_hosts") -> Path:
        """A configuration of ssh, with which one of the keys is shown and hosts are known as in a file."""
        path = self.folder / f"config-{key}-{known}"
        path.write_text(CLIENT_CONFIG.format(folder=self.folder, key=key, known=known))
        return path

    def logins(self) -> list[int]:
        """The processes of those who are logged in."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def throw_out(self) -> None:
        """End all logins at once, as the end of the network does."""
        for pid in self.logins():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def prepare(folder: Path) -> int:
    """Write all files, and return the port that is chosen. The key `restricted` opens the host for no engine."""
    for name in ("host", "former", "welcome", "restricted", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True, timeout=20)
    keys = {path.stem: " ".join(path.read_text().split()[:2]) for path in folder.glob("*.pub")}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    restricted = f'restrict,command="no-such-program" {keys["restricted"]}'
    (folder / "authorized_keys").write_text(f"{keys['welcome']}\n{restricted}\n")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {keys['host']}\n")
    (folder / "outdated").write_text(f"[127.0.0.1]:{port} {keys['former']}\n")
    (folder / "empty").touch()
    (folder / "sshd_config").write_text(SERVER_CONFIG.format(port=port, folder=folder))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # made by the package's service, where services are started
    return port


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Host]:
    """Run a host."""
    port = await asyncio.to_thread(prepare, folder)
    assert SERVER is not None
    with (folder / "sshd.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(SERVER, "-D", "-e", "-f", folder / "sshd_config", stderr=log)
    try:
        await eventually(lambda: "listening" in (folder / "sshd.log").read_text(), deadline_seconds=20)
        yield Host(port, folder, process.pid)
    finally:
        process.terminate()
        await process.wait()
