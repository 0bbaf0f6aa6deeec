"""The command pushes a file of machines, while a client of the library receives their events."""

import asyncio
import json
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from bench import process, statistic, usage
from bench.context import Context
from bench.result import Outcome, Table, Verdict, number, span

_COMMAND = Path(sys.executable).with_name("tinkwell")
# `bench.scale` pushes ten times as many machines as this case.
_LONGEST_SECONDS = 240
_COMPARES = """\
`tinkwell hardware push` of one file of JSON lines, from the start of the command to its end, on an empty database; a
client of the library watches meanwhile, and the second figure is when it has handed out the last of the machines'
events, each after the other in the order of revisions.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds to the end of the command and to the last event, and how busy each part was."""

    pushed: float
    delivered: float
    cores: dict[str, float]


async def run(context: Context) -> Outcome:
    """Measure."""
    machines = context.scale.choose(quick=500, full=10_000)
    file = context.directory / "machines.jsonl"
    file.write_text("".join(machine(place) for place in range(machines)))
    samples = []
    for _ in range(context.scale.pairs):
        sample = await _sample(context, file, machines)
        samples.append(sample)
        context.say(f"bulk: {number(sample.pushed)} s, all events after {number(sample.delivered)} s")
    return _outcome(machines, file.stat().st_size, samples)


async def _sample(context: Context, file: Path, machines: int) -> Sample:
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        process.generator("bench.load.replayer", directory=context.directory) as replayer,
    ):
        await replayer.tell(do="replay", address=server.address, events=machines)
        meter = usage.Meter({"PostgreSQL": context.cluster.pid, "server": server.pid, "watcher": replayer.pid})
        began = time.perf_counter()
        delivering = asyncio.ensure_future(replayer.reply())
        await push(file, server.address)
        pushed = time.perf_counter() - began
        await delivering
        return Sample(pushed, time.perf_counter() - began, meter.read())


async def push(file: Path, address: str) -> None:
    """Have the command push a file of machines. Raises `process.Failed`."""
    command = await asyncio.create_subprocess_exec(
        *(_COMMAND, "--server", address, "hardware", "push", file),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(_LONGEST_SECONDS):
        output, _ = await command.communicate()
    if command.returncode:
        raise process.Failed(output.decode())


def machine(place: int) -> str:
    """Return the line of JSON of the machine with this number, which is below 2 ** 24."""
    octets = ".".join(str(octet) for octet in (10, place >> 16, place >> 8 & 255, place & 255))
    dhcp = {
        "mac": ":".join(f"{byte:02x}" for byte in (2 << 40 | place).to_bytes(6)),
        "hostname": f"node-{place}",
        "arch": "x86_64",
        "uefi": True,
        "ip": {"address": octets, "netmask": "255.0.0.0", "gateway": "10.0.0.1"},
    }
    described = {
        "id": str(uuid.UUID(int=4 << 76 | 2 << 62 | place)),
        "metadata": {
            "state": "provisioning",
            "facility": {"facility_code": "lab", "plan_slug": "c3.small.x86"},
            "instance": {"hostname": f"node-{place}", "operating_system": {"slug": "debian_12", "distro": "debian"}},
        },
        "network": {"interfaces": [{"dhcp": dhcp, "netboot": {"allow_pxe": True, "allow_workflow": True}}]},
    }
    return json.dumps(described) + "\n"


def _outcome(machines: int, size: int, samples: list[Sample]) -> Outcome:
    pushed = statistic.spread([sample.pushed for sample in samples])
    delivered = statistic.spread([sample.delivered for sample in samples])
    cores = {part: statistic.spread([sample.cores[part] for sample in samples]).median for part in samples[0].cores}
    return Outcome(
        title="Bulk push",
        compares=_COMPARES,
        tables=(
            Table(
                f"{machines:,} machines, a file of {size / 1e6:.1f} MB",
                ("", "s"),
                (("to the end of the command", span(pushed)), ("to the last event at the watcher", span(delivered))),
            ),
        ),
        verdicts=(
            Verdict.of(f"push of {machines:,} machines, all events delivered in order", delivered, "≤", 10, unit="s"),
        ),
        notes=("Cores used: " + ", ".join(f"{part} {number(share)}" for part, share in cores.items()) + ".",),
    )
