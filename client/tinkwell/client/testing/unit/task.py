"""Tasks of the fake server: the actions and commands that operators request. Commands are always allowed."""

from collections.abc import Iterator

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.client.testing.unit.book import Room, UnitBook
from tinkwell.client.unit.task import CANCELLED, KINDS, STATES
from tinkwell.core import errors
from tinkwell.core.charm import action
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit import limit, name
from tinkwell.core.unit.effect import TaskOutcome
from tinkwell.core.unit.kinds import TaskState
from tinkwell.core.unit.world import Task, Unit
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject

_LEADER = "leader"


class Tasks:
    """Creates, cancels and finds tasks."""

    def __init__(self, book: UnitBook) -> None:
        self._book = book

    def run(self, request: pb.RunTaskRequest) -> tuple[Room, Task]:
        """Request that a unit runs an action or a command."""
        for room in self._book.rooms.values():
            if request.id in room.world.tasks:
                return room, self._as_before(room, room.world.tasks[request.id], request)
        if bool(request.action) == bool(request.arguments):
            text = "name an action, or give the arguments of a command, and not both"
            raise errors.InvalidField.of("action", text)
        room = self._book.room(request.namespace)
        unit = room.unit(self._unit(room, request.unit))
        made = self._ask(room, unit.name, request, self._parameters(room, unit, request))
        room.tell()
        return room, room.world.tasks[made]

    def _parameters(self, room: Room, unit: Unit, request: pb.RunTaskRequest) -> JsonObject:
        if not request.action:
            return {}
        digest = unit.code or room.world.applications[unit.application].charm.digest
        found = action.find(self._book.charm(digest).manifest.actions, request.action, field="action")
        given = document.parse_json_object("parameters", request.parameters or "{}")
        return action.complete(found, given, field="parameters")

    def _timeout_seconds(self, room: Room, request: pb.RunTaskRequest) -> int:
        return request.timeout_seconds or self._book.namespaces[room.namespace].event_timeout_seconds

    def _as_before(self, room: Room, former: Task, request: pb.RunTaskRequest) -> Task:
        wanted = {
            "another unit": request.unit in (former.unit, f"{name.application_of(former.unit)}/{_LEADER}")
            and self._book.room(request.namespace) is room,
            "another action": request.action == former.name,
            "other arguments": tuple(request.arguments) == former.arguments,
            "another timeout_seconds": self._timeout_seconds(room, request) == former.timeout_seconds,
        }
        other = [what for what, is_same in wanted.items() if not is_same]
        if not other and self._parameters(room, room.unit(former.unit), request) != former.parameters:
            other = ["other parameters"]
        if other:
            taken_by = f"a task of {former.unit} with {other[0]}"
            raise errors.AlreadyExists("id", request.id, taken_by=taken_by, advice="leave the id out")
        return former

    def _ask(self, room: Room, unit: str, request: pb.RunTaskRequest, parameters: JsonObject) -> str:
        key = f"task {unit} {room.next_task}"
        room.chosen[key] = request.id
        try:
            made = room.world.run_task(
                unit,
                request.action,
                parameters,
                arguments=request.arguments,
                timeout_seconds=self._timeout_seconds(room, request),
                actor="test",
            )
        finally:
            room.chosen.pop(key, None)
        room.next_task += 1
        return made

    def cancel(self, task_id: str) -> tuple[Room, Task]:
        """End a task that waits, or let its agent end it."""
        room, found = self.find(task_id)
        ended = room.world.cancel_task(found.id, actor="test")
        room.tell()
        return room, ended

    def find(self, task_id: str) -> tuple[Room, Task]:
        """Return a task. Raises `errors.NotFound`."""
        for room in self._book.rooms.values():
            if task_id in room.world.tasks:
                return room, room.world.tasks[task_id]
        raise errors.NotFound(ResourceType.TASK, task_id)

    def of(self, request: pb.ListTasksRequest) -> Iterator[tuple[Room, Task]]:
        """Yield the tasks of a unit, or of an application's units, newest first."""
        room = self._book.room(request.namespace)
        if "/" in request.name:
            room.unit(request.name)
        elif request.name not in room.world.applications:
            raise errors.NotFound(ResourceType.APPLICATION, request.name)
        for found in sorted(room.world.tasks.values(), key=lambda each: -each.number):
            if request.name in (found.unit, name.application_of(found.unit)):
                yield room, found

    def _unit(self, room: Room, wanted: str) -> str:
        """Return the name of a unit; APPLICATION/leader stands for the unit that leads."""
        application = name.application_of(wanted)
        if wanted != f"{application}/{_LEADER}":
            return wanted
        if application not in room.world.applications:
            raise errors.NotFound(ResourceType.UNIT, wanted)
        leader = room.world.applications[application].leader
        if not leader:
            text = "no unit leads it now; wait until one does, or name a unit"
            raise errors.IllegalTransition(f"application {application}", text)
        return leader


def message(room: Room, source: Task, *, with_log: bool = False) -> pb.Task:
    """Write a task. The message of a running task that was cancelled says so."""
    stamp = room.stamp(source.id)
    is_ending = source.state is TaskState.RUNNING and source.is_cancelled
    lines = room.task_lines.get(source.id, {})
    target = pb.Task(
        id=source.id,
        application_id=room.world.applications[name.application_of(source.unit)].id,
        namespace=room.namespace,
        unit=source.unit,
        kind=KINDS.number(source.kind),
        name=source.name,
        parameters=document.dump_json(source.parameters),
        arguments=source.arguments,
        state=STATES.number(source.state),
        result=source.result or "{}",
        message=CANCELLED if is_ending else source.message,
        log=[lines[number] for number in sorted(lines)][-limit.TASK_LOG_LINES :] if with_log else [],
        timeout_seconds=source.timeout_seconds,
        actor=source.actor,
        version=stamp.version,
    )
    for field, moment in (
        ("created_at", stamp.created_at),
        ("started_at", room.started.get(source.id)),
        ("finished_at", room.finished.get(source.id)),
    ):
        if moment is not None:
            getattr(target, field).FromDatetime(moment)
    return target


def outcome(source: unit_pb.TaskOutcome) -> TaskOutcome:
    """Read the outcome of a task. Raises `errors.InvalidField`."""
    ends = {STATES.number(state): state for state in TaskState if state.is_final}
    if source.state not in ends:
        raise errors.InvalidField.of("task.state", f"give one of {', '.join(ends.values())}")
    if source.result:
        document.parse_json_object("task.result", source.result, max_bytes=limit.TASK_RESULT_BYTES)
    return TaskOutcome(state=ends[source.state], result=source.result, message=source.message)


def append(room: Room, task_id: str, number: int, lines: list[str]) -> None:
    """Store log lines of a task. A known line stays as it is."""
    kept = room.task_lines.setdefault(task_id, {})
    for index, line in enumerate(lines):
        kept.setdefault(number + index, line)
