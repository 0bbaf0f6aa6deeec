"""Machines with units on them: a workflow has to say that it knows of these, and they are not deleted."""

import grpc
import pytest

from support import edge, role
from support import site as support
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.hardware.service.operations import HardwareService

_CHARM = "INSERT INTO charm (digest, name, kind, manifest, size) VALUES ($1, 'web', 'SCRIPTS', '{}', 0)"
_APPLICATION = "INSERT INTO application (namespace, name, charm) SELECT 'default', 'web', digest FROM charm"
_UNITS = """
    INSERT INTO unit (namespace, application_id, number, name, machine_id)
    SELECT 'default', a.id, n, 'web/' || n, $1::text::uuid FROM application a, generate_series(0, 1) AS n
"""


@pytest.fixture(autouse=True)
async def _units(site: support.Site) -> None:
    """Two units on one of the machines."""
    await site.sql.execute("INSERT INTO namespace (name) VALUES ('default')")
    await site.sql.execute(_CHARM, "sha256:" + "0" * 64)
    await site.sql.execute(_APPLICATION)
    await site.sql.execute(_UNITS, support.ONE)


async def create(
    site: support.Site, template: str, workflow_id: str, *, with_units: bool = False
) -> edge.Refusal | None:
    request = pb.CreateWorkflowRequest(
        id=workflow_id, template=template, hardware=support.devices(), with_units=with_units
    )
    try:
        await site.stub.CreateWorkflow(request)
    except grpc.aio.AioRpcError as error:
        return edge.refusal(error)
    return None


async def test_a_workflow_has_to_say_that_it_runs_beside_units(site: support.Site) -> None:
    template = await site.add_template(support.template_text(support.steps(1)))
    for _ in range(2):
        refused = await create(site, template, "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2b01")
        assert refused is not None
        assert (refused.reason, refused.metadata["worker_id"]) == ("MACHINE_HAS_UNITS", support.ONE)
        assert refused.message == (
            f"machine {support.ONE}: units are on it: web/0, web/1; remove them, or create it with_units: then they "
            "get no events until it has ended"
        )
    assert not await site.sql.fetchval("SELECT count(*) FROM workflow")
    for with_units in (True, False):
        assert await create(site, template, "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2b01", with_units=with_units) is None
    await site.sql.execute("UPDATE unit SET life = 'DEAD'")
    assert await create(site, template, "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2b02") is None


async def test_a_machine_with_units_is_not_deleted(site: support.Site) -> None:
    pool = engine.create(role.url_of_server(site.database_url), pool_size=2)
    hardware = HardwareService(Database(pool))
    try:
        with pytest.raises(errors.MachineHasUnits) as caught:
            await hardware.delete(support.ONE, actor="ann")
        assert str(caught.value) == f"machine {support.ONE}: units are on it: web/0, web/1; remove them first"
        await site.sql.execute("UPDATE unit SET life = 'DEAD'")
        assert await hardware.delete(support.ONE, actor="ann")
    finally:
        await pool.dispose()
