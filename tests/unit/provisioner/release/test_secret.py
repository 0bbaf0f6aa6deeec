"""Secrets reach the input of containers, and nothing else that a provisioner does or says."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from unit.provisioner.release.stage import Stage

from tinkwell.client import errors
from tinkwell.client.workflow.model import LogStream
from tinkwell.core import errors as core_errors
from tinkwell.core.event.kinds import State
from tinkwell.core.process_log import redaction
from tinkwell.core.release.kinds import NodeState, StepKind
from tinkwell.core.release.report import MAX_MESSAGE, LifecycleReport, NodeReport
from tinkwell.core.secret import text
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.release.lifecycle.occasion import Emitted
from tinkwell.provisioner.release.secret import Secrets
from tinkwell.provisioner.runtime import output, stream_line
from tinkwell.provisioner.runtime.output import OutputLine

PASSWORD, GENERATED = "hunter22-é", "generated 4711"
ONE = """
    resources:
      db: {type: acme/db:1, config: {password: "{{ password }}", url: "https://me:{{ password }}@h/"}}
"""
SECRET: dict[str, Any] = {"secret_variables": {"password": PASSWORD}}


def all_that_is_told(stage: Stage) -> str:
    """What everybody can read: events, nodes, revisions, resources and lines."""
    world = stage.server.world
    events = [repr(event) for event in world.log.events]
    lines = [repr(lines) for lines in world.releases.lines.values()]
    return "\n".join([*events, *lines, *(repr(each) for each in world.resources.values())])


async def test_it_is_in_the_input_of_each_call_and_nowhere_else(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    config = {"password": PASSWORD, "url": f"https://me:{PASSWORD}@h/"}
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, **SECRET)
        await stage.ends(operation_id)
    told = [each["config"] for each in stage.images.told if "config" in each]
    assert told == [config] * 3
    for _, spec in stage.images.specs:
        assert PASSWORD not in repr(spec)
    assert PASSWORD not in all_that_is_told(stage)
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize("write", [str, lambda text: base64.b64encode(f"x{text}".encode()).decode(), repr, json.dumps])
async def test_what_a_failing_action_prints_is_masked(stage: Stage, write: Any) -> None:
    printed = write(PASSWORD)
    stage.images.thing("db", exits={"create": 3}, prints={"create": f"cannot log in with {printed}!\nnext\n"})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, **SECRET)
        operation = await stage.ends(operation_id, State.FAILED)
    assert operation.cause is not None
    lines = [line.text async for line in stage.operator.logs(operation_id) if line.step_name == "create"]
    assert lines[-1] == "next"
    assert lines[-2].startswith("cannot log in with")
    assert "•••" in lines[-2]
    assert printed not in all_that_is_told(stage)


async def test_a_wrong_answer_is_told_without_it_though_it_is_cut(stage: Stage) -> None:
    long = "a secret that is so long that messages cut it short " * 10
    config = {"password": long}
    stage.images.thing("db", answers={"state": json.dumps({"status": long, "padding": "x" * 170 + json.dumps(config)})})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, secret_variables={"password": long})
        await stage.ends(operation_id, State.FAILED)
    message = (await stage.nodes(operation_id))["db"].message
    assert "state breaks the protocol" in message
    assert "•••" in message
    assert "a secret" not in all_that_is_told(stage)


async def test_an_expression_that_fails_on_it_is_told_without_it(stage: Stage) -> None:
    manifest = "resources: {db: {type: acme/db:1, config: {n: '{{ (password ~ 1) | list | tojson + 1 }}'}}}"
    async with stage.provisioner():
        for text in (manifest, "resources: {db: {type: '{{ password }}'}}"):
            operation = await stage.ends(
                await stage.apply(text, secret_variables={"password": "Not An Image"}), State.FAILED
            )
            assert operation.cause is not None
            assert "Not An Image" not in repr(operation.cause)


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        ("resources: {db: {for_each: ['{{ password }}'], type: acme/db:1}}", "resources.db[database]"),
        ("resources: {db: {type: 'acme/{{ password }}'}}", "resources.db.type"),
        ("{plugs: {a: {path: 'x-{{ password }}'}}, resources: {}}", "plugs.a.path"),
        ("resources: {db: {type: acme/db:1, concurrency_key: '{{ password }}'}}", "resources.db.concurrency_key"),
        ("resources: {db: {type: acme/db:1}, the-database: {type: acme/db:1}}", "resources.the-database"),
    ],
)
async def test_a_manifest_that_would_show_it_is_refused_before_anything_changes(
    stage: Stage, manifest: str, field: str
) -> None:
    async with stage.provisioner():
        operation = await stage.ends(
            await stage.apply(manifest, secret_variables={"password": "database"}), State.FAILED
        )
    assert operation.cause is not None
    assert operation.cause["message"].startswith("VALIDATE: ")
    assert field.replace("database", "•••").partition(".")[0] in operation.cause["message"]
    assert "holds a secret, and would show it" in operation.cause["message"]
    assert stage.images.journal == []


@pytest.mark.parametrize("name", ["image", "entrypoint"])
async def test_an_action_may_have_it_among_its_arguments_and_not_as_what_is_run(stage: Stage, name: str) -> None:
    action = {"name": f"with {PASSWORD}", "args": ["--password", PASSWORD]}
    answer = {"status": "STALE", "actions": [action]}
    stage.images.thing("db", answers={"state": json.dumps(answer)}, is_stubborn=True)
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, **SECRET)
        await stage.ends(operation_id, State.FAILED)
        (step,) = [each for each in (await stage.nodes(operation_id))["db"].steps if each.kind is StepKind.ACTION]
        assert (step.name, step.args) == ("with •••", ("--password", "•••"))
        (spec,) = [spec for call, spec in stage.images.specs if call == "--password"]
        assert spec.command == ("--password", PASSWORD)
        stage.images.thing("db").answers["state"] = json.dumps(
            {"status": "STALE", "actions": [{"name": "run", name: "acme/secret-image:1"}]}
        )
        operation_id = await stage.apply(ONE, secret_variables={"password": "secret-image"})
        await stage.ends(operation_id, State.FAILED)
    assert f"actions[0].{name}: holds a secret" in (await stage.nodes(operation_id))["db"].message


DECLARING = {"tinkwell": {"protocol": 1, "sensitive": ["/password"], "destroy_action": {"args": ["destroy"]}}}
TWO = """
    resources:
      db: {type: acme/db:1, config: {user: bob}}
      web: {type: acme/web:1, dependencies: {db: db}, config: {url: "me:{{ db.state.password }}@h"}}
