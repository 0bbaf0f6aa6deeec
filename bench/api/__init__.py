"""Single calls of the API, 32 at a time, beside a servicer that only runs one statement, and beside etcd."""

from bench.api.case import run

__all__ = ["run"]
