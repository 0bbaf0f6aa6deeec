"""The client for scripts: the same calls as those of the asynchronous client, without an event loop.

    from tinkwell.client import blocking

    with blocking.connect("localhost:50051") as client:
        client.hardware.push({"id": machine_id})
        for event in client.events.watch(names=["rack.door_opened"]):
            print(event.data)

A background thread runs an event loop with the asynchronous client. Each call here runs the asynchronous call in that
thread, and waits for its end. Each method below has the parameters, types and errors of the asynchronous method of the
same name. Any number of threads may use a client at once, but an iterator or a watch only one at a time. Hooks
(`on_created` …, `on_progress`) and the iterables that are given to `push_many` run in the background thread and must
not call this client. Callbacks of `run` and `watch_events` run in the caller's thread.
"""

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from tinkwell.client import channel, client, errors
from tinkwell.client import runner as runners
from tinkwell.client.event import client as event
from tinkwell.client.hardware import client as hardware
from tinkwell.client.lease import client as work
from tinkwell.client.release import client as release
from tinkwell.client.release import handle as release_handle
from tinkwell.client.release.model import Operation
from tinkwell.client.runner import Runner
from tinkwell.client.template import client as template
from tinkwell.client.unit import client as application
from tinkwell.client.unit import namespaces as namespace
from tinkwell.client.unit.agent import worker as unit
from tinkwell.client.unit.secret import client as secret
from tinkwell.client.watch import service, watch
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow import client as workflow

P = ParamSpec("P")
S = TypeVar("S")
# A method may be inherited from a base class of its client.
S_co = TypeVar("S_co", covariant=True)
W_co = TypeVar("W_co", bound=service.Service, covariant=True)
T = TypeVar("T")


