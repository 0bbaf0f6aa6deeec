"""What a supervisor does about workers that end, hang or cannot begin; the workers here are small programs."""

import asyncio
import json
import logging
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.waiting import eventually
from tinkwell.server.app import main, process
from tinkwell.server.app.workers import supervisor
from tinkwell.server.settings import Settings

URL = "postgresql://user:hidden@db/tinkwell"
# Every life of a worker adds a letter to a file of its own.
BEGIN = """
import json, pathlib, signal, socket, sys, time
control = socket.socket(fileno=0).makefile("rw")
order = json.loads(control.readline())
worker = order["worker"]
file = pathlib.Path(sys.argv[1]) / f"lives-{worker}"
file.write_text((file.read_text() if file.exists() else "") + "x")
lives = len(file.read_text())
def say(**message):
    control.write(json.dumps(message) + "\\n")
    control.flush()
def serve():
    say(ready="127.0.0.1:1")
    metrics = f'# HELP x Things.\\n# TYPE x counter\\nx_total{{kind="a"}} {worker + 5}\\n'
    answers = {"liveness": {}, "readiness": {"database": True, "event_log": lives < 3}, "metrics": metrics}
    for line in control:
        question = json.loads(line)
        say(id=question["id"], answer=answers[question["ask"]])
"""


QUICK = supervisor.Pace(first_pause_seconds=0.001, longest_pause_seconds=0.01, stop_seconds=0.2, ask_seconds=0.5)


def settings(**more: object) -> Settings:
    return Settings.model_validate({"database_url": URL, "workers": 2, "port": 0, "http_port": 0, **more})


@asynccontextmanager
async def running(folder: Path, body: str, **more: object) -> AsyncIterator[str]:
    """Supervise workers of this body; yields the HTTP address. Raises what the supervisor raises, by itself."""
    ready: asyncio.Future[main.Addresses] = asyncio.get_running_loop().create_future()
    command = [sys.executable, "-I", "-S", "-c", BEGIN + body, str(folder)]
    try:
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            supervising = tasks.create_task(
                supervisor.run(settings(**more), ready=ready.set_result, command=command, pace=QUICK), name="supervisor"
            )
            yield (await ready).http
            supervising.cancel()
    except BaseExceptionGroup as group:
        raise process.first(group) from group


async def fails(folder: Path, body: str) -> str:
    with pytest.raises(supervisor.WorkersFailed) as caught:
        async with running(folder, body):
            await asyncio.get_running_loop().create_future()
    return str(caught.value)


async def get(address: str, path: str) -> tuple[int, str]:
    def request() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(request)


async def samples(address: str) -> dict[tuple[str, str], float]:
    """The value of each sample by its name and its worker."""
    _, text = await get(address, "/metrics")
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, sample.labels["worker"]): sample.value for sample in found}


async def test_the_first_worker_that_cannot_begin_says_why_for_all(tmp_path: Path) -> None:
    assert await fails(tmp_path, "say(failed='the schema is at nothing')") == "the schema is at nothing"


async def test_a_worker_that_ends_before_it_was_ever_ready_ends_the_server(tmp_path: Path) -> None:
    body = "time.sleep(60) if worker else sys.exit(7)"
    assert await fails(tmp_path, body) == "worker 0 ended by itself with exit code 7"


async def test_a_worker_that_ends_again_and_again_ends_the_server(tmp_path: Path) -> None:
    body = "say(ready='127.0.0.1:1'); time.sleep(60 if worker else 0); signal.raise_signal(signal.SIGKILL)"
    told = await fails(tmp_path, body)
    assert told == "worker 0 ended by itself with SIGKILL, 5 times in a row soon after its start"
    assert (tmp_path / "lives-0").read_text() == "xxxxx"
    assert (tmp_path / "lives-1").read_text() == "x"


async def test_a_worker_that_ended_is_started_again_while_the_other_serves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = "say(ready='127.0.0.1:1') or sys.exit(3) if worker == 1 and lives == 1 else serve()"
    with caplog.at_level(logging.INFO):
        async with running(tmp_path, body) as address:
            await eventually(lambda: is_ready(address))
            assert await samples(address) == {
                ("tinkwell_worker_up", "0"): 1,
                ("tinkwell_worker_up", "1"): 1,
                ("tinkwell_worker_restarts_total", "0"): 0,
                ("tinkwell_worker_restarts_total", "1"): 1,
                ("x_total", "0"): 5,
                ("x_total", "1"): 6,
            }
    (ended,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert (vars(ended)["worker"], vars(ended)["cause"]) == (1, "worker 1 ended by itself with exit code 3")


async def is_ready(address: str) -> bool:
    return (await get(address, "/readyz"))[0] == 200


async def test_a_worker_that_finds_no_room_for_its_process_is_started_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start, refusals = asyncio.create_subprocess_exec, [BlockingIOError(11, "no room"), OSError(12, "full")]

    async def start_or_refuse(*command: str, **more: Any) -> asyncio.subprocess.Process:
        if (tmp_path / "lives-1").exists() and refusals:
            raise refusals.pop(0)
        return await start(*command, **more)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_or_refuse)
    body = "say(ready='127.0.0.1:1') or sys.exit(3) if worker == 1 and lives == 1 else serve()"
    async with running(tmp_path, body):
        await eventually(lambda: (tmp_path / "lives-1").read_text() == "xx")
    causes = [vars(record)["cause"] for record in caplog.records if "cause" in vars(record)]
    assert causes[1:] == ["worker 1 could not be started: no room", "worker 1 could not be started: full"]


async def test_it_is_ready_while_every_worker_is_and_says_which_is_not(tmp_path: Path) -> None:
    (tmp_path / "lives-1").write_text("xx")
    async with running(tmp_path, "serve()") as address:
        status, body = await get(address, "/readyz")
        assert status == 503
        assert json.loads(body)["checks"] == {"worker 0": True, "worker 1": "event_log: False"}
        assert await get(address, "/livez") == (200, "ok\n")


async def test_a_worker_that_hangs_is_named_and_hides_nothing_of_the_other(tmp_path: Path) -> None:
    body = "say(ready='127.0.0.1:1') or time.sleep(60) if worker else serve()"
    async with running(tmp_path, body) as address:
        for path in ("/livez", "/readyz"):
            status, text = await get(address, path)
            assert status == 503
            assert json.loads(text)["checks"]["worker 1"] == "it does not answer"
        assert {worker for name, worker in await samples(address) if name == "x_total"} == {"0"}


async def test_a_worker_that_does_not_end_is_killed(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN); serve()"
    async with running(tmp_path, body, shutdown_grace_seconds=0):
        pass


async def test_told_to_stop_it_ends_workers_that_have_not_begun_yet(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-c", BEGIN + "time.sleep(60)", str(tmp_path)]
    supervising = asyncio.ensure_future(supervisor.run(settings(), ready=lambda _: None, command=command, pace=QUICK))
    await eventually((tmp_path / "lives-0").exists, deadline_seconds=30)
    supervising.cancel()
    async with asyncio.timeout(30):
        await asyncio.wait({supervising})
    assert supervising.cancelled()


async def test_a_worker_gets_the_settings_as_they_are_with_their_secrets(tmp_path: Path) -> None:
    certificate = tmp_path / "server.pem"
    certificate.touch()
    chosen = settings(tokens={"alice": "one"}, server_cert=certificate, server_key=certificate, log_format="json")
    order = json.loads(json.dumps(supervisor._revealed(chosen)))
    assert order["tokens"] == {"alice": "one"}
    assert Settings(**order) == chosen
