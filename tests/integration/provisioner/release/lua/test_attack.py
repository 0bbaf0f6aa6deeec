"""Scripts that try to break out, to take all there is or to spoil what others do, in a real child process.

Each one ends in one clear error, or comes to nothing; after each the next call of a good handler is answered, and
meanwhile other operations are.
"""

import asyncio
import dataclasses
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from unit.provisioner.release.lua.scripting import INIT, chart, on, request

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.provisioner.release.lua import scripts
from tinkwell.provisioner.release.lua.registration import Handler
from tinkwell.provisioner.release.lua.scripts import HandlerFailed, Scripts

INSTRUCTIONS = "needs more than 10 million instructions"
MEMORY = "needs more memory than Lua may have"
TIME = r"needs more than [\d.]+ s of processor time"
# Where the machine is busy, an attack may have too little of its processor to get that far.
BUSY = "takes longer than 10 s"
# Half of what is allowed is as good a limit, and the sooner reached.
LIMITS = dataclasses.replace(scripts.LIMITS, cpu_seconds=0.5)

GOOD = """
  events.on("pre-render", 1, function (_, _, _, values) values.good = string.rep("x", 3):upper() .. #values.given end)
"""

# What goes on for ever, or would.
ENDLESS = {
    "a loop": ("while true do end", INSTRUCTIONS),
    "a loop in a pcall in a loop": ("while true do pcall(function () while true do end end) end", INSTRUCTIONS),
    "a loop in an xpcall with a handler that loops": (
        "local function spin() while true do end end while true do xpcall(spin, spin) end",
        f"{INSTRUCTIONS}|{TIME}",
    ),
    "a chain of pcalls": (
        "local f = function () while true do end end; pcall(pcall, pcall, f); while true do end",
        INSTRUCTIONS,
    ),
    "goto": ("::again:: goto again", INSTRUCTIONS),
    "a numeric loop": ("for _ = 1, math.huge do end", INSTRUCTIONS),
    "recursion": ("local function f() return f() end f()", INSTRUCTIONS),
    "recursion that grows": ("local function f() return 1 + f() end f()", f"stack overflow|{MEMORY}"),
    "an endless __index": (
        "local t = setmetatable({}, {__index = function () while true do end end}); return t.x",
        INSTRUCTIONS,
    ),
    "an endless __close": (
        "local x <close> = setmetatable({}, {__close = function () while true do end end}); error('x')",
        INSTRUCTIONS,
    ),
    "an endless __tostring": (
        "print(setmetatable({}, {__tostring = function () while true do end end}))",
        INSTRUCTIONS,
    ),
    "an endless __pairs": (
        "for _ in pairs(setmetatable({}, {__pairs = function () while true do end end})) do end",
        INSTRUCTIONS,
    ),
    "an endless __eq": (
        "local m = {__eq = function () while true do end end}; return setmetatable({}, m) == setmetatable({}, m)",
        INSTRUCTIONS,
    ),
    "an endless comparison": (
        "local t = {}; for n = 1, 99 do t[n] = n end; table.sort(t, function () while true do end end)",
        INSTRUCTIONS,
    ),
    "a comparison that makes no sense": (
        "local t = {}; for n = 1, 999 do t[n] = n end; table.sort(t, function () return true end)",
        "invalid order function",
    ),
    "an endless replacement": ("string.gsub('x', '.', function () while true do end end)", INSTRUCTIONS),
    "an iterator that never ends": ("for _ in function () return 1 end do end", INSTRUCTIONS),
    "a pattern of exponential cost": ("string.find(('a'):rep(40000), '.-.-.-.-b')", TIME),
    "the same as a method": ("(('a'):rep(40000)):match('.-.-.-.-b')", TIME),
    "a long move": ("table.move({}, 1, math.maxinteger - 1, 2)", TIME),
    "a long unpack": ("table.unpack({}, 1, 1e8)", "too many results to unpack"),
    "a long concat": (
        "table.concat(setmetatable({}, {__index = function () return '' end}), '', 1, 1e9)",
        INSTRUCTIONS,
    ),
    "patterns that nest": ("string.find(('('):rep(300000), ('%b()'):rep(9))", TIME),
    "a comparison of long texts": (
        "local t = {} for n = 1, 1e9 do t[n % 7] = ('x'):rep(9000) < ('x'):rep(9001) end",
        f"{INSTRUCTIONS}|{TIME}",
    ),
}