class Watch:
    """A watch: an iterator over events, and a context manager; see `tinkwell.client.Watch`."""

    def __init__(self, runner: Runner, source: watch.Watch) -> None:
        self._runner = runner
        self._source = source

    @property
    def revision(self) -> int:
        """The revision of the last event that the iterator returned, or of the bookmark after it."""
        return self._source.revision

    @property
    def history_id(self) -> str:
        """The history that revisions belong to."""
        return self._source.history_id

    @property
    def is_live(self) -> bool:
        """Whether the watch is connected, and the server has fixed its start position."""
        return self._source.is_live

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        item = self._runner.run(runners.next_item(self._source))
        if item is None:
            raise StopIteration
        return item

    def __enter__(self) -> Self:
        self._runner.run(self._source.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_live(self) -> None:
        """Connect, and wait until the server has fixed the start position."""
        self._runner.run(self._source.wait_live())

    def run(self, callback: Callable[[Event], object]) -> None:
        """Call `callback` with each event in order, in this thread."""
        try:
            for item in self:
                callback(item)
        finally:
            self.close()

    def close(self) -> None:
        """End the watch, from any thread."""
        with contextlib.suppress(errors.Closed):
            self._runner.run(self._source.aclose())


class _Calls(Generic[S_co]):
    def __init__(self, runner: Runner, source: S_co) -> None:
        self._runner = runner
        self._source = source


class _Service(_Calls[W_co]):
    def watch(self, **options: Unpack[service.WatchOptions]) -> Watch:
        """Watch events in order, each once, over lost connections; see `tinkwell.client.HardwareClient.watch`."""
        return Watch(self._runner, self._source.watch(**options))

    def watch_events(self, callback: Callable[[Event], object], **options: Unpack[service.WatchOptions]) -> None:
        """Call `callback` with each event in order, in this thread; has the options and the errors of `watch`."""
        self.watch(**options).run(callback)


def _call(method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[_Calls[S], P], T]:
    @functools.wraps(method)
    def call(self: _Calls[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._runner.run(method(self._source, *args, **kwargs))

    return call


def _iterate(
    method: Callable[Concatenate[S, P], AsyncIterator[T]],
) -> Callable[Concatenate[_Calls[S], P], Iterator[T]]:
    @functools.wraps(method)
    def iterate(self: _Calls[S], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._runner.iterate(method(self._source, *args, **kwargs))

    return iterate


class HardwareClient(_Service[hardware.HardwareClient]):
    """Pushes, finds and watches machines."""

    push = _call(hardware.HardwareClient.push)
    push_many = _call(hardware.HardwareClient.push_many)
    by_id = _call(hardware.HardwareClient.by_id)
    by_mac = _call(hardware.HardwareClient.by_mac)
    by_ip = _call(hardware.HardwareClient.by_ip)
    all = _iterate(hardware.HardwareClient.all)
    delete = _call(hardware.HardwareClient.delete)
    phone_home = _call(hardware.HardwareClient.phone_home)


class TemplateClient(_Service[template.TemplateClient]):
    """Creates, finds and watches templates."""

    create = _call(template.TemplateClient.create)
    get = _call(template.TemplateClient.get)
    list = _iterate(template.TemplateClient.list)
    update = _call(template.TemplateClient.update)
    delete = _call(template.TemplateClient.delete)


class WorkflowClient(_Service[workflow.WorkflowClient]):
    """Creates, follows and watches workflows, and reports on their actions."""

    create = _call(workflow.WorkflowClient.create)
    get = _call(workflow.WorkflowClient.get)
    list = _iterate(workflow.WorkflowClient.list)
    unfinished = _iterate(workflow.WorkflowClient.unfinished)
    delete = _call(workflow.WorkflowClient.delete)
    cancel = _call(workflow.WorkflowClient.cancel)
    expire = _call(workflow.WorkflowClient.expire)
    prune = _call(workflow.WorkflowClient.prune)
    events = _iterate(workflow.WorkflowClient.events)
    context = _call(workflow.WorkflowClient.context)
    contexts = _iterate(workflow.WorkflowClient.contexts)
    context_list = _call(workflow.WorkflowClient.context_list)
    actions = _call(workflow.WorkflowClient.actions)
    report = _call(workflow.WorkflowClient.report)
    report_together = _call(workflow.WorkflowClient.report_together)
    data = _call(workflow.WorkflowClient.data)
    metadata = _call(workflow.WorkflowClient.metadata)
    data_version = _call(workflow.WorkflowClient.data_version)
    update_data = _call(workflow.WorkflowClient.update_data)
    append_logs = _call(workflow.WorkflowClient.append_logs)
    logs = _iterate(workflow.WorkflowClient.logs)


class OperationHandle:
    """An operation that was begun, and the calls that wait for its end; see `tinkwell.client.OperationHandle`."""

    def __init__(self, runner: Runner, source: release_handle.OperationHandle) -> None:
        self._runner = runner
        self._source = source

    @property
    def operation(self) -> Operation:
        """The operation as it was when it was begun."""
        return self._source.operation

    @property
    def id(self) -> str:
        """The id of the operation."""
        return self._source.id

    def result(self) -> Operation:
        """Wait until the operation has succeeded, over lost connections; raises `ReleaseFailed` for another end."""
        return self._runner.run(self._source.result())

    def plan(self) -> dict[str, Any]:
        """Wait until a plan has succeeded, and get its document; raises what `result` raises."""
        return self._runner.run(self._source.plan())


def _begin(
    method: Callable[Concatenate[release.ReleaseClient, P], Coroutine[Any, Any, release_handle.OperationHandle]],
) -> Callable[Concatenate[_Calls[release.ReleaseClient], P], OperationHandle]:
    @functools.wraps(method)
    def begin(self: _Calls[release.ReleaseClient], /, *args: P.args, **kwargs: P.kwargs) -> OperationHandle:
        return OperationHandle(self._runner, self._runner.run(method(self._source, *args, **kwargs)))

    return begin


class ReleaseClient(_Service[release.ReleaseClient]):
    """Installs, applies, plans, tests, follows and watches releases, and executes their operations."""

    upload_chart = _call(release.ReleaseClient.upload_chart)
    chart = _call(release.ReleaseClient.chart)
    chart_archive = _call(release.ReleaseClient.chart_archive)
    charts = _iterate(release.ReleaseClient.charts)
    install = _begin(release.ReleaseClient.install)
    upgrade = _begin(release.ReleaseClient.upgrade)
    apply = _begin(release.ReleaseClient.apply)
    rollback = _begin(release.ReleaseClient.rollback)
    uninstall = _begin(release.ReleaseClient.uninstall)
    resume = _begin(release.ReleaseClient.resume)
    cancel = _call(release.ReleaseClient.cancel)
    test = _begin(release.ReleaseClient.test)
    plan = _begin(release.ReleaseClient.plan)
    drift = _begin(release.ReleaseClient.drift)
    apply_plan = _begin(release.ReleaseClient.apply_plan)
    get = _call(release.ReleaseClient.get)
    list = _iterate(release.ReleaseClient.list)
    history = _iterate(release.ReleaseClient.history)
    revision = _call(release.ReleaseClient.revision)
    wait = _call(release.ReleaseClient.wait)
    outputs = _call(release.ReleaseClient.outputs)
    operation = _call(release.ReleaseClient.operation)
    operations = _iterate(release.ReleaseClient.operations)
    nodes = _iterate(release.ReleaseClient.nodes)
    explain = _call(release.ReleaseClient.explain)
    lifecycle = _iterate(release.ReleaseClient.lifecycle)
    resources = _iterate(release.ReleaseClient.resources)
    logs = _iterate(release.ReleaseClient.logs)
    unfinished = _iterate(release.ReleaseClient.unfinished)
    acquire = _call(release.ReleaseClient.acquire)
    work = _call(release.ReleaseClient.work)
    submit_plan = _call(release.ReleaseClient.submit_plan)
    report = _call(release.ReleaseClient.report)
    append_logs = _call(release.ReleaseClient.append_logs)


class ApplicationClient(_Service[application.ApplicationClient]):
    """Deploys, relates, changes, follows and removes applications."""

    upload_charm = _call(application.ApplicationClient.upload_charm)
    charm = _call(application.ApplicationClient.charm)
    charms = _iterate(application.ApplicationClient.charms)
    deploy = _call(application.ApplicationClient.deploy)
    set_config = _call(application.ApplicationClient.set_config)
    add_units = _call(application.ApplicationClient.add_units)
    remove_unit = _call(application.ApplicationClient.remove_unit)
    refresh = _call(application.ApplicationClient.refresh)
    remove = _call(application.ApplicationClient.remove)
    relate = _call(application.ApplicationClient.relate)
    unrelate = _call(application.ApplicationClient.unrelate)
    resolve = _call(application.ApplicationClient.resolve)
    prepare_upgrade = _call(application.ApplicationClient.prepare_upgrade)
    finish_upgrade = _call(application.ApplicationClient.finish_upgrade)
    collect_metrics = _call(application.ApplicationClient.collect_metrics)
    attach = _call(application.ApplicationClient.attach)
    detach = _call(application.ApplicationClient.detach)
    remove_storage = _call(application.ApplicationClient.remove_storage)
    settled = _call(application.ApplicationClient.settled)
    active = _call(application.ApplicationClient.active)
    run = _call(application.ApplicationClient.run)
    exec = _call(application.ApplicationClient.exec)
    cancel = _call(application.ApplicationClient.cancel)
    finished = _call(application.ApplicationClient.finished)
    task = _call(application.ApplicationClient.task)
    tasks = _iterate(application.ApplicationClient.tasks)
    get = _call(application.ApplicationClient.get)
    list = _iterate(application.ApplicationClient.list)
    unit = _call(application.ApplicationClient.unit)
    units = _iterate(application.ApplicationClient.units)
    relation = _call(application.ApplicationClient.relation)
    relations = _iterate(application.ApplicationClient.relations)
    storages = _iterate(application.ApplicationClient.storages)
    explain = _call(application.ApplicationClient.explain)
    events = _iterate(application.ApplicationClient.events)
    deferred = _iterate(application.ApplicationClient.deferred)
    logs = _iterate(application.ApplicationClient.logs)


class NamespaceClient(_Service[namespace.NamespaceClient]):
    """Gets, lists, sets and watches namespaces."""

    get = _call(namespace.NamespaceClient.get)
    list = _iterate(namespace.NamespaceClient.list)
    set = _call(namespace.NamespaceClient.set)


class SecretClient(_Service[secret.SecretClient]):
    """Makes, changes, grants, lists and reveals secrets."""

    create = _call(secret.SecretClient.create)
    update = _call(secret.SecretClient.update)
    remove = _call(secret.SecretClient.remove)
    grant = _call(secret.SecretClient.grant)
    revoke = _call(secret.SecretClient.revoke)
    get = _call(secret.SecretClient.get)
    list = _iterate(secret.SecretClient.list)
    reveal = _call(secret.SecretClient.reveal)


class UnitClient(_Calls[unit.UnitClient]):
    """Runs the events of units under a lease."""

    wakes = _iterate(unit.UnitClient.wakes)
    next_event = _call(unit.UnitClient.next_event)
    commit = _call(unit.UnitClient.commit)
    fail = _call(unit.UnitClient.fail)
    read_bag = _call(unit.UnitClient.read_bag)
    read_secret = _call(unit.UnitClient.read_secret)
    append_task_log = _call(unit.UnitClient.append_task_log)
    set_status = _call(unit.UnitClient.set_status)
    append_logs = _call(unit.UnitClient.append_logs)
    fetch_charm = _iterate(unit.UnitClient.fetch_charm)


class WorkClient(_Calls[work.WorkClient]):
    """Acquires, renews and releases leases."""

    acquire = _call(work.WorkClient.acquire)
    renew = _call(work.WorkClient.renew)
    release = _call(work.WorkClient.release)


class EventClient(_Service[event.EventClient]):
    """Watches the events of all resources, publishes custom events, and keeps named positions."""

    publish = _call(event.EventClient.publish)
    position = _call(event.EventClient.position)
    commit_position = _call(event.EventClient.commit_position)


class Client:
    """The clients of all services, over one connection; `connect` makes it. It is a context manager."""

    def __init__(self, runner: Runner, source: client.Client) -> None:
        self._runner = runner
        self._source = source
        self.hardware = HardwareClient(runner, source.hardware)
        self.templates = TemplateClient(runner, source.templates)
        self.workflows = WorkflowClient(runner, source.workflows)
        self.releases = ReleaseClient(runner, source.releases)
        self.applications = ApplicationClient(runner, source.applications)
        self.namespaces = NamespaceClient(runner, source.namespaces)
        self.secrets = SecretClient(runner, source.secrets)
        self.units = UnitClient(runner, source.units)
        self.work = WorkClient(runner, source.work)
        self.events = EventClient(runner, source.events)

    @property
    def address(self) -> str:
        """The address of the server, as `connect` was given it."""
        return self._source.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_ready(self, timeout_seconds: float = 30.0) -> None:
        """Wait until the server says that it is serving; raises `errors.Unavailable` with the last reason otherwise."""
        self._runner.run(self._source.wait_ready(timeout_seconds))

    def close(self) -> None:
        """Close the connection and end the thread; calls of other threads end with `errors.Closed`."""
        try:
            with contextlib.suppress(errors.Closed):
                self._runner.run(self._source.close())
        finally:
            self._runner.stop()


def connect(
    address: str = f"localhost:{channel.DEFAULT_PORT}",
    *,
    token: str | None = None,
    tls: channel.TLS | None = None,
    actor: str | None = None,
    timeout_seconds: float = 30.0,
) -> Client:
    """Make a client for the server at an address; the options are those of `tinkwell.client.connect`."""

    async def make() -> client.Client:
        return client.connect(address, token=token, tls=tls, actor=actor, timeout_seconds=timeout_seconds)

    runner = Runner()
    try:
        return Client(runner, runner.run(make()))
    except BaseException:
        runner.stop()
        raise
