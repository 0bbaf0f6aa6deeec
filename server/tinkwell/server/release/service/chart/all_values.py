"""All values of a revision that is made of a chart: those that were given, and those of the charts.

Where handlers have changed them, they stand in the manifest as they were rendered.
"""

import dataclasses

from tinkwell.core import errors
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.source import ChartSource
from tinkwell.core.release.explanation import origin as explained
from tinkwell.core.release.explanation.origin import Origins
from tinkwell.core.release.manifest import rendered
from tinkwell.core.secret import document as secret_document
from tinkwell.core.value import document, pointer
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.service.chart.charts import Charts
from tinkwell.server.release.service.document import Documents, OpenedSource
from tinkwell.server.secret.service.operations import masker_of

_THREADS = 2
_USER_VALUES = "user_values"
_MANIFEST = "manifest"


class AllValues:
    """Makes them when they are asked for, since they follow from what is stored."""

    def __init__(self, database: Database, documents: Documents, charts: Charts) -> None:
        self._database = database
        self._documents = documents
        self._charts = charts
        self._aside = offload.Aside(_THREADS)

    async def of_revision(self, release_id: str, number: int, manifest: str, *, actor: str) -> str:
        """Return them as JSON text, with null in the place of what is secret; empty where there is no chart.

        `manifest` is that of the revision as it is shown, with null in the place of what is secret. Raises
        `errors.SecretsDisabled` where something is secret, and the key for it is missing.
        """
        if changed := await self._aside.run(_changed, manifest):
            return changed
        found = await self._open(release_id, number, actor=actor)
        return await self._aside.run(_show, *found) if found is not None else ""

    async def origins(self, release_id: str, number: int, manifest: str, *, actor: str) -> Origins | None:
        """Return where they are from, and what has decided on subcharts; None where there is no chart.

        `manifest` is that of the revision as it is shown. Raises `errors.SecretsDisabled` where something is secret and
        the key for it is missing.
        """
        found = await self._open(release_id, number, actor=actor)
        return await self._aside.run(_trace, *found, manifest) if found is not None else None

    async def _open(
        self, release_id: str, number: int, *, actor: str
    ) -> tuple[ChartSource, Chart, OpenedSource] | None:
        async def work(transaction: Transaction) -> OpenedSource | None:
            transaction.changed = False
            return await self._documents.source(transaction, release_id, number)

        opened = (await self._database.write(work, actor=actor)).value
        source = ChartSource.read(opened.value) if opened is not None else None
        if opened is None or source is None:
            return None
        try:
            loaded = await self._charts.load(source.digest)
        except errors.ChartUnknown as error:
            # Both went since the revision was found.
            raise errors.NotFound("REVISION", f"{number} of release {release_id}") from error
        return source, loaded.chart, opened


def _trace(source: ChartSource, chart: Chart, opened: OpenedSource, manifest: str) -> Origins:
    unit = dataclasses.replace(source, strict=False).process(chart)
    changed = document.parse_json(_MANIFEST, _changed(manifest) or "null", max_bytes=rendered.MAX_MANIFEST_BYTES)
    return explained.of_unit(unit, source.user_values, _shown(unit.values, opened), changed)


def _changed(manifest: str) -> str:
    """Return the values that handlers have changed; empty where they have not."""
    found = document.parse_json_object(_MANIFEST, manifest or "{}", max_bytes=rendered.MAX_MANIFEST_BYTES)
    values = rendered.values_of(found)
    return document.dump_json(values) if values is not None else ""


def _show(source: ChartSource, chart: Chart, opened: OpenedSource) -> str:
    values = dataclasses.replace(source, strict=False).process(chart).values
    return document.dump_json(_shown(values, opened))


def _shown(values: JsonObject, opened: OpenedSource) -> JsonValue:
    places = [pointer.parse_pointer("source", place) for place in opened.places]
    own = [pointer.write_pointer(parts[1:]) for parts in places if parts[:1] == (_USER_VALUES,)]
    masker = masker_of(opened.texts) if opened.texts else None
    return secret_document.extract(values, pointers=own, masker=masker).document
