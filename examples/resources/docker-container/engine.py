"""The Docker Engine, whose socket is the plug `docker`."""

import http.client
import json
import socket

from kit import Plug, fail

# The socket is a file, which may be mounted read-only: what goes through it is another matter.
PLUG = Plug("docker", "/var/run/docker.sock")
SECONDS = 300


class Engine(http.client.HTTPConnection):
    """A connection to the engine, which listens on a socket in the file system."""

    def __init__(self, path):
        super().__init__("docker")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None, wants=(200, 404)):
        """Ask the engine; the answer is its status and its JSON document, or a list where it sends several."""
        text = None if body is None else json.dumps(body)
        self.request(method, path, text, {"Content-Type": "application/json"})
        answer = self.getresponse()
        found = answer.read().decode()
        if answer.status not in wants:
            fail(f"the engine answers {method} {path} with {answer.status}: {found.strip()}")
        try:
            return answer.status, json.loads(found or "null")
        except ValueError:
            return answer.status, [json.loads(line) for line in found.splitlines()]
