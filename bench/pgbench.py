"""Writers where only PostgreSQL is measured: pgbench with scripts of our own."""

import asyncio
import itertools
import re
import resource
from dataclasses import dataclass
from pathlib import Path

from bench import process
from bench.cluster import Cluster

_NUMBERS = itertools.count()
_SLACK_SECONDS = 60
_SHOWN_CHARACTERS = 1_000
# A machine that nobody has inspected yet: no addresses to keep, and nothing for PostgreSQL to put together. Its id
# comes from the client, as those of users do.
MACHINE = """\
\\set id random(0, 1152921504606846975)
INSERT INTO hardware (id, metadata) VALUES (lpad(:id, 32, '0')::uuid,
    '{"state": "provisioning", "facility": {"facility_code": "lab", "plan_slug": "c3.small.x86"}, "instance":
        {"hostname": "node", "operating_system": {"slug": "debian_12", "distro": "debian", "version": "12"},
         "ssh_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKeyThatOpensNothing ops@lab"]}}');
"""


@dataclass(frozen=True, slots=True)
class Written:
    """What one run of pgbench did."""

    commits_per_second: float
    transactions: int
    cpu_seconds: float


async def write(
    cluster: Cluster,
    url: str,
    *,
    script: str,
    clients: int,
    seconds: int,
    directory: Path,
    rate: int | None = None,
    warm_up_seconds: int = 0,
) -> Written:
    """Run a script as often as so many clients can, or at a rate a second in all. Raises `process.Failed`.

    The commits a second are those of the `seconds` that follow the warm-up, in which sessions fill their caches and a
    sleeping reader wakes; transactions and processor time are those of both. The processor time is right only while
    no other program of this process ends.
    """
    file = directory / f"script-{next(_NUMBERS)}.sql"
    file.write_text(script)
    before = _children_seconds()
    running = await asyncio.create_subprocess_exec(
        cluster.programs.program("pgbench"),
        *("--no-vacuum", "--protocol=prepared", f"--client={clients}", f"--jobs={min(clients, 2)}"),
        *((f"--rate={rate}",) if rate else ()),
        *(f"--time={warm_up_seconds + seconds}", "--progress=1", f"--file={file}", url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(warm_up_seconds + seconds + _SLACK_SECONDS):
            output = (await running.communicate())[0].decode()
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    count = re.search(r"transactions actually processed: (\d+)", output)
    each_second = [float(speed) for speed in re.findall(r"^progress: .* s, ([\d.]+) tps", output, re.MULTILINE)]
    if running.returncode or count is None or len(each_second) < warm_up_seconds:
        raise process.Failed(f"pgbench failed:\n{output[:_SHOWN_CHARACTERS]}")
    transactions = int(count.group(1))
    in_warm_up = sum(each_second[:warm_up_seconds])
    return Written((transactions - in_warm_up) / seconds, transactions, _children_seconds() - before)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
