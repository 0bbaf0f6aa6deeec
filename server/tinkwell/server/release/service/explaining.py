"""Implements Explain: the reasons for the states of an operation and its nodes, and the origins of a chart's values."""

import asyncio
import dataclasses
import datetime
import json
from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release import plan as plans
from tinkwell.core.release.explanation import origin as explained
from tinkwell.core.release.explanation import sentence
from tinkwell.core.release.explanation.fact import Facts, NodeExplanation, NodeFact, OperationFact, StepFact
from tinkwell.core.release.explanation.origin import Dependency, Origins, Value
from tinkwell.core.release.kinds import NodeState
from tinkwell.core.release.record import Node, Operation, Release, Step
from tinkwell.server.database.database import Database
from tinkwell.server.release.service.chart.all_values import AllValues
from tinkwell.server.release.store import explanation as store
from tinkwell.server.release.store import queries

_BEGUN = (NodeState.INSTALLING, NodeState.REMOVING)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation. `left_off` is the number of nodes or values that are not included."""

    operation_id: str
    sentence: str
    nodes: Sequence[NodeExplanation] = ()
    dependencies: Sequence[Dependency] = ()
    values: Sequence[Value] = ()
    left_off: int = 0


class Explaining:
    """Explains what is stored. An explanation contains no secrets."""

    def __init__(self, database: Database, all_values: AllValues) -> None:
        self._database = database
        self._all_values = all_values

    async def nodes(self, release: Release, operation: Operation, path: str, *, actor: str) -> Explanation:
        """Explain a node and the subchart with its name, or all nodes that are not done.

        Raises `errors.InvalidField` for a path that is neither.
        """
        facts = await self._facts(operation)
        dependencies = await self._dependencies(release, path, actor=actor) if path else ()
        try:
            nodes, left_off = await asyncio.to_thread(sentence.of_nodes, facts, path)
        except errors.InvalidField:
            # A disabled subchart has no node.
            if not dependencies:
                raise
            nodes, left_off = (), 0
        return Explanation(
            operation_id=operation.id,
            sentence=sentence.of_operation(facts.operation),
            nodes=nodes,
            dependencies=dependencies,
            left_off=left_off,
        )

    async def values(self, release: Release, operation: Operation, key: str, *, actor: str) -> Explanation:
        """Return the origins of all values of a chart, or of the values at a key and below it.

        Raises `errors.InvalidField` if there is no chart or no such value, and `errors.SecretsDisabled`.
        """
        origins = await self._origins(release, release.revision or release.latest_revision, actor=actor)
        if origins is None:
            raise errors.InvalidField.of("with_values", f"{release.name} has no chart, and so no values")
        values, left_off = explained.values_below(origins.values, key)
        facts = await self._operation(operation)
        return Explanation(
            operation_id=operation.id,
            sentence=sentence.of_operation(facts[0]),
            values=values,
            left_off=left_off,
        )

    async def _dependencies(self, release: Release, path: str, *, actor: str) -> Sequence[Dependency]:
        number = max(release.revision, release.latest_revision)
        try:
            origins = await self._origins(release, number, actor=actor)
        except (errors.SecretsDisabled, errors.NotFound):
            # Without the key of the secrets, the node is still explained.
            return ()
        return [each for each in origins.dependencies if each.is_at(path)] if origins is not None else ()

    async def _origins(self, release: Release, number: int, *, actor: str) -> Origins | None:
        found = await queries.revision(self._database.fetch, release.namespace, release.name, number)
        if found is None:
            return None
        return await self._all_values.origins(release.id, found.revision, found.manifest, actor=actor)

    async def _operation(self, operation: Operation) -> tuple[OperationFact, store.Situation]:
        found = await store.situation(self._database.fetch, operation.id)
        if found is None:
            raise errors.NotFound("OPERATION", operation.id)
        told = json.loads(operation.cause) if operation.cause else {}
        where = f"{told['path']}: " if told.get("path") else ""
        fact = OperationFact(
            kind=operation.kind,
            state=operation.state,
            release_name=operation.release_name,
            namespace=operation.namespace,
            parallel=operation.options.parallel,
            engine=found.engine,
            cause=f"{where}{told.get('message') or told.get('reason', '')}",
            remaining_seconds=operation.remaining_seconds,
            is_cancel_requested=operation.is_cancel_requested,
            holder=found.holder,
            alive=found.alive,
        )
        return fact, found

    async def _facts(self, operation: Operation) -> Facts:
        fact, found = await self._operation(operation)
        async with self._database.snapshot() as connection:
            listed = await queries.list_nodes(connection, operation.id)
        if not found.plan or not listed:
            return Facts(operation=fact)
        running = [node.path for node, _ in listed if node.state in _BEGUN]
        limits = await store.limits(self._database.fetch, operation.id, running)
        nodes = {node.path: _node(node, steps, limits, found.now) for node, steps in listed}
        return Facts(operation=fact, nodes=nodes, plan=await asyncio.to_thread(plans.Plan.load, found.plan))


def _node(
    node: Node,
    steps: Sequence[Step],
    limits: Mapping[str, tuple[Mapping[str, object], Mapping[str, object]]],
    now: datetime.datetime,
) -> NodeFact:
    begun = [step for step in steps if step.state is not State.PENDING or step.attempt]
    since = node.finished_at or node.started_at
    return NodeFact(
        path=node.path,
        state=node.state,
        kind=node.kind,
        task=node.task,
        batch=node.batch,
        message=node.message,
        is_changed=node.changed,
        seconds=_elapsed(since, now),
        step=_step(begun[-1], limits.get(node.path, ({}, {})), now) if begun else None,
    )


def _step(step: Step, limits: tuple[Mapping[str, object], Mapping[str, object]], now: datetime.datetime) -> StepFact:
    attempts, timeouts = sentence.attempts_and_timeouts(*limits)
    kind = step.kind
    return StepFact(
        kind=kind,
        state=step.state,
        attempt=step.attempt,
        name=step.name,
        exit_code=step.exit_code,
        message=step.message,
        seconds=_elapsed(step.started_at, now),
        attempts=attempts if kind.has_effects else 1,
        timeout_seconds=sentence.seconds_of(kind, timeouts),
    )


def _elapsed(since: datetime.datetime | None, now: datetime.datetime) -> float | None:
    return max((now - since).total_seconds(), 0.0) if since is not None else None
