"""A PostgreSQL server, by `psql` (14 or newer)."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Optional


@dataclass
class Server:
    """Where it is, and who asks. What is left out is as `psql` has it."""

    host: Optional[str] = None
    port: Optional[int] = None
    user: Optional[str] = None
    password: Optional[str] = field(default=None, metadata={"writeOnly": True})
    database: Optional[str] = None
    sslmode: Optional[str] = None

    def run(self, sql, variables, *, more=()):
        """Run SQL and return what it prints. Values go by the environment: everybody may read a program's arguments."""
        told = {f"RESOURCE_{name.upper()}": value for name, value in variables.items()}
        server = {f"PG{key.upper()}": str(value) for key, value in vars(self).items() if value is not None}
        asked = "".join(f"\\getenv {name} RESOURCE_{name.upper()}\n" for name in variables)
        done = subprocess.run(
            [
                *("psql", "--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align"),
                *("--set=ON_ERROR_STOP=1", *more),
            ],
            input=asked + sql,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PGCONNECT_TIMEOUT": "10", **server, **told},
            check=False,
        )
        if done.returncode:
            sys.exit(done.returncode)  # it has said why on stderr
        return done.stdout
