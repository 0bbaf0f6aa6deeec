"""Finds the hooks that run when a plan is applied, so that the plan can list them."""

import asyncio
from dataclasses import replace

from tinkwell.client.release import model
from tinkwell.core.release.graph.life import Life
from tinkwell.core.release.kinds import OperationKind
from tinkwell.core.release.lifecycle_event.path import split_hook
from tinkwell.core.release.manifest.hook import HookEvent
from tinkwell.core.release.preview.model import PlannedHook
from tinkwell.core.release.record import Options
from tinkwell.provisioner.release import life
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.prepare.preparation import Prepared, build_plan
from tinkwell.provisioner.release.resource import Revision


async def hooks_of(work: model.Work, prepared: Prepared, host: Host) -> tuple[PlannedHook, ...]:
    """Return the hooks of the operation that applies the plan, in order; none if there is nothing to apply."""
    if not prepared.is_rendered or prepared.manifest is None:
        return ()
    applying = _applying(work)
    lived = Life(
        kind=applying.operation.kind, manifest=prepared.manifest, wait=(work.operation.options or Options()).wait
    )
    plan = await asyncio.to_thread(build_plan, prepared.manifest, applying, lived)
    left = None
    # The hooks of a removed chart come from the former revision.
    if (found := await life.former_work(host, applying, plan, prepared.manifest)) is not None:
        left = await asyncio.to_thread(life.read, found)
        lived = replace(lived, former=left.manifest)
        plan = await asyncio.to_thread(build_plan, prepared.manifest, applying, lived)
    return tuple(
        PlannedHook(path=each.manifest_path, type=each.type, event=HookEvent(split_hook(each.path)[1]))
        for each in life.hooks(plan, Revision(manifest=prepared.manifest), left)
    )


def _applying(work: model.Work) -> model.Work:
    """Return the work of the operation that would apply the plan."""
    kind = OperationKind.UPGRADE if work.release.revision else OperationKind.INSTALL
    documents = {name: text for name, text in work.documents.items() if name != "plan"}
    return replace(work, operation=replace(work.operation, kind=kind), documents=documents)
