"""Reaches an engine by ssh: this machine's ssh program connects to `docker system dial-stdio` on the engine's host.

Theory of operation. A connection of the HTTP client is one end of a socket pair; the other end is the stdin and stdout
of an ssh process. So timeouts work as with any socket, and so does shutting a socket down to wake its reader. The ssh
process is killed when its connection is closed, and ends with its input if this process dies. The first ssh process
logs in and leaves a master process, through which the others connect without another login. If the host allows fewer
sessions in one login than are needed, ssh logs in again by itself. The master ends with the adapter, or some seconds
after its last connection. If the host is gone, the master notices it, and all connections end.

ssh never prompts, because nobody could answer; a question is an error. Keys, agents, known hosts, jump hosts and all
other options of ssh come from `~/.ssh/config`, or from another file that the operator names.
"""

import contextlib
import http.client
import os
import re
import shlex
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import urllib3

from tinkwell.provisioner.runtime.docker.connection import adapter

SCHEME = "ssh://"
# The limit for connecting and agreeing on keys. Logging in and starting docker there count to the time of the answer.
CONNECT_SECONDS = 10
# A host that is silent for three times as long counts as gone.
ALIVE_SECONDS = 5
MASTER_SECONDS = 10
END_SECONDS = 2.0
MAX_WORDS = 300
_MAX_STDERR_BYTES = 16 * 1024
# The limit for the path of a Unix socket, less the characters that ssh appends while it creates one.
_MAX_CONTROL_PATH = 107 - 17
# ssh's exit codes if ssh itself fails, and if the host's shell does not find the program.
_SSH_FAILED, _NO_SUCH_COMMAND = 255, 127
_URL = re.compile(
    r"ssh://(?:(?P<user>[^@/:]+)@)?(?P<host>\[[^]/]+\]|[^@/:\[\]-][^@/:\[\]]*)(?::(?P<port>\d+))?(?P<path>/.*)?"
)
_OPTIONS = (
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "LogLevel=ERROR",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    f"ServerAliveInterval={ALIVE_SECONDS}",
    "ServerAliveCountMax=3",
)


class SshError(adapter.NotReached):
    """ssh does not reach the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The host to log in to. Empty fields are left to ssh's configuration, or to the docker program of the host."""

    host: str
    user: str = ""
    port: str = ""
    engine_socket: str = ""
    config_file: Path | None = None

    @classmethod
    def parse(cls, url: str, config_file: Path | None = None) -> Self:
        """Read `ssh://[user@]host[:port][/path/of/engine.sock]`; raises `SshError`."""
        found = _URL.fullmatch(url)
        if found is None:
            hint = "a password cannot be given, keys are needed" if re.match(r"ssh://[^@/:]*:[^@/]*@", url) else ""
            shown = re.sub(r"(ssh://[^@/:]*:)[^@/]*@", r"\1…@", url)
            message = f"{shown!r} is no address by ssh; write it as ssh://user@host or ssh://user@host:port"
            raise SshError(f"{message} ({hint})" if hint else message)
        path = found["path"] or ""
        return cls(
            host=found["host"].strip("[]"),
            user=found["user"] or "",
            port=found["port"] or "",
            engine_socket="" if path == "/" else path,
            config_file=config_file,
        )

    @property
    def login(self) -> str:
        """The login as one would give it to ssh by hand."""
        return f"{self.user}@{self.host}" if self.user else self.host

    def arguments(self, options: Sequence[str], *flags: str) -> list[str]:
        """Return the command up to and including the host."""
        command = ["ssh"]
        if self.config_file is not None:
            command += ["-F", str(self.config_file)]
        for option in options:
            command += ["-o", option]
        if self.port:
            command += ["-p", self.port]
        if self.user:
            command += ["-l", self.user]
        return [*command, *flags, "--", self.host]

    def remote_command(self) -> str:
        """Return the command for the host's shell."""
        chosen = ["--host", f"unix://{self.engine_socket}"] if self.engine_socket else []
        return shlex.join(["docker", *chosen, "system", "dial-stdio"])


