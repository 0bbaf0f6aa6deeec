"""Templates in their child process: what it may cost, who ends it, and who is refused."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.template import template
from tinkwell.core.template.frozen import Frozen
from tinkwell.core.value import document
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox.limit import Limits
from tinkwell.server.template.service.children import Children
from tinkwell.server.template.service.rendering import Rendering, make_children

MIB = 1024 * 1024
TEXT = """\
version: "0.1"
name: small
tasks:
  - {name: one, worker: {{.worker}}, actions: [{name: one, image: one}]}
"""
# For each of many items another loop: a million steps.
LOOPS = TEXT + "# {{range .many}}{{range $.many}}{{end}}{{end}}\n"
MANY = json.dumps({"worker": "any", "many": list(range(10_000))})


def heavy(kilobytes: int) -> str:
    """A template whose text takes a parser some seven milliseconds for each kilobyte, and is wrong at its end."""
    lines = "".join(f"  k{number}: [a, b, c, d, e]\n" for number in range(kilobytes * 1024 // 28))
    return f"{TEXT}other:\n{lines}"


@asynccontextmanager
async def made(**more: int | Limits) -> AsyncIterator[tuple[Rendering, Children]]:
    children = make_children(**more)  # type: ignore[arg-type]  # see make_children
    async with Rendering(children) as given:
        yield given, children


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


async def refusal(call: Awaitable[object]) -> dict[str, str]:
    with pytest.raises(errors.InvalidField) as refused:
        await call
    return {violation.field: violation.description for violation in refused.value.violations}


async def test_what_comes_out_of_the_child_is_what_is_rendered_and_then_known() -> None:
    async with made() as (given, children):
        devices: document.JsonObject = {"worker": "5f0c1c3e"}
        assert given.render_quickly(TEXT, devices, field="template") is None
        whole = Frozen.of(template.render(TEXT, devices))
        assert await given.render(TEXT, '{"worker": "5f0c1c3e"}', field="template") == whole
        assert len(children.pids) == 1
        assert given.render_quickly(TEXT, devices, field="template") == whole


async def test_a_template_that_was_checked_is_known() -> None:
    async with made() as (given, _):
        assert await given.check(TEXT, field="data") == "small"
        assert given.render_quickly(TEXT, {"worker": "any"}, field="template") is not None


async def test_what_is_wrong_is_told_with_its_fields_as_ever() -> None:
    async with made() as (given, children):
        wrong = TEXT.replace("image: one", "image: ''").replace("version", "versoin")
        with pytest.raises(errors.InvalidField) as expected:
            template.parse_template(wrong)
        assert await refusal(given.check(wrong, field="data")) == {
            violation.field: violation.description for violation in expected.value.violations
        }
        assert list(await refusal(given.render(TEXT, "{}", field="template"))) == ["hardware.worker"]
        assert list(await refusal(given.render(TEXT, '{"worker": ', field="template"))) == ["hardware"]
        assert "1,048,576" in (await refusal(given.check("#" * (MIB + 1), field="data")))["data"]
        # Mistakes of templates are no reason to end the child.
        assert len(children.pids) == 1


async def test_a_run_that_costs_too_much_is_refused_with_the_field_and_what_to_do() -> None:
    async with made() as (given, _):
        told = await refusal(given.render(LOOPS, MANY, field="template"))
        what = "the template takes more than 1,000,000 steps; let it do less, such as over shorter lists"
        assert told == {"template": f"line 5, column 18: {what}"}


async def test_an_expression_that_is_looked_for_without_end_ends_with_its_child() -> None:
    text = TEXT + '# {{regexMatch "(a+)+$" .worker}}\n'
    async with made(limits=Limits(cpu_seconds=0.3)) as (given, _):
        told = await refusal(given.render(text, json.dumps({"worker": "a" * 60 + "b"}), field="template"))
        assert "it needs more than 0.3 s of processor time" in told["template"]


@pytest.mark.parametrize(
    ("limits", "text", "why"),
    [
        (Limits(cpu_seconds=0.3), heavy(200), "it needs more than 0.3 s of processor time"),
        (Limits(wall_seconds=0.5), heavy(400), "it takes longer than 0.5 s"),
        (Limits(memory_bytes=26 * MIB, cpu_seconds=20), heavy(200), "it needs more than 26 MiB of memory"),
    ],
)
async def test_what_the_child_may_not_use_is_refused_with_the_field_and_what_to_do(
    limits: Limits, text: str, why: str
) -> None:
    async with made(limits=limits) as (given, _):
        told = await refusal(given.check(text, field="data"))
        told |= await refusal(given.render(text, MANY, field="template"))
        what = f"is too much work: reading {why}; make it smaller, or make several templates of it"
        assert told == {"data": what, "template": what}
        assert await given.check(TEXT, field="data") == "small"


async def test_a_call_that_is_cancelled_ends_its_child_and_no_other() -> None:
    async with made() as (given, children):
        calls = [asyncio.create_task(given.check(heavy(1_000), field="data")) for _ in range(2)]
        await eventually(lambda: len(children.pids) == 2)
        first, second = children.pids
        calls[0].cancel()
        await asyncio.gather(calls[0], return_exceptions=True)
        assert is_gone(first) is not is_gone(second)
        calls[1].cancel()
        await asyncio.gather(calls[1], return_exceptions=True)
        assert is_gone(first)
        assert is_gone(second)


async def test_who_finds_all_children_at_work_waits_and_too_many_are_refused() -> None:
    async with made(places=1, max_waiting=1) as (given, children):
        running = asyncio.create_task(given.check(heavy(1_000), field="data"))
        await eventually(lambda: len(children.pids) == 1)
        waiting = asyncio.create_task(given.check(TEXT, field="data"))
        await eventually(lambda: children.waiting == 1)
        with pytest.raises(errors.LimitReached, match="as many calls as may wait, 1; try again"):
            await given.check(TEXT, field="data")
        running.cancel()
        assert await waiting == "small"


async def test_recoveries_have_a_child_of_their_own() -> None:
    async with made(places=1, max_waiting=0) as (given, children):
        running = asyncio.create_task(given.check(heavy(1_000), field="data"))
        await eventually(lambda: len(children.pids) == 1)
        with pytest.raises(errors.LimitReached):
            await given.render(TEXT, '{"worker": "any"}', field="template")
        recovered = await given.render(TEXT, '{"worker": "any"}', field="template", is_recovery=True)
        assert recovered.workers == ("any",)
        running.cancel()


@pytest.mark.parametrize("kind", [sandbox.Died, sandbox.Failed])
async def test_a_child_that_fails_for_ever_is_an_error_of_the_recovery_and_of_nothing_else(
    kind: type[sandbox.SandboxError], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def call(children: Children, request: bytes) -> bytes:
        raise kind("ended of signal 11")

    monkeypatch.setattr(Children, "call", call)
    async with made() as (given, _):
        with pytest.raises(errors.TinkwellError, match="its template cannot be rendered: ended of signal 11") as told:
            await given.render(TEXT, MANY, field="template", is_recovery=True)
        assert not isinstance(told.value, errors.Unavailable)
        with pytest.raises((errors.Unavailable, sandbox.Failed)):
            await given.render(TEXT, MANY, field="template")


async def test_without_children_nothing_is_rendered_and_who_asks_may_ask_again() -> None:
    given = Rendering()
    await given.close()
    with pytest.raises(errors.Unavailable, match=r"templates cannot be rendered: .*try again"):
        await given.check(TEXT, field="data")
