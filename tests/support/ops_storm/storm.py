"""One storm: an unmodified charm of ops in real processes, to which things happen that are drawn from a seed.

found = await storm(client, path, seed=7)
assert found.differences == []
"""

import contextlib
import importlib.util
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ops
from ruamel.yaml import YAML

from support import real_agent, tiny_charm
from support.ops_storm.recorder import Recorder
from support.ops_storm.replay import Replay
from support.waiting import eventually
from tinkwell.client import Client, errors
from tinkwell.client.lease.keeper import Keeper
from tinkwell.provisioner.unit import agent

DEADLINE_SECONDS = 300.0
FOLDERS = {"tiny": tiny_charm.TINY, "vault": tiny_charm.VAULT}
_DEFERRED = ("", "config_changed", "config_changed,update_status", "db_relation_created", "secret_changed")


@dataclass(slots=True)
class Found:
    """How many events were played twice, by their names, and where both ends differ."""

    events: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)


async def storm(
    client: Client, path: Path, *, seed: int, steps: int = 8, deadline_seconds: float = DEADLINE_SECONDS
) -> Found:
    """Let it happen, and play all of it once more. `deadline_seconds` is how long it may take to come to rest."""
    chance = random.Random(f"ops {seed}")
    recorder = Recorder(client.units)
    async with _serving(client, recorder, path):
        for name, folder in FOLDERS.items():
            written = tiny_charm.write(path / name, [*tiny_charm.source(folder), *tiny_charm.venv()])
            await client.applications.deploy(name, written, units=chance.randrange(1, 3), anywhere=True)
        await _rest(client, deadline_seconds)
        await client.applications.relate("tiny:db", "vault:db")
        await _rest(client, deadline_seconds)
        # Whatever else is drawn: a secret has another revision, which its readers are told of.
        asked = await client.applications.run("vault/leader", "rotate", length=9)
        await client.applications.finished(asked.id, timeout_seconds=deadline_seconds)
        await _rest(client, deadline_seconds)
        for _ in range(steps):
            with contextlib.suppress(errors.Error):
                await chance.choice(_requests(client, chance))()
            if chance.random() < 0.6:
                await _rest(client, deadline_seconds)
        for name in FOLDERS:
            await client.applications.remove(name)
        await eventually(lambda: _is_gone(client), deadline_seconds=deadline_seconds)
    assert not recorder.failed, recorder.failed
    return _play(recorder)


def _play(recorder: Recorder) -> Found:
    found, replays = Found(), dict[str, Replay]()
    for attempt in recorder.committed:
        grant = attempt.grant
        if grant.unit_id not in replays:
            replays[grant.unit_id] = _replay(FOLDERS[grant.application])
        replay = replays[grant.unit_id]
        what = f"task {grant.task.name}" if grant.task is not None else grant.event.name
        found.events[what] = found.events.get(what, 0) + 1
        found.differences += [f"{grant.unit} #{grant.event.ordinal} {what}: {each}" for each in replay.play(attempt)]
    return found


def _replay(folder: Path) -> Replay:
    """Return where units of a charm are played, whose manifest is in one file or in three."""
    if (whole := folder / "charmcraft.yaml").is_file():
        return Replay(_charm(folder), _yaml(whole))
    others = {name: _yaml(folder / f"{name}.yaml") for name in ("actions", "config")}
    return Replay(_charm(folder), _yaml(folder / "metadata.yaml"), **others)


def _yaml(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(path)
    return found


def _charm(folder: Path) -> type[ops.CharmBase]:
    """Return the only class of a charm's program that is a charm."""
    spec = importlib.util.spec_from_file_location(f"charm_in_{folder.name}", folder / "src/charm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (found,) = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, ops.CharmBase)]
    return found


def _requests(client: Client, chance: random.Random) -> list[Callable[[], Awaitable[object]]]:
    applications = client.applications
    unit = f"tiny/{chance.randrange(3)}"
    config = {"workers": chance.randrange(9), "defer": chance.choice(_DEFERRED)}
    return [
        lambda: applications.relate("tiny:db", "vault:db"),
        lambda: applications.relate("tiny:db", "vault:db"),
        lambda: applications.unrelate("tiny", "vault"),
        lambda: applications.set_config("tiny", config),
        lambda: applications.set_config("tiny", config),
        lambda: applications.add_units(chance.choice([*FOLDERS]), anywhere=True),
        lambda: applications.remove_unit(unit),
        lambda: applications.collect_metrics(unit),
        lambda: applications.run(unit, "backup", target="/srv"),
        lambda: applications.run("vault/leader", "rotate", length=9),
        lambda: applications.run("vault/leader", "rotate", length=9),
    ]


@contextlib.asynccontextmanager
async def _serving(client: Client, recorder: Recorder, path: Path) -> AsyncIterator[None]:
    """Serve units, one at a time, so that nobody else writes a bag while an event runs that sees it."""
    keeper = Keeper(client.work, owner="storm", engine="storm")
    served = agent.Agent(
        api=recorder,
        storages=lambda namespace: _storages(client, namespace),
        history=_history,
        lease=keeper,
        path=path / "units",
        machines=real_agent.no_machines,
        concurrency=1,
    )
    async with real_agent.running(keeper, served):
        yield


async def _rest(client: Client, deadline_seconds: float) -> None:
    await client.applications.settled(*FOLDERS, timeout_seconds=deadline_seconds)


async def _is_gone(client: Client) -> bool:
    return [each async for each in client.applications.list()] == []


async def _storages(client: Client, namespace: str) -> frozenset[str]:
    return frozenset([each.name async for each in client.applications.storages(namespace=namespace)])


async def _history() -> str:
    return "storm"
