"""The program behind every tool, within this process: what it sends, what it says, and what it makes of bad answers."""

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinkwell.provisioner.unit.tool import frame, program

# It leaves its socket to the end of its process.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
DEADLINE_SECONDS = 20.0


class Peer:
    """An agent that takes one message, and answers with the bytes it is told to."""

    def __init__(self, path: Path, answer: bytes) -> None:
        self.parts: list[bytes] = []
        self._answer = answer
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(DEADLINE_SECONDS)
        self._socket.bind(str(path))
        self._socket.listen(1)

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Answer in a thread until the block ends."""
        thread = threading.Thread(target=self._serve)
        thread.start()
        try:
            yield
        finally:
            thread.join(DEADLINE_SECONDS)
            self._socket.close()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            connection.settimeout(DEADLINE_SECONDS)
            size = int.from_bytes(_exactly(connection, 4), "big")
            self.parts = frame.decode(_exactly(connection, size))
            connection.sendall(self._answer)


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        chunk = connection.recv(size - len(found))
        assert chunk, "the program hung up"
        found += chunk
    return found


def _say(monkeypatch: pytest.MonkeyPatch, *line: str, address: Path | None = None) -> int:
    monkeypatch.setattr(sys, "argv", [f"/somewhere/{line[0]}", *line[1:]])
    monkeypatch.setenv(program.CONTEXT, "web/0-1")
    if address is None:
        monkeypatch.delenv(program.SOCKET, raising=False)
    else:
        monkeypatch.setenv(program.SOCKET, str(address))
    return program.main()


@pytest.fixture
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s") / "socket"


def test_the_answer_is_the_programs_own(
    monkeypatch: pytest.MonkeyPatch, where: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    peer = Peer(where, frame.encode([b"2", "é\n".encode(), b"ERROR no\n"]))
    with peer.answering():
        assert _say(monkeypatch, "relation-get", "-r", "7", "a", address=where) == 2
    assert peer.parts == [b"web/0-1", b"relation-get", b"", b"-r", b"7", b"a"]
    assert capfd.readouterr() == ("é\n", "ERROR no\n")


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["--file", "{file}"], b"k: v"),
        (["--file={file}"], b"k: v"),
        (["--", "--file", "{file}"], b""),
        (["--file"], b""),
        (["--file="], b""),
    ],
)
def test_a_file_is_read_where_it_is_named(
    monkeypatch: pytest.MonkeyPatch, where: Path, tmp_path: Path, arguments: list[str], given: bytes
) -> None:
    (tmp_path / "content").write_bytes(b"k: v")
    line = [each.format(file=tmp_path / "content") for each in arguments]
    peer = Peer(where, frame.encode([b"0", b"", b""]))
    with peer.answering():
        assert _say(monkeypatch, "state-set", *line, address=where) == 0
    assert peer.parts[2] == given
    assert peer.parts[3:] == [each.encode() for each in line]


def test_the_input_is_read_where_a_dash_names_it(monkeypatch: pytest.MonkeyPatch, where: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"k: v")
    os.close(writing)
    kept = os.dup(0)
    peer = Peer(where, frame.encode([b"0", b"", b""]))
    try:
        os.dup2(reading, 0)
        with peer.answering():
            assert _say(monkeypatch, "state-set", "--file", "-", address=where) == 0
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(reading)
    assert peer.parts[2] == b"k: v"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\x00",
        b"\x00\x00\x00\x09abc",
        frame.encode([b"0", b"only two"]),
        frame.encode([b"0", b"", b"", b"four"]),
    ],
    ids=["nothing", "half a length", "half a message", "two parts", "four parts"],
)
def test_an_agent_that_answers_badly_is_told_of_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, where: Path, capfd: pytest.CaptureFixture[str], answer: bytes
) -> None:
    with Peer(where, answer).answering():
        assert _say(monkeypatch, "is-leader", address=where) == program.FAILED
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("ERROR the agent does not answer: ")
    assert err.count("\n") == 1


def test_what_cannot_be_sent_is_refused_before_anybody_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "long").write_bytes(b"x" * (program.MAX_INPUT_BYTES + 1))
    nobody = tmp_path / "nobody"
    assert _say(monkeypatch, "state-set", f"--file={tmp_path}/long", address=nobody) == program.FAILED
    assert _say(monkeypatch, "state-set", f"--file={tmp_path}/none", address=nobody) == program.FAILED
    assert _say(monkeypatch, "state-set") == program.FAILED
    assert _say(monkeypatch, "state-set", address=nobody) == program.FAILED
    long, none, outside, silent = capfd.readouterr().err.splitlines()
    assert "4,194,304 bytes" in long
    assert none.startswith("ERROR --file: ")
    assert outside.endswith("state-set works within a charm's scripts only")
    assert silent.startswith("ERROR the agent does not answer: ")


def test_a_socket_deep_in_folders_is_reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = tmp_path / ("deep/" * 30)
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    peer = Peer(Path("socket"), frame.encode([b"0", b"", b""]))
    with peer.answering():
        assert _say(monkeypatch, "is-leader", address=deep / "socket") == 0
    assert peer.parts[:2] == [b"web/0-1", b"is-leader"]
