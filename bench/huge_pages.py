"""Huge pages for the run's PostgreSQL, which takes them where there are any: as its manual advises for servers.

With 100 writers, each of which maps the shared memory for itself, they save a tenth of what a commit costs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PERMITTED = Path("/proc/sys/vm/nr_overcommit_hugepages")
# Of 2 MiB each, made when they are asked for and given back with the memory: enough for several clusters.
_PAGES = 512


@contextmanager
def permitted(setting: Path = _PERMITTED) -> Iterator[None]:
    """Permit huge pages meanwhile, where this process may change the machine's setting; elsewhere change nothing."""
    try:
        before = setting.read_text()
        setting.write_text(str(max(_PAGES, int(before))))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        setting.write_text(before)
