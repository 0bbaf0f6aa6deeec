"""A template and a device map become a workflow."""

import asyncio
import json
import uuid

import grpc

from support import edge, rendering
from support.site import IPS, MACS, ONE, TWO, UNKNOWN, Site, action, devices, steps, task, template_text
from tinkwell.api.v1 import workflow_service_pb2 as pb


async def create(site: Site, template: str, hardware: str = "{}", workflow_id: str = "") -> pb.CreateWorkflowResponse:
    request = pb.CreateWorkflowRequest(id=workflow_id, template=template, hardware=hardware)
    return await site.stub.CreateWorkflow(request)


async def refusal(site: Site, template: str, hardware: str = "{}", workflow_id: str = "") -> edge.Refusal:
    request = pb.CreateWorkflowRequest(id=workflow_id, template=template, hardware=hardware)
    return await edge.refused(site.stub.CreateWorkflow(request))


async def get(site: Site, workflow_id: str) -> pb.Workflow:
    return await site.stub.GetWorkflow(pb.GetWorkflowRequest(id=workflow_id))


async def workers(site: Site, workflow_id: str) -> list[str]:
    answer = await site.stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=workflow_id))
    return [found.worker_id for found in answer.actions]


async def test_a_workflow_is_created_with_its_actions_in_order(site: Site) -> None:
    text = template_text(
        task(
            "disk",
            action("wipe", timeout=60, command=["dd", "a b"], environment={"B": "2", "A": "own"}, pid="host"),
            action("format", **{"on-failure": ["sh", "-c", "f"], "on-timeout": ["t"]}),
            environment={"A": "1"},
            volumes=["/dev:/dev"],
        ),
        task("boot", action("wipe"), worker="{{.device_2}}"),
        global_timeout=1800,
    )
    template = await site.add_template(text, name="ubuntu")
    before = await site.last_revision()

    created = await create(site, template, devices())

    assert await site.events(after=before) == [
        "workflow.created 1",
        "action.created[0] 1",
        "action.created[1] 1",
        "action.created[2] 1",
    ]
    assert created.revision == await site.last_revision()
    found = await get(site, created.id)
    assert uuid.UUID(found.id).version == 4
    assert (found.template_id, found.template_name) == (template, "ubuntu")
    assert (found.state, found.version) == (pb.STATE_PENDING, 1)
    assert (found.total_actions, found.completed_actions) == (3, 0)
    assert found.global_timeout_seconds == 1800
    assert json.loads(found.hardware) == json.loads(devices())
    assert MACS[ONE] in found.data
    assert "device_1" not in found.data
    assert found.HasField("created_at")
    assert found.HasField("updated_at")
    assert not found.HasField("started_at")
    assert found.cause == ""
    wipe, format_, boot = (
        await site.stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=created.id))
    ).actions
    assert (wipe.task_name, wipe.name, wipe.index, wipe.worker_id) == ("disk", "wipe", 0, ONE)
    assert (wipe.timeout_seconds, list(wipe.command), wipe.pid) == (60, ["dd", "a b"], "host")
    assert list(wipe.environment) == ["A=own", "B=2"]
    assert list(wipe.volumes) == ["/dev:/dev"]
    assert (list(format_.on_failure), list(format_.on_timeout)) == (["sh", "-c", "f"], ["t"])
    assert (boot.task_name, boot.name, boot.index, boot.worker_id) == ("boot", "wipe", 2, TWO)
    assert (boot.attempt, boot.version, boot.state) == (0, 1, pb.STATE_PENDING)
    assert not boot.HasField("exit_code")
    assert not boot.HasField("remaining_seconds")


async def test_the_creation_event_carries_the_rendered_template(site: Site) -> None:
    flow = await site.create()
    (_, _, data), *_ = await site.recorded()
    assert data["data"] == (await flow.get()).data
    assert data["hardware"] == json.loads(devices())


async def test_a_worker_is_named_by_mac_ip_or_hardware_id(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)))
    for reference, machine in (
        (MACS[ONE], ONE),
        (MACS[ONE].upper(), ONE),
        (MACS[TWO].replace(":", "-").upper(), TWO),
        (IPS[ONE], ONE),
        (f"::ffff:{IPS[ONE]}", ONE),
        (IPS[TWO], TWO),
        ("2001:0DB8:0:0:0:0:0:2B", TWO),
        (ONE, ONE),
        (TWO.upper(), TWO),
    ):
        created = await create(site, template, json.dumps({"device_1": reference}))
        assert (reference, await workers(site, created.id)) == (reference, [machine])


async def test_a_reference_to_no_machine_is_named(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)))
    for reference in ("52:54:00:99:99:99", "10.9.8.7", "2001:db8::99", UNKNOWN):
        told = await refusal(site, template, json.dumps({"device_1": reference}))
        assert told.code is grpc.StatusCode.NOT_FOUND
        assert told.metadata == {"resource_type": "HARDWARE", "resource_id": reference}


