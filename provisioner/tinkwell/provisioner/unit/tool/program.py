"""What a script runs when it calls a tool: hands the call to the agent, and returns the answer as its own.

It is linked under the name of each tool, begins with every call, and imports as little as it can for that. Messages are
as `frame` has them: the context, the tool, the content of the file that `--file` names, then the arguments; and back
come the exit code and both outputs.
"""

import _socket
import os
import sys

CONTEXT, SOCKET = "JUJU_CONTEXT_ID", "JUJU_AGENT_SOCKET_ADDRESS"
MAX_INPUT_BYTES = 4 * 1024 * 1024
# The longest path that fits into the address of a socket, without its end.
MAX_ADDRESS_BYTES = 107
FAILED = 1
# The tools that read values out of files.
SECRETS = ("secret-add", "secret-set")
VALUE_FILE = "#file="
_CHUNK_BYTES = 64 * 1024


def main() -> int:
    """Make the call; the exit code is the tool's."""
    tool, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]  # noqa: PTH119  (pathlib would double the start-up)
    context, address = os.environ.get(CONTEXT), os.environ.get(SOCKET)
    if not context or not address:
        return _fail(f"{CONTEXT} and {SOCKET} are not set: {tool} works within a charm's scripts only")
    try:
        given = _read_file(arguments)
        if tool in SECRETS:
            arguments = _read_values(arguments)
    except OSError as error:
        return _fail(f"--file: {error}")
    if len(given) > MAX_INPUT_BYTES:
        return _fail(f"--file: it has more than {MAX_INPUT_BYTES:,} bytes, which is the most that is read: split it")
    try:
        code, out, err = _call(address, [context.encode(), tool.encode(), given, *map(os.fsencode, arguments)])
    except (OSError, ValueError) as error:
        return _fail(f"the agent does not answer: {error}")
    sys.stdout.buffer.write(out)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(err)
    return int(code)


def _fail(sentence: str) -> int:
    sys.stderr.write(f"ERROR {sentence}\n")
    return FAILED


def _read_file(arguments: "list[str]") -> bytes:
    """Read what `--file` names, with the script's rights and not the agent's; nothing where it names nothing."""
    name = ""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        if argument == "--":
            break
        if argument == "--file":
            name = following
        elif argument.startswith("--file="):
            name = argument[len("--file=") :]
    if not name:
        return b""
    with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
        return file.read(MAX_INPUT_BYTES + 1)


def _read_values(arguments: "list[str]") -> "list[str]":
    """Read the files of `key#file=PATH`, which secrets are given by so that no list of processes shows their values."""
    found = []
    for argument in arguments:
        key, mark, path = argument.partition(VALUE_FILE)
        if mark and not key.startswith("-"):
            with open(path, "rb") as file:  # noqa: PTH123
                argument = f"{key}={os.fsdecode(file.read(MAX_INPUT_BYTES))}"
        found.append(argument)
    return found


def _call(address: str, parts: "list[bytes]") -> "list[bytes]":
    """Send a message, and return the parts of the one that comes back."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(_short(address))
    connection.sendall(_message(parts))
    size = int.from_bytes(_receive(connection, 4), "big")
    content, found = _receive(connection, size), []
    while content:
        end = 4 + int.from_bytes(content[:4], "big")
        found.append(content[4:end])
        content = content[end:]
    return found


def _message(parts: "list[bytes]") -> bytes:
    content = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return len(content).to_bytes(4, "big") + content


def _receive(connection: _socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        chunk = connection.recv(min(size - len(found), _CHUNK_BYTES))
        if not chunk:
            raise ValueError("it hung up, as it does where a script has ended")
        found += chunk
    return bytes(found)


def _short(address: str) -> str:
    """Return an address that fits, however deep the socket's folder is."""
    if len(os.fsencode(address)) <= MAX_ADDRESS_BYTES:
        return address
    folder, name = os.path.split(address)
    return f"/proc/self/fd/{os.open(folder, os.O_PATH | os.O_DIRECTORY)}/{name}"


if __name__ == "__main__":
    sys.exit(main())
