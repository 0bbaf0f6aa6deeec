"""Builds the result document of a plan from its findings."""

from collections.abc import Mapping, Sequence

from tinkwell.client.release import model
from tinkwell.core.release.decision import removal
from tinkwell.core.release.decision.view import NodeView, OperationView
from tinkwell.core.release.kinds import NodeState, NodeTask, ResourceStatus
from tinkwell.core.release.preview import making, need
from tinkwell.core.release.preview import plan as preview_plan
from tinkwell.core.release.preview.making import DECIDED_AT_RUN, Maker, Seen
from tinkwell.core.release.preview.model import PlannedHook, Preview
from tinkwell.provisioner.release.prepare.preparation import Prepared
from tinkwell.provisioner.release.resource import Resource
from tinkwell.provisioner.release.secret import Secrets


def result_of(
    work: model.Work,
    prepared: Prepared,
    view: OperationView,
    secrets: Secrets,
    *,
    digest: str,
    hooks: Sequence[PlannedHook],
) -> str:
    """Return the result of a plan as JSON text, with the hooks that would run.

    Call it in a thread, since a large result takes time. Raises `errors.InvalidField` if the result is too long.
    """
    is_drift = not prepared.is_rendered
    maker = Maker(
        is_drift=is_drift,
        last_batch=preview_plan.last_batch(prepared.plan, prepared.manifest),
        mask=secrets.mask,
        mask_json=secrets.mask_json,
    )
    rows = {row.path: row for row in work.resources}
    needs = need.needs(prepared.manifest) if prepared.manifest is not None else {}
    nodes = tuple(
        maker.node(_seen(view.nodes[node.path], prepared.resources[node.path], rows.get(node.path), view, needs))
        for node in prepared.plan.resources
    )
    drift = making.drift_of(nodes) if is_drift else None
    result = Preview(digest=digest, revision=work.release.revision, nodes=nodes, hooks=hooks, drift=drift)
    return making.fitting(result)


def revision_of(work: model.Work, prepared: Prepared) -> int:
    """Return the revision that expressions see in a plan, which makes no revision."""
    release = work.release
    return release.latest_revision + 1 if prepared.is_rendered else release.revision or release.latest_revision


def _seen(node: NodeView, known: Resource, row: model.Resource | None, view: OperationView, needs: need.Needs) -> Seen:
    kept = removal.why_left(node.spec) if node.task is NodeTask.REMOVE else ""
    if node.task is NodeTask.REMOVE and not kept and node.init is not None and node.init.destroy_call is None:
        kept = f"{known.type} has no destroy action"
    return Seen(
        path=node.path,
        type=known.type,
        task=node.task,
        state=node.state,
        message=_message(node, view, needs.get(node.path, {})),
        answer=node.answer,
        readonly=node.spec.readonly,
        config=known.config if node.answer is not None else None,
        found=known.stale_state,
        former_type=row.type if row is not None else "",
        former_config=row.config if row is not None else None,
        former_state=row.state if row is not None else None,
        former_status=row.status if row is not None else ResourceStatus.UNKNOWN,
        kept=kept,
        moved_to=known.moved_to,
        revision=row.revision if row is not None and node.task is NodeTask.REMOVE else 0,
        ignore=known.rendered.ignore if known.rendered is not None else (),
        sensitive=known.sensitive,
    )


def _message(node: NodeView, view: OperationView, needed: Mapping[str, str]) -> str:
    """Return the message of a node; if it was not looked at, name the first node it needs that is not VALID."""
    if node.state is not NodeState.SKIPPED or not node.message.startswith(DECIDED_AT_RUN):
        return node.message
    for path, why in needed.items():
        other = view.nodes[path]
        if other.state is NodeState.FAILED:
            return f"{DECIDED_AT_RUN}: {why}, which could not be looked at"
        if other.state is NodeState.SKIPPED or other.answer is None or other.answer.status is not ResourceStatus.VALID:
            return f"{DECIDED_AT_RUN}: {why}"
    return node.message
