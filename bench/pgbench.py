"""Writers where only PostgreSQL is measured: pgbench with scripts of our own."""

import asyncio
import re
import resource
from dataclasses import dataclass
from pathlib import Path

from bench import process
from bench.cluster import Cluster

_SLACK_SECONDS = 60
# Every writer counts its own machines, so that addresses are unique without asking anybody.
_MACHINE = """\
\\set n :n + 1
INSERT INTO hardware (id, metadata, network) VALUES (
    gen_random_uuid(),
    jsonb_build_object(
        'state', 'provisioning',
        'facility', jsonb_build_object('facility_code', 'lab', 'plan_slug', 'c3.small.x86'),
        'instance', jsonb_build_object(
            'hostname', 'node-' || :client_id || '-' || :n,
            'operating_system', jsonb_build_object('slug', 'debian_12', 'distro', 'debian', 'version', '12'),
            'ssh_keys', jsonb_build_array('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKeyThatOpensNothing ops@lab'))),
    jsonb_build_object('interfaces', jsonb_build_array(jsonb_build_object(
        'dhcp', jsonb_build_object(
            'mac', (lpad(to_hex(:client_id * 16777216::bigint + :n), 12, '0'))::macaddr,
            'ip', jsonb_build_object('address', host('10.0.0.0'::inet + (:client_id * 65536 + :n)),
                                     'netmask', '255.0.0.0', 'gateway', '10.0.0.1')),
        'netboot', jsonb_build_object('allow_pxe', true, 'allow_workflow', true)))));
"""


@dataclass(frozen=True, slots=True)
class Written:
    """What one run of pgbench did."""

    commits_per_second: float
    latency_seconds: float
    transactions: int
    cpu_seconds: float


async def write_machines(cluster: Cluster, url: str, *, clients: int, seconds: int, directory: Path) -> Written:
    """Insert one machine a transaction, as fast as so many clients can. Raises `process.Failed`."""
    script = directory / "machine.sql"
    script.write_text(_MACHINE)
    options = ("--no-vacuum", "--protocol=prepared", "--define=n=0", f"--client={clients}", f"--jobs={min(clients, 2)}")
    before = _children_seconds()
    running = await asyncio.create_subprocess_exec(
        cluster.programs.program("pgbench"),
        *options,
        f"--time={seconds}",
        f"--file={script}",
        url,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(seconds + _SLACK_SECONDS):
            output = (await running.communicate())[0].decode()
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    rate = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
    latency = re.search(r"^latency average = ([\d.]+) ms", output, re.MULTILINE)
    count = re.search(r"transactions actually processed: (\d+)", output)
    if running.returncode or not (rate and latency and count):
        raise process.Failed(f"pgbench failed:\n{output}")
    return Written(
        float(rate.group(1)),
        float(latency.group(1)) / 1000,
        int(count.group(1)),
        _children_seconds() - before,
    )


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
