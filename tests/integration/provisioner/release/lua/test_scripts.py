"""Scripts as the provisioner asks for them, in a real child process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from unit.provisioner.release.lua.scripting import INIT, chart, on, request

from support import waiting
from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.provisioner.release.lua.scripts import HandlerFailed, Scripts
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox.room import Room

COUNTER = "local count = 0\n" + on("ready", "count = count + 1; print(count)")


async def count(scripts: Scripts, handler: Any) -> str:
    (line,) = (await scripts.call(handler, request(Event.READY))).lines
    return line


async def test_a_child_that_was_ended_between_two_calls_loads_again_by_itself() -> None:
    room = Room(1)
    async with (
        Scripts([chart("shop", COUNTER)], room=room) as scripts,
        Scripts([chart("shop", COUNTER)], room=room) as other,
    ):
        (handler,), _ = await scripts.load()
        assert [await count(scripts, handler), await count(scripts, handler)] == ["1", "2"]
        # There is one place, so this ends the first child.
        (neighbour,), _ = await other.load()
        assert await count(other, neighbour) == "1"
        assert scripts.pid is None
        assert await count(scripts, handler) == "1"


async def test_a_child_that_loads_again_keeps_its_place_until_it_is_called() -> None:
    room = Room(1)

    async def hear() -> list[str]:
        async with Scripts([chart("shop", COUNTER)], room=room) as scripts:
            (handler,), _ = await scripts.load()
            return [await count(scripts, handler) for _ in range(3)]

    # All want the one place again and again, and each finds its child ended by another one.
    assert {line for lines in await asyncio.gather(*(hear() for _ in range(5))) for line in lines} == {"1"}


async def test_a_child_that_was_killed_between_two_calls_loads_again() -> None:
    async with Scripts([chart("shop", COUNTER)]) as scripts:
        (handler,), _ = await scripts.load()
        pid = scripts.pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        process = scripts._child._process
        assert process
        await process.wait()
        assert await count(scripts, handler) == "1"


async def test_a_child_that_is_killed_in_a_call_is_told_and_the_next_call_works() -> None:
    script = COUNTER.replace("init(events)", "init(events)\n  events.on('wait', 0, function () while true do end end)")
    async with Scripts([chart("shop", script.replace("while true do end", "for n = 1, 9e6 do end"))]) as scripts:
        (endless, handler), _ = await scripts.load()
        call = asyncio.create_task(scripts.call(endless, request(Event.WAIT)))
        await waiting.eventually(lambda: scripts._child._piece == f"shop\n{INIT}" and scripts._child._turn.locked())
        pid = scripts.pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(HandlerFailed, match=r"wait of shop: ext/lua/init.lua:3: the child process ended of signal"):
            await call
        assert await count(scripts, handler) == "1"


async def test_scripts_that_do_not_load_leave_a_child_that_works() -> None:
    async with Scripts([chart("shop", "x =")]) as scripts:
        for _ in range(2):
            with pytest.raises(errors.InvalidField, match=r"^ext/lua/init.lua:1: unexpected symbol"):
                await scripts.load()


async def test_scripts_that_are_too_large_are_told() -> None:
    async with Scripts([chart("shop", "-- " + "x" * 40_000_000)]) as scripts:
        with pytest.raises(errors.InvalidField, match=r"has 40,000,\d+ bytes; at most 33,554,432 are allowed"):
            await scripts.load()


async def test_documents_that_are_too_large_for_lua_are_told() -> None:
    async with Scripts([chart("shop", on("pre-render", "values.x = 1"))]) as scripts:
        (handler,), _ = await scripts.load()
        values: Any = {f"k{number}": "x" * 1_000_000 for number in range(14)}
        with pytest.raises(HandlerFailed, match="needs more memory than Lua may have"):
            await scripts.call(handler, request(Event.PRE_RENDER, values))
        assert (await scripts.call(handler, request(Event.PRE_RENDER, {}))).values == {"x": 1}


async def test_the_files_of_a_chart_go_only_to_scripts_that_speak_of_them() -> None:
    files: Any = {"a.txt": "text"}
    async with Scripts([chart("shop", on("pre-render", "print(context['fi' .. 'les'] == nil)"))]) as scripts:
        (handler,), _ = await scripts.load()
        assert (await scripts.call(handler, request(Event.PRE_RENDER, files=files))).lines == ("true",)


async def test_calls_of_one_operation_come_one_after_the_other() -> None:
    async with Scripts([chart("shop", COUNTER)]) as scripts:
        (handler,), _ = await scripts.load()
        lines = await asyncio.gather(*(count(scripts, handler) for _ in range(20)))
        assert sorted(map(int, lines)) == [*range(1, 21)]


async def test_after_the_end_nothing_is_called() -> None:
    async with Scripts([chart("shop", COUNTER)]) as scripts:
        (handler,), _ = await scripts.load()
    with pytest.raises(sandbox.NotStarted, match="closed"):
        await scripts.call(handler, request(Event.READY))


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"changed": 1, "unknown": [], "lines": [], "warnings": []},
        {"changed": {"none": 1}, "unknown": [], "lines": [], "warnings": []},
        {"fault": {}},
    ],
)
async def test_an_answer_of_another_form_is_none(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Scripts([chart("shop", COUNTER)]) as scripts:
        (handler,), _ = await scripts.load()

        async def call(_: bytes) -> bytes:
            return json.dumps(answer).encode()

        monkeypatch.setattr(scripts._child, "_call", call)
        with pytest.raises(sandbox.Failed, match="gives what is no answer"):
            await scripts.call(handler, request(Event.READY))


async def test_a_child_that_ends_again_and_again_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Scripts([chart("shop", COUNTER)]) as scripts:
        (handler,), _ = await scripts.load()

        async def call(_: bytes) -> bytes:
            return b'{"is_unloaded": true}'

        monkeypatch.setattr(scripts._child, "_call", call)
        with pytest.raises(sandbox.Died, match="ended again and again between two calls"):
            await scripts.call(handler, request(Event.READY))


def test_the_provisioner_does_not_load_lua_and_the_child_loads_little_else() -> None:
    def loaded(module: str) -> set[str]:
        code = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
        return set(json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))

    assert "lupa" not in loaded("tinkwell.provisioner.release.lua.scripts")
    child = loaded("tinkwell.provisioner.release.lua.child")
    assert "lupa.lua54" in child
    assert not {"asyncio", "grpc", "google.protobuf", "logging", "jsonschema_rs", "networkx", "jinja2"} & child
