"""Creates workflows: renders a template for devices, and stores the result, which never changes afterwards.

Rendering may take long, so it happens before the transaction. The transaction checks that the template is still the one
that was rendered. If it is not, the creation starts again.
"""

import dataclasses
import uuid
from collections import OrderedDict
from collections.abc import Mapping

from tinkwell.core import errors
from tinkwell.core.template.frozen import Frozen
from tinkwell.core.template.model import Action
from tinkwell.core.template.record import Template
from tinkwell.core.value import document, parse
from tinkwell.core.workflow import devices
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Fetch, Transaction
from tinkwell.server.template.service.rendering import Rendering
from tinkwell.server.workflow.store import creation
from tinkwell.server.workflow.store import source as workflow_source

_TRIES = 5
_PARSERS = 2
# A device map of this size is read in much less than a millisecond.
MAX_QUICK_CHARACTERS = 4 * 1024
# The cache holds at most MAX_KNOWN templates, each of at most MAX_QUICK_CHARACTERS.
MAX_KNOWN = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Created:
    """A workflow and the revision of its creation, which is 0 if the workflow existed before."""

    id: str
    revision: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A workflow that is ready to be written.

    `recovers` is the id of the workflow that this one recovers, or empty. With `with_units` the workflow may run on
    machines that have units, as a workflow that recovers another one does.
    """

    id: str
    devices_text: str
    source: Template
    rendered: Frozen
    recovers: str = ""
    with_units: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class _Request:
    workflow_id: str
    template: str
    devices: document.JsonObject
    devices_text: str
    with_units: bool


class WorkflowCreation:
    """CreateWorkflow."""

    def __init__(self, database: Database, rendering: Rendering) -> None:
        self._database = database
        self._rendering = rendering
        self._aside = offload.Aside(_PARSERS)
        # The templates that were used last, by the id or name that requests gave.
        self._known: OrderedDict[str, Template] = OrderedDict()

    async def create(
        self, *, workflow_id: str, template_name: str, devices_text: str, with_units: bool = False, actor: str
    ) -> Created:
        """Create a workflow.

        `template_name` is the id or the name of a template. An empty `workflow_id` makes the server choose one. A
        repeated request changes nothing. Raises `errors.InvalidField`, `errors.NotFound` for the template or for a
        worker, `errors.AlreadyExists` for an id that another workflow has, and `errors.MachineHasUnits` if one of its
        machines has units, unless `with_units` is true.
        """
        workflow_id = parse.parse_uuid("id", workflow_id) if workflow_id else str(uuid.uuid4())
        template_name = parse.parse_name("template", template_name)
        parsed, compact = await self._parse(devices_text)
        request = _Request(workflow_id, template_name, parsed, compact, with_units)
        if (quick := await self._try_known(request, actor)) is not None:
            return quick
        for _ in range(_TRIES):
            created = await self._try(request, actor)
            if created is not None:
                return created
        raise errors.LostRace(f"the template {template_name} is being changed all the time; try again")

    async def _parse(self, devices_text: str) -> tuple[document.JsonObject, str]:
        if len(devices_text) <= MAX_QUICK_CHARACTERS:
            return _parse_devices(devices_text)
        return await self._aside.run(_parse_devices, devices_text)

    async def _try_known(self, request: _Request, actor: str) -> Created | None:
        """Create a workflow from a cached template, without reading the template first.

        The statement that writes the workflow compares the template with the stored one. Returns None if that fails for
        any reason, such as a changed template or an id that is taken.
        """
        if (source := self._known.get(request.template)) is None:
            return None
        try:
            rendered = self._render_quickly(source.data, request)
            return await self._write(request, source, rendered, actor) if rendered is not None else None
        except (errors.InvalidField, errors.NotFound, errors.MachineHasUnits):
            return None

    async def _try(self, request: _Request, actor: str) -> Created | None:
        source, origin = await workflow_source.find_origin(
            self._database.fetch, request.template, request.workflow_id, request.devices_text
        )
        if origin is not None:
            return _repeated(request, origin)
        if source is None:
            raise errors.NotFound("TEMPLATE", request.template)
        self._remember(request.template, source)
        rendered = self._render_quickly(source.data, request)
        if rendered is None:
            rendered = await self._rendering.render(source.data, request.devices_text, field="template")
        return await self._write(request, source, rendered, actor)

    def _remember(self, called: str, source: Template) -> None:
        # Another template may be created later whose id equals this one's name.
        is_clear = called.lower() == source.id or not workflow_source.may_be_id(called)
        if is_clear and len(source.data) <= MAX_QUICK_CHARACTERS:
            self._known[called] = source
            self._known.move_to_end(called)
            if len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)

    async def _write(self, request: _Request, source: Template, rendered: Frozen, actor: str) -> Created | None:
        draft = Draft(
            id=request.workflow_id,
            devices_text=request.devices_text,
            source=source,
            rendered=rendered,
            with_units=request.with_units,
        )

        async def work(fetch: Fetch) -> tuple[bool, bool]:
            is_made = await _insert(fetch, draft, actor=actor)
            return is_made, is_made

        written = await self._database.change(work)
        return Created(request.workflow_id, written.revision) if written.value else None

    def _render_quickly(self, text: str, request: _Request) -> Frozen | None:
        if len(request.devices_text) > MAX_QUICK_CHARACTERS:
            return None
        return self._rendering.render_quickly(text, request.devices, field="template")


def _parse_devices(text: str) -> tuple[document.JsonObject, str]:
    """Read a device map, and return it with its text without needless space. Writing takes as long as reading."""
    parsed = devices.parse_devices("hardware", text)
    return parsed, document.dump_json(parsed)


async def write(transaction: Transaction, draft: Draft) -> bool:
    """Insert a workflow. Return False if its template has changed or its id was taken in the meantime.

    Raises `errors.NotFound` for a worker that is not a machine.
    """
    transaction.changed = False
    transaction.changed = await _insert(transaction.fetch, draft, actor=None)
    return transaction.changed


async def _insert(fetch: Fetch, draft: Draft, *, actor: str | None) -> bool:
    references = {
        worker: devices.parse_worker(f"template.tasks[{index}].worker", worker)
        for index, worker in enumerate(draft.rendered.workers)
    }
    inserted = await creation.insert(fetch, _new_workflow(draft, references), actor=actor)
    for text, reference in references.items():
        if reference in inserted.missing:
            raise errors.NotFound("HARDWARE", text)
    if inserted.units:
        advice = "remove them, or create it with_units: then they get no events until it has ended"
        raise errors.MachineHasUnits(inserted.machine, units=inserted.units, advice=advice)
    return inserted.is_made


def _repeated(request: _Request, origin: workflow_source.Origin) -> Created:
    is_same_template = request.template.lower() == origin.template_id or request.template == origin.template_name
    if origin.is_deleted or not is_same_template or not origin.has_these_devices:
        raise errors.AlreadyExists("id", request.workflow_id)
    return Created(request.workflow_id, revision=0)


def _new_workflow(draft: Draft, references: Mapping[str, devices.Worker]) -> creation.NewWorkflow:
    rendered = draft.rendered
    places = {worker: place for place, worker in enumerate(dict.fromkeys(references.values()), 1)}
    return creation.NewWorkflow(
        id=draft.id,
        template_id=draft.source.id,
        template_version=draft.source.version,
        workers=list(places),
        devices=draft.devices_text,
        data=rendered.text,
        global_timeout_seconds=rendered.global_timeout_seconds,
        on_timeout=rendered.on_timeout,
        on_failure=rendered.on_failure,
        recovers=draft.recovers,
        with_units=draft.with_units,
        actions=[
            _new_action(index, action, places[references[action.worker]])
            for index, action in enumerate(rendered.actions)
        ],
    )


def _new_action(index: int, action: Action, worker_place: int) -> creation.NewAction:
    return creation.NewAction(
        action_index=index,
        worker_place=worker_place,
        task_name=action.task_name,
        name=action.name,
        image=action.image,
        timeout_seconds=action.timeout_seconds,
        command=action.command,
        on_timeout=action.on_timeout,
        on_failure=action.on_failure,
        volumes=action.volumes,
        environment=action.environment,
        pid=action.pid,
        retries=action.retries,
        retry_delay_seconds=action.retry_delay_seconds,
        reboots=action.reboots,
    )
