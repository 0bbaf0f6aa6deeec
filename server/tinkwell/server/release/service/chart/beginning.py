"""Begins operations that make releases from charts.

A chart and its values are checked before anything is written, so a wrong request leaves no trace. An upgrade reads the
values that it takes over before its transaction. If the release has a newer revision by then, nothing is written, and
all of it is done again.
"""

import dataclasses

from tinkwell.core import errors
from tinkwell.core.release.chart.source import ChartSource
from tinkwell.core.release.record import Operation
from tinkwell.core.release.transition import operation as rules
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import ReleaseRow
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.service.beginning import Beginning
from tinkwell.server.release.service.chart import request as requests
from tinkwell.server.release.service.chart import values as chart_values
from tinkwell.server.release.service.chart.charts import Charts
from tinkwell.server.release.service.chart.request import AskedOfChart
from tinkwell.server.release.service.chart.value_schema import ValueSchemas
from tinkwell.server.release.service.document import Documents
from tinkwell.server.release.service.ending import Expiry
from tinkwell.server.release.service.request import title
from tinkwell.server.release.store import lock
from tinkwell.server.release.store import request as store
from tinkwell.server.release.store.request import Asked

_THREADS = 2
_TRIES = 5


class _Moved(Exception):
    """The release has a newer revision than the one whose values were taken over."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Former:
    """The state that a request finds.

    `release` is None if there is none. The revision is the one that an upgrade starts from, 0 for none. With `is_known`
    an operation with the request's id exists, and the revision is the one that it started from.
    """

    release: ReleaseRow | None
    number: int = 0
    source: ChartSource | None = None
    is_known: bool = False


class ChartBeginning:
    """Implements Install and Upgrade.

    Both raise `errors.ChartUnknown`, `errors.ChartInvalid`, `errors.InvalidField`, `errors.OperationActive`,
    `errors.SecretsDisabled` if secrets cannot be sealed, and `errors.AlreadyExists` if the id belongs to an operation
    of a different request.
    """

    def __init__(
        self, database: Database, expiry: Expiry, documents: Documents, charts: Charts, beginning: Beginning
    ) -> None:
        self._database = database
        self._expiry = expiry
        self._documents = documents
        self._charts = charts
        self._beginning = beginning
        self._schemas = ValueSchemas()
        self._aside = offload.Aside(_THREADS)

    async def install(self, request: requests.Install, *, actor: str) -> Operation:
        """Begin to install a chart. Raises `errors.AlreadyExists` if a release with this name was deployed before."""
        return await self._begin(request, actor=actor)

    async def upgrade(self, request: requests.Upgrade, *, actor: str) -> Operation:
        """Begin to upgrade a release to a chart. Raises `errors.NotFound`."""
        return await self._begin(request, actor=actor)

    async def plan(self, request: requests.Plan, *, actor: str) -> Operation:
        """Begin a plan of an upgrade. The release need not exist."""
        return await self._begin(request, actor=actor)

    async def _begin(self, request: requests.Install, *, actor: str) -> Operation:
        given = await self._aside.run(requests.parse_request, request)
        await self._expiry.end_of_release(given.asked.namespace, given.asked.name, actor=actor)
        for _ in range(_TRIES):
            former = await self._find(given, actor=actor)
            if not former.is_known:
                _judge(given, former.release)
            asked = await self._prepare(given, former)

            async def judge(_: Transaction, release: ReleaseRow | None, former: _Former = former) -> Begun:
                if _number(given, release) != former.number or (former.number and not _is_same(release, former)):
                    raise _Moved
                return _judge(given, release)

            try:
                return await self._beginning.begin(asked, judge, actor=actor)
            except _Moved:
                continue
        raise errors.LostRace(f"the release {given.asked.name} changes all the time; try again")

    async def _find(self, given: AskedOfChart, *, actor: str) -> _Former:
        asked = given.asked

        async def work(transaction: Transaction) -> _Former:
            transaction.changed = False
            release = await lock.find_named(transaction.fetch, asked.namespace, asked.name)
            known = await store.find_former(transaction.fetch, asked.operation_id)
            release_id = known.release_id if known is not None else release.id if release is not None else ""
            number = known.former if known is not None else _number(given, release)
            source = await self._documents.source(transaction, release_id, number) if number else None
            return _Former(
                release=release,
                number=number,
                source=ChartSource.read(source.value) if source is not None else None,
                is_known=known is not None,
            )

        return (await self._database.write(work, actor=actor)).value

    async def _prepare(self, given: AskedOfChart, former: _Former) -> Asked:
        chart = await self._charts.load(given.request.chart)
        former_chart = None
        if former.source is not None and given.upgrade is not None and given.upgrade.reuse_values:
            former_chart = (await self._charts.load(former.source.digest)).chart
        made = await self._aside.run(chart_values.process, given, chart.chart, former.source, former_chart)
        marked = await self._schemas.check(chart_values.slices(made.unit))
        asked = await self._aside.run(chart_values.asked, given, made, marked, chart_id=chart.id, former=former.number)
        if asked.secrets:
            self._documents.require()
        return asked


def _judge(given: AskedOfChart, release: ReleaseRow | None) -> Begun:
    if given.upgrade is None:
        return rules.begin_install(release)
    name = title(given.asked.namespace, given.asked.name)
    if isinstance(given.upgrade, requests.Plan):
        return rules.begin_plan(release, name=name, has_source=True)
    return rules.begin_upgrade(release, name=name, install=given.upgrade.install)


def _number(given: AskedOfChart, release: ReleaseRow | None) -> int:
    """Return the revision whose values an upgrade takes over: the deployed one, else the newest, or 0 for none."""
    if given.upgrade is None or given.upgrade.reset_values or release is None:
        return 0
    return release.revision or release.latest_revision


def _is_same(release: ReleaseRow | None, former: _Former) -> bool:
    return release is not None and former.release is not None and release.id == former.release.id
