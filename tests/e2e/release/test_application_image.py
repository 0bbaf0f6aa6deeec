"""The images for applications and their relations: units of charms are part of a release like anything else."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support import release_stack, unit_agent
from support.release_stack import Outcome, Stack
from tinkwell.client import Client, State

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
SECONDS = 300
TEXT = """\
name: text
kind: scripts
summary: {summary}
provides:
  text: {{interface: text}}
config:
  options:
    text: {{type: string, default: nothing}}
    times: {{type: int}}
    password: {{type: string}}
"""
READER = """\
name: reader
kind: scripts
requires:
  text: {interface: text}
"""
CONFIGURED = """#!/bin/sh
set -eu
test "$(config-get text)" != bad
status-set active "$(config-get text)"
"""
HEARD = """#!/bin/sh
set -eu
status-set active "related"
"""
SECRET = "very-secret-indeed"


@pytest.fixture
async def stack(client: Client, server_address: str, tmp_path: Path) -> AsyncIterator[Stack]:
    """A provisioner that runs releases, and units anywhere."""
    async with release_stack.running(client, server_address, tmp_path, options=("--units",)) as running:
        yield running


def text(summary: str = "Tells a text.") -> bytes:
    return unit_agent.charm(TEXT.format(summary=summary), **{"config-changed": CONFIGURED})


def reader() -> bytes:
    return unit_agent.charm(READER, start=HEARD)


async def application(stack: Stack, name: str, charm: bytes, **config: Any) -> dict[str, Any]:
    """The resource of an application, whose charm the server has from then on."""
    digest = (await stack.client.applications.upload_charm(charm)).digest
    given = {"server": stack.client.address, "name": name, "charm": digest, "machines": ["anywhere"], **config}
    return {"type": "tinkwell-resource/tinkwell-application:v1", "config": given}


def relation(stack: Stack, first: str, second: str, *after: str) -> dict[str, Any]:
    config = {"server": stack.client.address, "first": first, "second": second}
    needed = {each: each for each in after}
    return {"type": "tinkwell-resource/tinkwell-relation:v1", "config": config, "dependencies": needed}


async def apply(stack: Stack, **resources: Any) -> Outcome:
    return await stack.apply("r", {"resources": resources}, timeout_seconds=SECONDS)


async def said(stack: Stack, outcome: Outcome, path: str) -> str:
    return "\n".join(await stack.printed(outcome.operation, path))


async def names(client: Client) -> list[str]:
    return [each.name async for each in client.applications.list()]


async def test_an_application_is_deployed_left_alone_mended_and_removed(stack: Stack) -> None:
    applications = stack.client.applications
    wanted = await application(stack, "text", text(), units=2, config={"text": "a", "times": "3"})
    installed = await apply(stack, it=wanted)
    assert (installed.operation.state, installed.actions("it")) == (State.SUCCEEDED, ["deploy", "wait"])
    state = await stack.state("r", "it")
    assert (state["units"], state["config"], state["status"]) == (2, {"text": "a", "times": 3}, "active")
    assert state["machines"] == ["anywhere"]
    assert (await apply(stack, it=wanted)).became == {"it": "unchanged"}

    # Somebody changes everything by hand: the charm, an option, one that the release leaves alone, and the units.
    await applications.refresh("text", text("Another one."), config={"text": "b", "password": SECRET})
    await applications.add_units("text", 1, anywhere=True)
    await applications.settled("text", timeout_seconds=SECONDS)
    mended = await apply(stack, it=wanted)
    assert mended.actions("it") == ["upgrade", "configure", "remove-units", "wait"]
    assert await stack.state("r", "it") == state
    found = await applications.get("text")
    assert (found.charm, found.config) == (wanted["config"]["charm"], {"text": "a", "times": 3})
    assert [each.name async for each in applications.units("text")] == ["text/0", "text/1"]
    assert SECRET not in await said(stack, mended, "it")

    assert (await stack.uninstall("r")).became == {"it": "removed"}
    assert await names(stack.client) == []


async def test_two_applications_are_related_and_go_in_the_reverse_order(stack: Stack) -> None:
    resources = {
        "text": await application(stack, "text", text()),
        "reader": await application(stack, "reader", reader()),
        "both": relation(stack, "reader:text", "text", "text", "reader"),
    }
    installed = await apply(stack, **resources)
    assert installed.operation.state is State.SUCCEEDED
    assert installed.actions("both") == ["relate", "wait"]
    state = await stack.state("r", "both")
    assert (state["first"], state["second"], state["interface"]) == ("reader:text", "text", "text")

    await stack.client.applications.unrelate("reader", "text")
    mended = await apply(stack, **resources)
    assert mended.became == {"text": "unchanged", "reader": "unchanged", "both": "changed"}
    assert (await stack.state("r", "both"))["number"] > state["number"]

    gone = await stack.uninstall("r")
    assert set(gone.became.values()) == {"removed"}
    assert await names(stack.client) == []
    assert [each async for each in stack.client.applications.relations()] == []


async def test_a_unit_that_fails_fails_the_release_by_its_message_and_atomic_takes_it_back(stack: Stack) -> None:
    wanted = await application(stack, "text", text(), config={"text": "bad"})
    failed = await stack.apply("r", {"resources": {"it": wanted}}, timeout_seconds=SECONDS, atomic=True)
    assert failed.operation.state is State.FAILED
    assert failed.broken("it").name == "wait"
    # It may have been tried again by itself before somebody waited for it.
    assert re.search(r"text/0 #3 config-changed failed (once|\d+ times): exit 1", await said(stack, failed, "it"))
    # Atomic, so what was made is removed again, though an event of the unit has failed.
    ended = await stack.client.releases.operation(failed.operation.id)
    assert ended.state is State.FAILED
    assert await names(stack.client) == []


async def test_a_failed_event_is_tried_again_by_what_mends_it(stack: Stack) -> None:
    wanted = await application(stack, "text", text(), config={"text": "bad"})
    assert (await apply(stack, it=wanted)).operation.state is State.FAILED
    wanted["config"]["config"] = {"text": "good"}
    mended = await apply(stack, it=wanted)
    assert (mended.operation.state, mended.actions("it")) == (State.SUCCEEDED, ["configure", "wait"])
    assert (await stack.client.applications.unit("text/0")).status.message == "good"


async def test_what_cannot_be_is_told_with_the_server_s_sentence(stack: Stack) -> None:
    unknown = await application(stack, "unknown", text())
    unknown["config"]["charm"] = f"sha256:{'0' * 64}"
    lost = await application(stack, "lost", text(), machines=["nowhere"])
    mistyped = await application(stack, "mistyped", text(), config={"txt": "a"})
    outside = await application(stack, "outside", text())
    outside["config"]["charm"] = "../../charm"
    # Two that provide, and none that requires.
    one, other = await application(stack, "one", text()), await application(stack, "other", text())
    pair = relation(stack, "one", "other", "one", "other")
    resources = {"unknown": unknown, "lost": lost, "mistyped": mistyped, "outside": outside}
    refused = await stack.apply(
        "r",
        {"resources": {**resources, "one": one, "other": other, "pair": pair}},
        timeout_seconds=SECONDS,
        on_failure="continue",
    )
    sentences = {
        "unknown": "does not exist",
        "lost": "no machine has the hostname nowhere; give its id",
        "mistyped": "config.txt: the charm has no such option; did you mean text?",
        "outside": "charm: ../../charm is not below files/ of the chart",
        "pair": "one and other",
    }
    assert refused.operation.state is State.FAILED
    for path, sentence in sentences.items():
        assert sentence in await said(stack, refused, path), path
    assert await names(stack.client) == ["one", "other"]


async def test_what_is_secret_reaches_the_charm_and_stands_nowhere_else(stack: Stack) -> None:
    wanted = await application(stack, "text", text(), secret_config={"password": SECRET})
    installed = await apply(stack, it=wanted)
    assert installed.operation.state is State.SUCCEEDED
    assert (await stack.client.applications.get("text")).config == {"password": SECRET}
    assert SECRET not in json.dumps(await stack.state("r", "it"))
    assert SECRET not in await said(stack, installed, "it")
    known = (await stack.resources("r"))["it"]
    assert SECRET not in json.dumps(known.config)

    # Another one is set, and neither is told.
    await stack.client.applications.set_config("text", {"password": f"{SECRET}-by-hand"})
    mended = await apply(stack, it=wanted)
    assert mended.actions("it") == ["configure", "wait"]
    assert SECRET not in await said(stack, mended, "it")