"""


async def test_what_an_image_names_in_its_state_is_known_to_all_that_follows(stage: Stage) -> None:
    state = {"status": "VALID", "state": {"user": "bob", "password": GENERATED}}
    stage.images.thing("db", init=DECLARING, answers={"state": json.dumps(state)})
    stage.images.thing("web", prints={"create": f"as {GENERATED}\n"})
    async with stage.provisioner():
        operation_id = await stage.apply(TWO)
        await stage.ends(operation_id)
    assert stage.images.told[-1]["config"] == {"url": f"me:{GENERATED}@h"}
    lines = [line.text async for line in stage.operator.logs(operation_id, path="web")]
    assert "as •••" in lines
    shown = {each.path: each async for each in stage.operator.resources("shop")}
    assert (shown["db"].state, shown["web"].config) == ({"user": "bob", "password": None}, {"url": None})
    assert GENERATED not in all_that_is_told(stage)


async def test_what_an_image_names_in_a_config_is_known_from_its_answer_on(stage: Stage) -> None:
    manifest = "resources: {db: {type: acme/db:1, config: {password: in the manifest}}}"
    stage.images.thing("db", init=DECLARING, prints={"state": "it is in the manifest\n"})
    async with stage.provisioner():
        operation_id = await stage.apply(manifest)
        await stage.ends(operation_id)
        lines = [line.text async for line in stage.operator.logs(operation_id)]
        assert lines.count("it is •••") == 2
        revision = await stage.operator.revision("shop")
        assert revision.manifest is not None
        assert revision.manifest["resources"]["db"]["config"] == {"password": None}
        again = await stage.apply(manifest)
        assert (await stage.ends(again)).revision == 1
    assert "in the manifest" not in "\n".join(repr(line) for line in stage.server.world.releases.lines.values())


async def test_what_was_secret_in_a_stale_state_is_kept_from_sight_in_what_is_done_about_it(stage: Stage) -> None:
    stale = {
        "status": "STALE",
        "staleState": {"password": "former secret"},
        "actions": [{"name": "change", "args": ["change", "--from", "former secret"]}],
    }
    stage.images.thing(
        "db", init=DECLARING, answers={"state": json.dumps(stale)}, prints={"change": "from former secret\n"}
    )
    async with stage.provisioner():
        operation_id = await stage.apply("resources: {db: {type: acme/db:1, config: {}}}")
        await stage.ends(operation_id, State.FAILED)
    (step,) = [each for each in (await stage.nodes(operation_id))["db"].steps if each.kind is StepKind.ACTION]
    assert step.args == ("change", "--from", "•••")
    assert "from •••" in [line.text async for line in stage.operator.logs(operation_id)]


@pytest.mark.parametrize(
    ("config", "answer", "sentence"),
    [
        ("{password: short}", "", "resources.db.config.password: a sensitive value has 5 bytes"),
        ("{}", '{"status": "VALID", "state": {"password": 4711}}', "state.password: a sensitive value has 4 bytes"),
        (
            "{}",
            '{"status": "STALE", "staleState": {"password": "pin"}, "actions": [{"name": "a", "args": ["a"]}]}',
            "staleState.password: a sensitive value has 3 bytes",
        ),
    ],
)
async def test_what_cannot_be_told_from_ordinary_text_fails_its_resource(
    stage: Stage, config: str, answer: str, sentence: str
) -> None:
    stage.images.thing("db", init=DECLARING, answers={"state": answer} if answer else {})
    async with stage.provisioner():
        operation_id = await stage.apply(f"resources: {{db: {{type: acme/db:1, config: {config}}}}}")
        await stage.ends(operation_id, State.FAILED)
    node = (await stage.nodes(operation_id))["db"]
    assert node.state is NodeState.FAILED
    assert sentence in node.message


async def test_a_successor_gives_the_true_values_and_masks_them(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.images.thing("db", gates={"create": gate}, prints={"state": f"{PASSWORD}\n", "create": f"{PASSWORD}\n"})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, **SECRET)
        await stage.has_called("db", "create")
    async with stage.provisioner():
        gate.set()
        await stage.ends(operation_id)
    assert stage.images.calls("db") == ["init", "state", "create", "state"]
    assert [told["config"]["password"] for told in stage.images.told if "config" in told] == [PASSWORD] * 3
    assert PASSWORD not in all_that_is_told(stage)


async def test_what_is_removed_gets_what_it_was_made_with(stage: Stage) -> None:
    stage.images.thing("db", init=DECLARING)
    async with stage.provisioner():
        await stage.ends(await stage.apply(ONE, **SECRET))
        stage.images.told.clear()
        await stage.ends((await stage.operator.uninstall("shop")).id)
    assert [told["config"]["password"] for told in stage.images.told] == [PASSWORD]
    assert PASSWORD not in all_that_is_told(stage)


@pytest.mark.parametrize("method", ["GetWork", "SubmitPlan", "ReportOperation"])
async def test_an_operation_whose_secrets_the_server_cannot_keep_ends_as_failed(stage: Stage, method: str) -> None:
    async def refuse(actor: str, called: str, request: Any) -> None:
        has_documents = called != "ReportOperation" or any(each.HasField("resource") for each in request.reports)
        if called == method and has_documents:
            raise core_errors.SecretsDisabled

    stage.server.on_call = translated(refuse)
    async with stage.provisioner():
        operation = await stage.ends(await stage.apply(ONE, **SECRET), State.FAILED)
        await stage.is_clear()
    assert operation.cause is not None
    assert operation.cause["reason"] == "SECRETS_DISABLED"
    assert "this server has no keys" in operation.cause["message"]


async def test_what_a_dead_owner_left_is_ended_where_the_server_has_lost_its_keys(stage: Stage) -> None:
    stage.images.thing("db", gates={"create": asyncio.Event()})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, **SECRET)
        await stage.has_called("db", "create")

    async def refuse(actor: str, called: str, request: Any) -> None:
        if called == "GetWork":
            raise core_errors.SecretsDisabled

    stage.server.on_call = translated(refuse)
    async with stage.provisioner():
        operation = await stage.ends(operation_id, State.FAILED)
        await stage.is_clear()
    assert operation.cause is not None
    assert operation.cause["reason"] == "SECRETS_DISABLED"
    node = (await stage.nodes(operation_id))["db"]
    assert (node.state, node.steps[-1].state) == (NodeState.FAILED, State.CANCELLED)


def translated(refuse: Any) -> Any:
    """Answer as a client hears it."""

    async def on_call(actor: str, called: str, request: Any) -> None:
        try:
            await refuse(actor, called, request)
        except core_errors.SecretsDisabled as error:
            raise errors.SecretsDisabled(str(error)) from error

    return on_call


class Run:
    """A run that has printed lines."""

    key = RunKey(RunKind.RELEASE, "release", "step", 1)

    def __init__(self, printed: bytes) -> None:
        self.printed = printed

    async def lines(self) -> AsyncGenerator[OutputLine, None]:
        reader = output.OutputReader()
        for line in [*reader.feed(output.frame(LogStream.STDOUT, self.printed)), *reader.finish()]:
            yield line


async def masked(secrets: Secrets, printed: str) -> list[OutputLine]:
    return [line async for line in secrets.masked(Run(printed.encode())).lines()]


async def test_a_secret_is_masked_also_where_a_line_that_is_too_long_is_cut() -> None:
    secrets = Secrets(["0123456789abcdefghij"])
    for before in range(stream_line.MAX_LINE_BYTES - 25, stream_line.MAX_LINE_BYTES + 5):
        lines = await masked(secrets, "x" * before + "0123456789abcdefghij" + "y" * 20 + "\nnext 0123456789abcdefghij")
        assert [line.number for line in lines] == list(range(1, len(lines) + 1))
        whole = "".join(line.text for line in lines)
        assert "012345" not in whole
        assert "efghij" not in whole
        assert whole.startswith("x" * before)
        assert whole.endswith("y" * 20 + "next •••")
    secrets.close()


async def test_a_secret_that_is_longer_than_a_line_is_masked_in_all_parts() -> None:
    secret = "".join(f"{number:06}" for number in range(5_000))
    secrets = Secrets([secret])
    lines = await masked(secrets, f"key {secret} end")
    assert [line.text for line in lines] == ["key •••", "••• end"]
    secrets.close()


async def test_a_secret_is_masked_in_a_progress_as_well_however_much_of_it_is_written() -> None:
    secret = "0123456789abcdefghij"
    secrets = Secrets([secret])
    for written in range(len(secret) + 1):
        for line in await masked(secrets, f"1 %\rkey {secret[:written]}"):
            assert secret[:8] not in line.text or not line.is_open
    lines = await masked(secrets, f"{'x' * (stream_line.MAX_LINE_BYTES - 10)}{secret}\r2 %")
    assert all("abcdef" not in line.text for line in lines)
    assert lines[-1].text == "2 %"
    secrets.close()


async def test_a_line_that_masks_make_longer_is_no_longer_than_lines_may_be() -> None:
    secrets = Secrets(["secret"])
    (line,) = await masked(secrets, "secret-" * (stream_line.MAX_LINE_BYTES // 7))
    assert len(line.text.encode()) <= stream_line.MAX_LINE_BYTES
    assert line.text.startswith("•••-•••-")
    secrets.close()


async def test_what_is_learned_is_kept_out_of_the_log_until_the_operation_has_ended() -> None:
    secrets = Secrets()
    assert await secrets.learn("state", {"a": GENERATED, "b": [None, "", True]}, ["/a", "/b"]) == {GENERATED}
    encoded = base64.b64encode(GENERATED.encode()).decode()
    assert redaction.redact(f"it is {GENERATED} or {encoded}") == "it is ••• or •••"
    with pytest.raises(core_errors.InvalidField):
        await secrets.learn("state", {"a": ["x" * 40_000]}, ["/a"])
    assert secrets.mask(f"x{GENERATED}") == "x•••"
    secrets.close()
    assert redaction.redact(f"it is {GENERATED}") == f"it is {GENERATED}"


def test_what_is_said_of_an_emitted_event_is_masked() -> None:
    secrets = Secrets([PASSWORD])
    told = LifecycleReport(event="pre-install", chart="shop", message=f"cannot log in with {PASSWORD}")
    assert secrets.mask_report(told) == replace(told, message="cannot log in with •••")
    secrets.close()


@pytest.mark.parametrize("size", range(980, 1000))
def test_a_secret_is_masked_also_where_a_message_is_cut(size: int) -> None:
    secrets = Secrets([PASSWORD])
    emitted = Emitted(event="pre-install", chart="shop", message="x" * size + PASSWORD * 3)
    told = secrets.mask_report(emitted.report())
    secrets.close()
    assert isinstance(told, LifecycleReport)
    message = told.message
    # What is left of one may be told where it is shorter than secrets are.
    rest = message.removeprefix("x" * size).removesuffix("…").replace("•••", "")
    assert PASSWORD.startswith(rest)
    assert len(rest.encode()) < text.MIN_BYTES
    assert len(message) <= MAX_MESSAGE


def test_a_message_that_masks_make_longer_is_no_longer_than_messages_may_be() -> None:
    secrets = Secrets(["秘密"])
    told = secrets.mask_report(NodeReport(path="a", state=NodeState.FAILED, message="秘密x" * 333 + "\0"))
    secrets.close()
    assert isinstance(told, NodeReport)
    assert len(told.message) == MAX_MESSAGE
    assert told.message.startswith("•••x•••x")
