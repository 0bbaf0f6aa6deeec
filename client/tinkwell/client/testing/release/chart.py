"""Charts of the fake server, and the requests that make releases of them. Values are not checked by a schema."""

import dataclasses
import json
import uuid
from typing import Any

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release.model import Chart, Operation, Release
from tinkwell.client.testing.release import request as release_request
from tinkwell.client.testing.release.book import ReleaseBook, StoredRevision
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.release import name as release_name
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.process import Unit, units
from tinkwell.core.release.chart.source import ChartSource
from tinkwell.core.release.chart.value import value
from tinkwell.core.release.manifest import rendered
from tinkwell.core.release.transition import operation as rule
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import ReleaseRow
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret import sensitive
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject

_MAX_BYTES = rendered.MAX_MANIFEST_BYTES


def upload(world: World, data: bytes) -> Chart:
    """Store a chart. A known one stays as it is."""
    digest = archive.digest(data)
    if digest in world.releases.archives:
        return find(world, digest)
    loaded = charts.load(archive.unpack(data))
    world.releases.archives[digest] = data
    metadata = loaded.metadata
    return world.put(
        Chart(
            id=str(uuid.uuid4()),
            digest=digest,
            name=metadata.name,
            chart_version=metadata.version,
            app_version=metadata.app_version,
            description=metadata.description,
            size=len(data),
            warnings=tuple(warning for each in charts.every(loaded) for warning in each.warnings),
            metadata=json.loads(document.dump_json(metadata.as_json())),
        )
    )


def find(world: World, digest: str) -> Chart:
    """Find a chart by its digest; raises `NotFound`."""
    for chart in world.all(Chart):
        if chart.digest == digest:
            return chart
    raise errors.NotFound("CHART", digest)


def install(world: World, request: pb.InstallRequest) -> Operation:
    """Begin to install a chart."""
    return _begin(world, request, None, lambda release: rule.begin_install(release))


def upgrade(world: World, request: pb.UpgradeRequest) -> Operation:
    """Begin to upgrade to a chart."""

    def begin(release: ReleaseRow | None) -> Begun:
        return rule.begin_upgrade(release, name=release_request.title(request), install=request.install)

    return _begin(world, request, request, begin)


def plan(world: World, request: pb.PlanRequest) -> Operation:
    """Begin a plan of an upgrade."""

    def begin(release: ReleaseRow | None) -> Begun:
        return rule.begin_plan(release, name=release_request.title(request), has_source=True)

    return _begin(world, request, request, begin)


def archive_of(book: ReleaseBook, source: str) -> bytes | None:
    """Return the archive of the chart that a source names; None if it names none."""
    found = ChartSource.read(json.loads(source or "{}"))
    return book.archives[found.digest] if found is not None else None


def all_values(world: World, stored: StoredRevision) -> dict[str, Any] | None:
    """Return all values of a revision; None if it is not made from a chart."""
    unit = unit_of(world, stored)
    if unit is None:
        return None
    values = changed_values(stored)
    found: dict[str, Any] = json.loads(document.dump_json(unit.values if values is None else values))
    return found


def changed_values(stored: StoredRevision) -> JsonObject | None:
    """Return the values of a revision that handlers have changed; None if they changed none."""
    return rendered.values_of(document.parse_json_object("manifest", stored.manifest or "{}", max_bytes=_MAX_BYTES))


def unit_of(world: World, stored: StoredRevision) -> Unit | None:
    """Return the evaluated chart of a revision; None if it is not made from a chart."""
    source = ChartSource.read(document.parse_json_object("source", stored.source))
    if source is None:
        return None
    return dataclasses.replace(source, strict=False).process(_load(world, source.digest))


def _begin(
    world: World, request: Any, upgrade: pb.UpgradeRequest | pb.PlanRequest | None, begin: release_request.Begin
) -> Operation:
    if request.chart not in world.releases.archives:
        raise errors.ChartUnknown(request.chart)
    given = document.parse_json_object("values", request.values or "{}")
    known = world.releases.facts.get(request.operation_id)
    former = None if known is not None else _former(world, request, upgrade)
    loaded = _load(world, request.chart)
    defaults = None
    if former is not None and upgrade is not None and upgrade.reuse_values:
        defaults = dataclasses.replace(former, strict=False).process(_load(world, former.digest)).values
    source = ChartSource(
        digest=request.chart,
        name=loaded.metadata.name,
        version=loaded.metadata.version,
        user_values=value.overlay(given, former.user_values if former is not None else {}),
        strict=request.options.strict,
        default_values=defaults,
    )
    charts.check_usable(unit.chart for unit in units(source.process(loaded)))
    secret = sensitive.parse_pointers("secret_values", request.secret_values, given)
    texts = secret_document.texts_at("values", given, secret)
    operation = release_request.begin(world, request, begin, source=document.dump_json(source.as_json()))
    world.releases.secrets.learn(operation.release_id, texts)
    return operation


def _former(world: World, request: Any, upgrade: pb.UpgradeRequest | pb.PlanRequest | None) -> ChartSource | None:
    namespace = release_name.parse_namespace("namespace", request.namespace)
    release: Release | None = release_request.find(world, namespace, request.name)
    if upgrade is None or upgrade.reset_values or release is None:
        return None
    stored = world.releases.stored(release.id, release.revision or release.latest_revision)
    return ChartSource.read(document.parse_json_object("source", stored.source)) if stored is not None else None


def _load(world: World, digest: str) -> charts.Chart:
    return charts.load(archive.unpack(world.releases.archives[digest]))
