"""The complete values of a revision that was made from a chart: the given ones and the chart's own.

If handlers have changed the values, the changed ones are in the rendered manifest.
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
    """Computes the values from what is stored, when a caller asks for them."""

    def __init__(self, database: Database, documents: Documents, charts: Charts) -> None:
        self._database = database
        self._documents = documents
        self._charts = charts
        self._aside = offload.Aside(_THREADS)

    async def of_revision(self, release_id: str, number: int, manifest: str, *, actor: str) -> str:
        """Return the values as JSON text, with null in place of secrets, or an empty text if there is no chart.

        `manifest` is the manifest of the revision as it is shown, with null in place of secrets. Raises
        `errors.SecretsDisabled` if a value is secret and its key is missing.
        """
        if changed := await self._aside.run(_changed, manifest):
            return changed
        found = await self._open(release_id, number, actor=actor)
        return await self._aside.run(_show, *found) if found is not None else ""

    async def origins(self, release_id: str, number: int, manifest: str, *, actor: str) -> Origins | None:
        """Return the origin of each value and of each decision on a subchart, or None if there is no chart.

        `manifest` is the manifest of the revision as it is shown. Raises `errors.SecretsDisabled` if a value is secret
        and its key is missing.
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
            # Both were deleted after the revision was found.
            raise errors.NotFound("REVISION", f"{number} of release {release_id}") from error
        return source, loaded.chart, opened


def _trace(source: ChartSource, chart: Chart, opened: OpenedSource, manifest: str) -> Origins:
    unit = dataclasses.replace(source, strict=False).process(chart)
    changed = document.parse_json(_MANIFEST, _changed(manifest) or "null", max_bytes=rendered.MAX_MANIFEST_BYTES)
    return explained.of_unit(unit, source.user_values, _shown(unit.values, opened), changed)


def _changed(manifest: str) -> str:
    """Return the values that handlers have changed, or an empty text if they have changed none."""
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