async def test_deleted_hardware_is_no_worker(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)))
    await site.sql.execute("UPDATE hardware SET deleted_at = now() WHERE id = $1", uuid.UUID(ONE))
    for reference in (MACS[ONE], IPS[ONE], ONE):
        told = await refusal(site, template, json.dumps({"device_1": reference}))
        assert told.code is grpc.StatusCode.NOT_FOUND


async def test_a_template_is_named_by_id_or_by_name(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)), name="ubuntu")
    for named in (template, template.upper(), "ubuntu"):
        created = await create(site, named, devices())
        assert (await get(site, created.id)).template_id == template


async def test_a_template_that_was_seen_before_is_the_one_of_its_name_at_each_moment(site: Site) -> None:
    async def made_of() -> tuple[str, str]:
        flow = await get(site, (await create(site, "seen", devices())).id)
        return flow.template_id, flow.data

    first = await site.add_template(template_text(task("one", action("a"))), name="seen")
    assert [(await made_of())[0] for _ in range(2)] == [first] * 2
    changed = template_text(task("two", action("b")))
    await site.sql.execute("UPDATE template SET data = $2 WHERE id = $1", first, changed)
    template_id, data = await made_of()
    assert template_id == first
    assert "name: two" in data
    await site.sql.execute("UPDATE template SET name = 'other' WHERE id = $1", first)
    second = await site.add_template(template_text(task("three", action("c"))), name="seen")
    assert [(await made_of())[0] for _ in range(2)] == [second] * 2
    await site.sql.execute("UPDATE template SET deleted_at = now() WHERE id = $1", second)
    assert (await refusal(site, "seen", devices())).code is grpc.StatusCode.NOT_FOUND


async def test_a_name_that_looks_like_an_id_is_a_name_too(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)), name=UNKNOWN)
    created = await create(site, UNKNOWN, devices())
    assert (await get(site, created.id)).template_id == template


async def test_an_unknown_or_deleted_template_is_not_found(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)))
    await site.sql.execute("UPDATE template SET deleted_at = now() WHERE id = $1", uuid.UUID(template))
    for named in (template, "t", UNKNOWN, "nobody"):
        told = await refusal(site, named, devices())
        assert told.code is grpc.StatusCode.NOT_FOUND
        assert told.metadata == {"resource_type": "TEMPLATE", "resource_id": named}


async def test_a_device_map_that_does_not_fit_is_refused_by_its_field(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)))
    for hardware, field in (
        ("", "hardware"),
        ("null", "hardware"),
        ("[]", "hardware"),
        ('"x"', "hardware"),
        ("{", "hardware"),
        ('{"device_1": 1, "device_1": 2}', "hardware"),
        ("{}", "hardware.device_1"),
        ('{"device_1": "a host"}', "template.tasks[0].worker"),
        ('{"device_1": ""}', "template.tasks[0].worker"),
        ('{"device_1": "' + "x" * (1 << 20) + '"}', "hardware"),
        ("[" * 100_000, "hardware"),
    ):
        told = await refusal(site, template, hardware)
        assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, [field])


async def test_bad_names_are_refused(site: Site) -> None:
    for workflow_id, template, field in (
        ("x", "t", "id"),
        ("", "", "template"),
        ("", "a b", "template"),
        ("", "a\0b", "template"),
    ):
        told = await refusal(site, template, devices(), workflow_id)
        assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, [field])


async def test_a_value_cannot_add_to_the_structure_of_the_template(site: Site) -> None:
    text = template_text(task("t", action("a", environment={"K": "{{.value}}"})))
    template = await site.add_template(text)
    hostile = 'x"\n    - {name: evil, image: evil}\n"'
    created = await create(site, template, devices(value=hostile))
    answer = await site.stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=created.id))
    assert [(found.name, list(found.environment)) for found in answer.actions] == [("a", [f"K={hostile}"])]


async def test_a_stored_template_that_is_none_is_refused_and_the_server_goes_on(site: Site) -> None:
    template = await site.add_template("tasks: [")
    told = await refusal(site, template, devices())
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    await site.create()


async def test_a_repeated_request_with_its_own_id_changes_nothing(site: Site) -> None:
    template = await site.add_template(template_text(steps(2)), name="ubuntu")
    workflow_id = str(uuid.uuid4())
    first = await create(site, template, devices(n=1.0), workflow_id.upper())
    before = await site.last_revision()
    for named, hardware in (
        (template, devices(n=1.0)),
        ("ubuntu", devices(n=1)),
        (template, json.dumps(dict(reversed(json.loads(devices(n=1)).items())))),
    ):
        again = await create(site, named, hardware, workflow_id)
        assert (again.id, again.revision) == (workflow_id, 0)
    assert first.id == workflow_id
    assert await site.last_revision() == before