class Login:
    """Starts ssh processes, which share one login as far as the host allows."""

    def __init__(self, target: Target) -> None:
        self.target = target
        folder = tempfile.TemporaryDirectory(prefix="tinkwell-ssh-", ignore_cleanup_errors=True)
        self._folder: tempfile.TemporaryDirectory[str] | None = folder
        if len(os.fsencode(folder.name)) + len("/master") > _MAX_CONTROL_PATH:
            folder.cleanup()
            self._folder = None  # Each connection then logs in by itself.

    def open(self, end: socket.socket) -> subprocess.Popen[bytes]:
        """Start an ssh process between a socket and the engine; raises `SshError` if there is no ssh program."""
        command = self.target.arguments([*_OPTIONS, f"ConnectTimeout={CONNECT_SECONDS}", *self._sharing()])
        try:
            return subprocess.Popen(  # noqa: S603 - the address is the operator's, and no option or shell text
                [*command, self.target.remote_command()],
                stdin=end.fileno(),
                stdout=end.fileno(),
                stderr=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,  # So that Ctrl-C in a terminal does not reach it.
            )
        except OSError as error:
            message = f"{self.target.login} cannot be reached: the program ssh cannot be run ({error.strerror})"
            raise SshError(f"{message}; install OpenSSH's client (openssh-client)") from error

    def close(self) -> None:
        """End the master, and with it all connections."""
        if self._folder is None:
            return
        if Path(self._folder.name, "master").exists():
            command = self.target.arguments(self._sharing(), "-O", "exit")
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # Then it ends by itself a little later.
                subprocess.run(  # noqa: S603 - as above
                    command,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    env=_environment(),
                    timeout=END_SECONDS,
                    check=False,
                )
        self._folder.cleanup()

    def _sharing(self) -> list[str]:
        """Return the options that name the master's socket."""
        if self._folder is None:
            return ["ControlMaster=no", "ControlPath=none"]
        path = f"{self._folder.name}/master".replace("%", "%%")
        return ["ControlMaster=auto", f'ControlPath="{path}"', f"ControlPersist={MASTER_SECONDS}"]


class SshConnection(urllib3.connection.HTTPConnection):
    """A connection through an ssh process."""

    def __init__(self, *arguments: Any, login: Login, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._login = login
        self._process: subprocess.Popen[bytes] | None = None
        self._is_answering = False

    def connect(self) -> None:
        """Start the ssh process; `getresponse` tells whether it reaches the engine. Raises `SshError`."""
        self._end()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = self._login.open(theirs)
            except BaseException:
                ours.close()
                raise
        ours.settimeout(self.timeout if isinstance(self.timeout, (int, float)) else None)
        self.sock = ours

    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override]  # as in the class above
        """Wait for an answer; raises `SshError` if the ssh process has failed."""
        self._is_answering = True
        try:
            return super().getresponse()
        except (OSError, http.client.HTTPException) as error:
            if (words := self._last_words(0 if isinstance(error, TimeoutError) else END_SECONDS)) is not None:
                raise SshError(words) from error
            raise
        finally:
            self._is_answering = False

    def close(self) -> None:
        """Close the socket, and end the process unless the last answer is still being read."""
        super().close()
        if not self._is_answering:
            self._end()

    def _last_words(self, patience_seconds: float) -> str | None:
        """Return why the ssh process has failed, None if it has not."""
        if (process := self._process) is None or process.stderr is None:
            return None
        try:
            code = process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            return None
        os.set_blocking(process.stderr.fileno(), False)
        said = (process.stderr.read(_MAX_STDERR_BYTES) or b"").decode(errors="replace")
        return explanation(self._login.target, code, said) if code else None

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
            self._process = None


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = SshConnection


class SshAdapter(adapter.EngineAdapter):
    """The adapter of `requests` for an engine that is reached by ssh."""

    def __init__(self, target: Target, connections: int) -> None:
        self._login = Login(target)
        super().__init__(_Pool("localhost", maxsize=connections, login=self._login), name=f"ssh://{target.login}")

    def api_version(self, *, answer_seconds: int) -> str:
        """Log in, and ask the engine for its API's version; raises `adapter.NotReached`."""
        return super().api_version(answer_seconds=CONNECT_SECONDS + answer_seconds)

    def close(self) -> None:
        """End all connections and the login."""
        super().close()
        self._login.close()


def explanation(target: Target, code: int, said: str) -> str:
    """Make one sentence that says why an ssh process has failed and what to do about it."""
    lines = [line for line in said.splitlines() if line.strip()] or [f"ssh ended with {code}"]
    words = "".join(char for char in lines[-1] if char.isprintable()).strip()[:MAX_WORDS]
    by_hand = f"ssh {shlex.quote(target.login)}" + (f" -p {target.port}" if target.port else "")
    if target.config_file is not None:
        by_hand += f" -F {shlex.quote(str(target.config_file))}"
    what = "cannot be reached by ssh" if code == _SSH_FAILED else "is reached by ssh, but the engine is not"
    return f"{target.login} {what}: {words}; {_advice(code, said, by_hand)}"


def _advice(code: int, said: str, by_hand: str) -> str:
    if code == _NO_SUCH_COMMAND:
        return f"the program docker must be in the PATH that commands have there ({by_hand} docker version)"
    if "HOST IDENTIFICATION HAS CHANGED" in said:
        return "its key is another one than before: find out why, and only then remove the old one from known_hosts"
    if "Host key verification failed" in said:
        return f"its key is not known here: check it, and put it into known_hosts, as {by_hand} does once by hand"
    if "Permission denied (" in said:
        return (
            f"no key of this user opens it: put a public key into authorized_keys there, and have the private one, "
            f"without a passphrase, named in ~/.ssh/config or held by an agent, until {by_hand} asks for nothing"
        )
    return f"does {by_hand} docker version work?"


def _environment() -> dict[str, str]:
    """Return the environment of ssh, which must not open a window to ask for a password."""
    return {**os.environ, "SSH_ASKPASS_REQUIRE": "never"}
