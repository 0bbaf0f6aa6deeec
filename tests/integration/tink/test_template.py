"""The template commands of Tinkerbell's command line, call by call."""

import grpc

from support.tink import Tools, code
from tinkwell.api.tink import template_pb2 as pb

DATA = """\
version: "0.1"
name: {name}
tasks:
  - name: install
    worker: "{{{{.device_1}}}}"
    actions:
      - {{name: hello, image: hello-world, timeout: 60}}
"""
ABSENT = "0e4b6a0f-2d43-4d7c-9d0c-6a1f0c6f7b22"


async def create(tools: Tools, name: str, *, given: str | None = None) -> str:
    message = pb.WorkflowTemplate(name=name if given is None else given, data=DATA.format(name=name))
    return (await tools.template.CreateTemplate(message, timeout=30)).id


async def listed(tools: Tools, pattern: str) -> list[str]:
    found = [item async for item in tools.template.ListTemplates(pb.ListRequest(name=pattern), timeout=30)]
    # The command line stops at an item without a name, and takes the times for granted.
    assert all(item.id and item.HasField("created_at") and item.HasField("updated_at") for item in found)
    return [item.name for item in found]


async def test_a_template_is_created_found_updated_and_deleted(tools: Tools) -> None:
    template_id = await create(tools, "ubuntu_focal")
    for request in (pb.GetRequest(id=template_id), pb.GetRequest(name="ubuntu_focal")):
        found = await tools.template.GetTemplate(request, timeout=30)
        assert (found.id, found.name, found.data) == (template_id, "ubuntu_focal", DATA.format(name="ubuntu_focal"))
        assert found.created_at.seconds > 0
        assert found.updated_at.seconds > 0
    changed = DATA.format(name="jammy")
    await tools.template.UpdateTemplate(pb.WorkflowTemplate(id=template_id, name="jammy", data=changed), timeout=30)
    found = await tools.template.GetTemplate(pb.GetRequest(id=template_id), timeout=30)
    assert (found.name, found.data) == ("jammy", changed)
    await tools.template.DeleteTemplate(pb.GetRequest(id=template_id), timeout=30)
    assert await code(tools.template.GetTemplate(pb.GetRequest(id=template_id))) is grpc.StatusCode.NOT_FOUND


async def test_templates_are_listed_oldest_first_and_each_has_a_name(tools: Tools) -> None:
    await create(tools, "first")
    await create(tools, "second", given="")
    await create(tools, "Other")
    assert await listed(tools, "*") == ["first", "second", "Other"]
    assert await listed(tools, "") == ["first", "second", "Other"]
    assert await listed(tools, "o*") == ["Other"]
    # Only `*` stands for others, and no text is anything but a text.
    for pattern in ("_ther", "%", "x' OR '1'='1", '"', "\\"):
        assert await listed(tools, pattern) == []


async def test_a_template_of_any_size_is_created_and_deleted(tools: Tools) -> None:
    data = DATA.format(name="large") + "# " + "x" * 100_000 + "\n"
    created = await tools.template.CreateTemplate(pb.WorkflowTemplate(name="large", data=data), timeout=30)
    await tools.template.DeleteTemplate(pb.GetRequest(id=created.id), timeout=30)


async def test_bad_requests_have_the_status_that_says_what_is_wrong(tools: Tools) -> None:
    template_id = await create(tools, "taken")
    no_actions = DATA.format(name="t").split("    actions")[0] + "    actions: []\n"
    template = tools.template
    for call, expected in (
        (template.CreateTemplate(pb.WorkflowTemplate(name="t", data="a: [")), grpc.StatusCode.INVALID_ARGUMENT),
        (template.CreateTemplate(pb.WorkflowTemplate(name="t", data=no_actions)), grpc.StatusCode.INVALID_ARGUMENT),
        (
            template.CreateTemplate(pb.WorkflowTemplate(name="a b", data=DATA.format(name="t"))),
            grpc.StatusCode.INVALID_ARGUMENT,
        ),
        (
            template.CreateTemplate(pb.WorkflowTemplate(name="taken", data=DATA.format(name="taken"))),
            grpc.StatusCode.ALREADY_EXISTS,
        ),
        (template.GetTemplate(pb.GetRequest()), grpc.StatusCode.INVALID_ARGUMENT),
        (template.GetTemplate(pb.GetRequest(name="x' OR '1'='1")), grpc.StatusCode.INVALID_ARGUMENT),
        (template.GetTemplate(pb.GetRequest(id=ABSENT)), grpc.StatusCode.NOT_FOUND),
        (template.DeleteTemplate(pb.GetRequest()), grpc.StatusCode.INVALID_ARGUMENT),
        (template.DeleteTemplate(pb.GetRequest(id=ABSENT)), grpc.StatusCode.NOT_FOUND),
        (template.UpdateTemplate(pb.WorkflowTemplate(id=ABSENT, name="n")), grpc.StatusCode.NOT_FOUND),
        (template.UpdateTemplate(pb.WorkflowTemplate(id="one", name="n")), grpc.StatusCode.INVALID_ARGUMENT),
        (template.UpdateTemplate(pb.WorkflowTemplate(id=template_id, data="junk")), grpc.StatusCode.INVALID_ARGUMENT),
    ):
        assert await code(call) is expected
    assert (await template.GetTemplate(pb.GetRequest(id=template_id), timeout=30)).name == "taken"