# What takes memory.
GREEDY = {
    "a table": ("local t = {} for n = 1, 1e9 do t[n] = n end", MEMORY),
    "tables": ("local t = {} while true do t = {t} end", MEMORY),
    "texts": ("local s = 'x' while true do s = s .. s end", MEMORY),
    "texts in a pcall": (
        "local s = 'x' while true do pcall(function () s = s .. s end) end",
        f"{INSTRUCTIONS}|{MEMORY}|{TIME}",
    ),
    "a repeated text": ("string.rep('x', 1e9)", "string.rep gives at most 1 MiB"),
    "a repeated text as a method": ("('x'):rep(1e9)", "string.rep gives at most 1 MiB"),
    "a number that is a text": ("string.rep('x', '1000000000')", "string.rep gives at most 1 MiB"),
    "a separator that is a number": ("string.rep('', 1e6, 123456)", "string.rep gives at most 1 MiB"),
    "a repeated separator": ("string.rep('', 1e9, 'xxxxxxxx')", "string.rep gives at most 1 MiB"),
    "as often as there are numbers": ("string.rep('xx', math.maxinteger)", "string.rep gives at most 1 MiB"),
    "a format": ("local t = {} for n = 1, 1e9 do t[n] = string.format('%99d', n) end", MEMORY),
    "a replacement": ("local s = ('x'):rep(2^20); s:gsub('x', s)", MEMORY),
    "a concat": ("local s, t = ('x'):rep(2^20), {} for n = 1, 1000 do t[n] = s end return table.concat(t)", MEMORY),
    "closures": ("local f; while true do local g = f; f = function () return g end end", MEMORY),
    "lines": ("while true do print(('x'):rep(4000)) end", f"{INSTRUCTIONS}|{TIME}"),
    "warnings": ("while true do log.warning(('x'):rep(4000)) end", f"{INSTRUCTIONS}|{TIME}"),
    "values of many megabytes": (
        "for n = 1, 20 do values['k' .. n] = ('x'):rep(2^20) end",
        "has more than 8 MiB as JSON",
    ),
    "one text in many places": (
        "local s = ('x'):rep(2^20); values.s = {s, s, s, s, s, s, s, s, s}",
        "has more than 8 MiB",
    ),
    "tables that double": ("local t = {} for _ = 1, 60 do t = {t, t} end values.t = t", f"8 MiB|{TIME}|{MEMORY}"),
    "YAML that unfolds": (
        (
            "local s = 'a: &a [x, x, x, x, x, x, x, x, x]\\n' local l = 'a' for n = 98, 110 do "
            "local c = string.char(n) "
            "s = s .. c .. ': &' .. c .. ' [' .. ('*' .. l .. ', '):rep(9) .. ']\\n' l = c end return yaml.decode(s)"
        ),
        "the text",
    ),
    "a number in YAML that has no end": ("return yaml.decode('a: ' .. ('1'):rep(100000))", "the text|cannot be read"),
    "long YAML": ("yaml.decode(('- [a]\\n'):rep(150000))", f"{TIME}|the text"),
    "JSON of many brackets": ("json.decode(('[1,'):rep(300000))", "nested deeper than 64 levels"),
}

# What reaches for something that is not there.
REACHING = {
    name: (f"return {name}.x", f"there is no {name} in scripts|attempt to index a nil value \\(global '{name}'\\)")
    for name in ("os", "io", "debug", "package", "coroutine", "python")
} | {
    name: (
        f"return {name}('return 1')",
        f"there is no {name} in scripts|attempt to call a nil value \\(global '{name}'\\)",
    )
    for name in ("load", "loadstring", "loadfile", "dofile", "collectgarbage", "setfenv", "getfenv", "newproxy", "warn")
}

BREAKING = {
    "bytecode": ("return string.dump(function () end)", "attempt to call a nil value"),
    "bytecode as a method": ("return ('x').dump", None),
    "a finalizer": ("setmetatable({}, {__gc = function () while true do end end})", "a metatable cannot have __gc"),
    "a finalizer that comes later": (
        "local m = {}; setmetatable({}, m); m.__gc = function () while true do end end; for _ = 1, 1e5 do _ = {} end",
        None,
    ),
    "the metatable of texts": ("getmetatable('').__index.upper = nil", "attempt to index a boolean value"),
    "another metatable of texts": ("setmetatable('', {})", "bad argument|table expected"),
    "the functions of texts": ("string.upper = function () return 'evil' end; string.rep = nil", None),
    "the metatable of null": ("getmetatable(null).__index = {}", "attempt to index a boolean value"),
    "another metatable of null": ("setmetatable(null, {})", "null cannot be changed"),
    "the metatable of the chart": ("getmetatable(chart).__newindex = nil", "attempt to index a boolean value"),
    "the events": ("_G.events.on = nil", "attempt to index a nil value"),
    "an error that speaks for ever": (
        "error(setmetatable({}, {__tostring = function () while true do end end}))",
        "an error was raised that is no text but a table",
    ),
    "an error that poses as one of ours": (
        "error({message = {}, syntax = 1, chart = {}})",
        "that is no text but a table",
    ),
    "an error that is long": ("error(('x'):rep(100000))", "xxx"),
    "an error that poses as one of memory": ("error('not enough memory')", "not enough memory"),
    "a context with a metatable": (
        "setmetatable(context, {__index = function () while true do end end}); context.state = nil",
        "context.state: must be an object, and not null",
    ),
    "values with a metatable": (
        (
            "local f = function () while true do end end; "
            "setmetatable(values, {__index = f, __pairs = f, __len = f, __newindex = f}); values.given = values.given"
        ),
        None,
    ),
    "values that are someone else's": ("values.x = _G", "a table contains itself|a function cannot be written"),
    "the process": ("for _ in pairs(_G) do end; return require('os')", "there is no ext/lua/os.lua in this chart"),
    "files": ("return require('/etc/passwd')", "in this chart"),
    "deep values": ("local t = values for _ = 1, 1e5 do t.a = {} t = t.a end", "nested deeper than 64 levels"),
    "a pattern that recurses": (
        "string.find(('a'):rep(300000), ('a?'):rep(300000) .. 'b')",
        f"pattern too complex|{TIME}",
    ),
    "a text that recurses": ("local function f(s) return s:gsub('.', f) end f('x')", "stack overflow"),
    "nested errors": ("local function f() error(setmetatable({}, {__index = f})) end xpcall(f, f)", None),
}