async def test_a_repeated_request_is_recognised_though_its_template_is_gone(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)), name="ubuntu")
    created = await create(site, "ubuntu", devices(), str(uuid.uuid4()))
    await site.sql.execute("UPDATE template SET deleted_at = now() WHERE id = $1", uuid.UUID(template))
    assert (await create(site, "ubuntu", devices(), created.id)).revision == 0


async def test_an_id_that_another_workflow_has_is_taken(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)), name="one")
    other = await site.add_template(template_text(steps(1)), name="two")
    created = await create(site, template, devices())
    for named, hardware in ((other, devices()), (template, devices(more=1))):
        told = await refusal(site, named, hardware, created.id)
        assert told.code is grpc.StatusCode.ALREADY_EXISTS
        assert told.metadata == {"what": "id", "value": created.id}
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=created.id))
    told = await refusal(site, template, devices(), created.id)
    assert told.code is grpc.StatusCode.ALREADY_EXISTS


async def test_of_many_identical_requests_one_creates_and_all_are_answered(site: Site) -> None:
    template = await site.add_template(template_text(steps(3)))
    before = await site.last_revision()
    workflow_id = str(uuid.uuid4())
    answers = await asyncio.gather(*(create(site, template, devices(), workflow_id) for _ in range(20)))
    assert {answer.id for answer in answers} == {workflow_id}
    assert sorted(answer.revision > 0 for answer in answers) == [False] * 19 + [True]
    assert len(await site.events(after=before)) == 4


async def test_a_template_that_changes_while_it_is_rendered_is_rendered_again(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)))
    asked: list[bytes] = []

    async def change_and_answer(request: bytes) -> bytes:
        asked.append(request)
        if len(asked) == 1:
            await site.sql.execute(
                "UPDATE template SET data = $2 WHERE id = $1", uuid.UUID(template), template_text(steps(2))
            )
        return await rendering.answer(request)

    site.children.answer = change_and_answer
    created = await create(site, template, devices())
    assert len(await workers(site, created.id)) == 2
    assert len(asked) == 2


async def test_a_small_template_that_was_seen_before_is_rendered_without_a_child_for_any_devices(site: Site) -> None:
    template = await site.add_template(template_text(steps(2)))
    await create(site, template, devices())
    site.children.answer = refuse
    for more in range(2):
        created = await create(site, template, devices(more=more))
        assert len(await workers(site, created.id)) == 2


async def refuse(request: bytes) -> bytes:
    raise AssertionError(request)


async def test_a_workflow_of_a_thousand_actions_is_created_whole(site: Site) -> None:
    before = await site.last_revision()
    flow = await site.create(steps(1_000))
    assert [found.index for found in flow.actions] == list(range(1_000))
    assert [found.name for found in flow.actions] == [f"step-{index}" for index in range(1_000)]
    assert len(await site.events(after=before)) == 1_001


async def test_a_later_change_of_the_template_does_not_touch_the_workflow(site: Site) -> None:
    flow = await site.create(steps(2))
    before = (await flow.get(), await flow.current_actions())
    await site.sql.execute("UPDATE template SET data = 'junk'")
    assert (await flow.get(), await flow.current_actions()) == before


async def test_a_template_of_todays_tinkerbell_becomes_a_workflow(site: Site) -> None:
    """Its functions choose an action by the machine that is given as a value, and definitions write the actions."""
    text = """\
{{define "cexec"}}{name: {{.name}}, image: cexec, environment: {BLOCK_DEVICE: {{formatPartition .disk 1}}}}{{end -}}
version: "0.1"
name: today
tasks:
- name: install
  worker: "{{.device_1}}"
  actions:
  {{- $disk := index .Hardware.Disks 0}}
  {{- range list "grow" "configure"}}
  - {{template "cexec" (dict "name" . "disk" $disk)}}
  {{- end}}
  - name: {{if regexMatch "a(arch|rm)" (lower .Hardware.Arch)}}reboot{{else}}kexec{{end}}
    image: waitdaemon
    environment: {SERVERS: {{.Hardware.Servers | join "," | default "none" | quote}}}
"""
    template = await site.add_template(text, name="today")
    machine = {"Disks": ["/dev/nvme0n1"], "Arch": "AARCH64", "Servers": ["1.1.1.1", "8.8.8.8"]}

    created = await create(site, template, devices(Hardware=machine))

    answer = await site.stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=created.id))
    assert [(found.name, list(found.environment)) for found in answer.actions] == [
        ("grow", ["BLOCK_DEVICE=/dev/nvme0n1p1"]),
        ("configure", ["BLOCK_DEVICE=/dev/nvme0n1p1"]),
        ("reboot", ["SERVERS=1.1.1.1,8.8.8.8"]),
    ]
    refused = await refusal(site, template, devices())
    assert "give it a value when the workflow is created" in str(refused)
