"""Explanations of the fake server, by the core's rules. It does not know the timeouts that manifests set."""

import datetime
import json
from collections.abc import Sequence

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release.model import Node, Operation, Release, Step
from tinkwell.client.testing import encode
from tinkwell.client.testing.release import chart
from tinkwell.client.testing.release import row as release_row
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.explanation import origin, sentence
from tinkwell.core.release.explanation.fact import Facts, NodeFact, OperationFact, Provisioner, StepFact
from tinkwell.core.release.explanation.origin import Dependency, Origins, Value
from tinkwell.core.release.plan import Plan


def explain(world: World, release: Release, found: Operation, request: pb.ExplainRequest) -> pb.ExplainResponse:
    """Return the answer that the server would give."""
    facts = _facts(world, release, found)
    answer = pb.ExplainResponse(operation_id=found.id, sentence=sentence.of_operation(facts.operation))
    if request.with_values:
        origins = _origins(world, release, release.revision or release.latest_revision)
        if origins is None:
            raise errors.InvalidField.of("with_values", f"{release.name} has no chart, and so no values")
        values, answer.left_off = origin.values_below(origins.values, request.path)
        answer.values.extend(_value(each) for each in values)
        return answer
    origins = _origins(world, release, max(release.revision, release.latest_revision)) if request.path else None
    dependencies = [each for each in origins.dependencies if each.is_at(request.path)] if origins is not None else []
    answer.dependencies.extend(_dependency(each) for each in dependencies)
    try:
        nodes, answer.left_off = sentence.of_nodes(facts, request.path)
    except errors.InvalidField:
        if not dependencies:
            raise
        return answer
    for each in nodes:
        told = encode.fill(answer.nodes.add(), each.node)
        told.sentence = each.sentence
        told.waits_for.extend(each.waits_for)
    return answer


def _origins(world: World, release: Release, number: int) -> Origins | None:
    stored = world.releases.stored(release.id, number)
    unit = chart.unit_of(world, stored) if stored is not None else None
    if stored is None or unit is None:
        return None
    given = json.loads(stored.source)["user_values"]
    secrets = world.releases.secrets
    changed = secrets.shown(release.id, chart.changed_values(stored))
    return origin.of_unit(unit, given, secrets.shown(release.id, unit.values), changed)


def _value(found: Value) -> pb.ValueExplanation:
    return encode.fill(pb.ValueExplanation(), found)


def _dependency(found: Dependency) -> pb.DependencyExplanation:
    return pb.DependencyExplanation(
        path=found.path,
        is_enabled=found.is_enabled,
        why=found.why,
        sources=found.sources,
        edges=[pb.EdgeExplanation(before=before, origins=origins) for before, origins in found.edges],
    )


def _facts(world: World, release: Release, found: Operation) -> Facts:
    plan = world.releases.facts_of(found.id).plan
    nodes = release_row.nodes_of(world, found.id)
    operation = _operation(world, release, found)
    if not plan or not nodes:
        return Facts(operation=operation)
    now = world.clock.now()
    known = {node.path: _node(node, release_row.steps_of(world, found.id, node.path), now) for node in nodes}
    return Facts(operation=operation, nodes=known, plan=Plan.load(plan))


def _operation(world: World, release: Release, found: Operation) -> OperationFact:
    told = found.cause or {}
    where = f"{told['path']}: " if told.get("path") else ""
    sessions = {session.lease.id: (owner, session.lease) for owner, session in world.ledger.sessions.items()}
    held = sessions.get(world.releases.facts_of(found.id).lease_id)
    holder = None
    if held is not None:
        holder = Provisioner(owner=held[0], engine=held[1].engine, silent_seconds=0.0 if held[1].is_live else 1.0)
    return OperationFact(
        kind=found.kind,
        state=found.state,
        release_name=found.release_name,
        namespace=found.namespace,
        parallel=found.options.parallel if found.options is not None else 8,
        engine=release.engine,
        cause=f"{where}{told.get('message') or told.get('reason', '')}",
        remaining_seconds=None if found.state.is_final else release_row.remaining_seconds(world, found),
        is_cancel_requested=found.cancel_requested,
        holder=holder,
        alive=[
            Provisioner(owner=owner, engine=lease.engine) for owner, lease in sorted(sessions.values()) if lease.is_live
        ],
    )


def _node(node: Node, steps: Sequence[Step], now: datetime.datetime) -> NodeFact:
    begun = [step for step in steps if step.state is not State.PENDING or step.attempt]
    return NodeFact(
        path=node.path,
        state=node.state,
        kind=node.kind,
        task=node.task,
        batch=node.batch,
        message=node.message,
        is_changed=node.changed,
        seconds=_elapsed(node.finished_at or node.started_at, now),
        step=_step(begun[-1], now) if begun else None,
    )


def _step(step: Step, now: datetime.datetime) -> StepFact:
    return StepFact(
        kind=step.kind,
        state=step.state,
        attempt=step.attempt,
        name=step.name,
        exit_code=step.exit_code,
        message=step.message,
        seconds=_elapsed(step.started_at, now),
        timeout_seconds=sentence.seconds_of(step.kind, {}),
    )


def _elapsed(since: datetime.datetime | None, now: datetime.datetime) -> float | None:
    return max((now - since).total_seconds(), 0.0) if since is not None else None
