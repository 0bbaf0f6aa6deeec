"""A worker process. Its supervisor starts it, and is connected to its standard input."""

import os
import socket
import sys

from tinkwell.server.app import process
from tinkwell.server.app.workers import worker

if __name__ == "__main__":
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.exit(process.run(worker.run(control)))