ATTACKS = ENDLESS | GREEDY | REACHING | BREAKING


@dataclass(frozen=True)
class Arena:
    """The scripts with all attacks, and beside them those of another operation, with a child of its own."""

    scripts: Scripts
    attackers: dict[str, Handler]
    good: Handler
    others: Scripts
    other: Handler

    async def is_well(self) -> bool:
        return await is_good(self.scripts, self.good) and await is_good(self.others, self.other)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena() -> AsyncIterator[Arena]:
    good = chart("shop", f"function init(events)\n{GOOD}\nend")
    bad = [chart(f"shop.bad{number}", on("pre-render", body)) for number, (body, _) in enumerate(ATTACKS.values())]
    async with Scripts([*bad, good], limits=LIMITS) as attacked, Scripts([good]) as others:
        handlers, _ = await attacked.load()
        (other,), _ = await others.load()
        *attackers, last = handlers
        yield Arena(attacked, dict(zip(ATTACKS, attackers, strict=True)), last, others, other)


async def is_good(asked: Scripts, handler: Handler) -> bool:
    answer = await asked.call(handler, request(Event.PRE_RENDER, {"given": "abc"}))
    return answer.values == {"given": "abc", "good": "XXX3"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_is_contained_and_the_next_call_is_answered(name: str, arena: Arena) -> None:
    _, expected = ATTACKS[name]
    given = request(Event.PRE_RENDER, {"given": "abc"})
    attack = asyncio.create_task(arena.scripts.call(arena.attackers[name], given))
    assert await is_good(arena.others, arena.other)
    if expected is None:
        await attack
    else:
        with pytest.raises(HandlerFailed) as raised:
            await attack
        error = raised.value
        assert re.search(f"{expected}|{BUSY}", error.message), error.message
        assert len(error.message) <= 2001
        assert error.file == INIT
        assert error.line in (2, 3)
    assert await arena.is_well()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("\nwhile true do end", f"{INIT}:2: {INSTRUCTIONS}"),
        ("\nlocal t = {} for n = 1, 1e9 do t[n] = {} end", MEMORY),
        ("\nstring.find(('a'):rep(40000), '.-.-.-.-b')", TIME),
        ("function init()\n while true do pcall(error) end end", f"{INIT}:2: {INSTRUCTIONS}"),
        ("function init()\n string.find(('a'):rep(40000), '.-.-.-.-b') end", f"ext/lua: {TIME}"),
        ("\x1bLua", "unexpected symbol|attempt to load a binary chunk"),
        ("x = " + "(" * 100_000, "C stack overflow|chunk has too many syntax levels"),
        ("local " + ",".join(f"a{n}" for n in range(300)), "too many local variables"),
        ("\nlocal ok = pcall(require, 'init') while not ok do end", f"{INIT}:2: {INSTRUCTIONS}"),
    ],
)
async def test_an_attack_while_loading_is_told_of_its_file(script: str, expected: str) -> None:
    async with Scripts([chart("shop", script)], limits=LIMITS) as made:
        for _ in range(2):
            with pytest.raises(errors.InvalidField) as raised:
                await made.load()
            (violation,) = raised.value.violations
            assert re.search(f"{expected}|{BUSY}", f"{violation.field}: {violation.description}")


async def test_a_child_keeps_nothing_of_what_went_too_far() -> None:
    script = """
    count = 0
    function init(events)
      events.on("ready", 0, function () count = count + 1; print(count) end)
      events.on("ready", 1, function () count = 100; while true do end end)
    end
    """
    async with Scripts([chart("shop", script)], limits=LIMITS) as made:
        (counter, attacker), _ = await made.load()
        assert (await made.call(counter, request(Event.READY))).lines == ("1",)
        with pytest.raises(HandlerFailed):
            await made.call(attacker, request(Event.READY))
        assert (await made.call(counter, request(Event.READY))).lines == ("1",)
        assert made.pid != os.getpid()
