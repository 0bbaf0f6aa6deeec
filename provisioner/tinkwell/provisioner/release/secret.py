"""Learns the secrets of one operation, and masks them in shown texts.

Secrets are written only to the input of containers. This module masks them in messages, causes, names of steps, the
output of steps, and the log of this process. Documents and arguments go to the server unmasked, and the server seals
them. A text is masked from the moment when it is learned: earlier reports and output are not changed.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tinkwell.client.workflow.model import LogStream
from tinkwell.core import errors
from tinkwell.core.process_log import redaction
from tinkwell.core.release import cause, sensitive
from tinkwell.core.release import report as release_report
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource
from tinkwell.core.release.report import FinishReport, LifecycleReport, NodeReport, Report, StepReport
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret.mask import MaskedStream, Masker
from tinkwell.core.value import check, parse
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import output_shipper
from tinkwell.provisioner.runtime import output, stream_line

_SHOWN = "holds a secret, and would show it; only config and outputs may have one"


class Secrets:
    """The secret texts of an operation. Call `close` after the last message about the operation."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = frozenset(texts)
        self._masker = Masker(self._texts)
        self._turn = asyncio.Lock()
        self._leave_log = redaction.also(self.mask)

    def close(self) -> None:
        """Stop masking the log of this process."""
        self._leave_log()

    async def learn(self, field: str, document: JsonValue, pointers: Iterable[str]) -> frozenset[str]:
        """Learn the secret texts at the pointers of a document, and return them.

        Raises `errors.InvalidField`, with paths below `field`, for texts that cannot be told from ordinary text.
        """
        texts = secret_document.texts_at(field, document, pointers)
        async with self._turn:
            wanted = self._texts | texts
            if wanted != self._texts:
                self._masker = await asyncio.to_thread(Masker, wanted)
                self._texts = wanted
        return texts

    async def learn_configs(
        self, resources: Mapping[str, RenderedResource], declared: Mapping[str, Iterable[str]]
    ) -> None:
        """Learn the secrets in configs, as far as these are evaluated; raises `errors.InvalidField`.

        `declared` has the pointers that images declare, by resource path.
        """
        configs: JsonObject = {path: resource.as_json() for path, resource in resources.items()}
        late: JsonObject = {path: resource.late.as_json() for path, resource in resources.items()}
        places = sensitive.of_rendered({"resources": configs}, {"resources": late}, declared)
        await self.learn("", {"resources": configs}, places.secret)

    def check(self, manifest: RenderedManifest) -> None:
        """Raise `errors.InvalidField` if a shown text of the manifest, such as a resource's name, has a secret."""
        checks = check.Checks()
        for field, text in _shown_texts(manifest):
            if self.finds(text):
                checks.refuse(field, _SHOWN)
        checks.finish()

    def check_shown(self, field: str, text: str) -> None:
        """Raise `errors.InvalidField` if a text that is shown contains a secret."""
        if self.finds(text):
            raise errors.InvalidField.of(field, _SHOWN)

    def finds(self, text: str) -> bool:
        """Return whether a text contains a secret."""
        return bool(self._texts) and self._masker.finds(text)

    def mask(self, text: str) -> str:
        """Mask secrets in a text; if the text was shortened, the beginning of a cut secret is masked, too."""
        return self._masker.mask_excerpt(text) if self._texts else text

    def mask_json(self, value: JsonValue) -> JsonValue:
        """Mask secrets in the texts and the keys of a value."""
        return self._masker.mask_json(value) if self._texts else value

    def mask_report(self, report: Report) -> Report:
        """Mask secrets in the fields of a report that are shown."""
        match report:
            case StepReport(call=call):
                call = replace(call, name=self.mask(call.name), description=self.mask(call.description))
                return replace(report, call=call, message=self._masked_message(report.message))
            case NodeReport() | LifecycleReport():
                return replace(report, message=self._masked_message(report.message))
            case FinishReport() if report.cause:
                return replace(report, cause=cause.with_message(report.cause, self.mask))
            case _:
                return report

    def _masked_message(self, message: str) -> str:
        # A mask may be longer than its secret.
        return release_report.fitting(self.mask(message))

    def masked(self, run: output_shipper.Source) -> output_shipper.Source:
        """Return the output of a run with secrets masked."""
        return _Masked(run, self)

    def stream(self) -> MaskedStream:
        """Begin to mask a text that comes in pieces."""
        return self._masker.stream()


@dataclass(frozen=True, slots=True)
class _Masked:
    """The masked output of a run; each line keeps its number."""

    run: output_shipper.Source
    secrets: Secrets

    @property
    def key(self) -> RunKey:
        """The key of the run."""
        return self.run.key

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the masked lines; in a line that was cut for its length, a part of a secret is masked, too."""
        begun: dict[LogStream, MaskedStream] = {}
        async with contextlib.aclosing(self.run.lines()) as lines:
            async for line in lines:
                if line.is_note:  # the next line does not continue this one
                    begun.clear()
                if line.is_open and line.stream in begun:  # the begun stream is kept for the finished line
                    continue
                stream = begun.pop(line.stream, None) or self.secrets.stream()
                text = stream.feed(line.text) + (stream.cut() if line.is_cut or line.is_open else stream.flush())
                if line.is_cut:
                    begun[line.stream] = stream
                yield replace(line, text=_fitting(text))


def _fitting(text: str) -> str:
    """Shorten a line that has become too long, since a mask may be longer than its secret."""
    encoded = text.encode()
    if len(encoded) <= stream_line.MAX_LINE_BYTES:
        return text
    return encoded[: stream_line.MAX_LINE_BYTES].decode(errors="ignore")


def _shown_texts(manifest: RenderedManifest) -> Iterator[tuple[str, str]]:
    """Yield the texts of a manifest that must not be secret, with their paths."""
    whole = manifest.as_json()
    resources: JsonObject = {
        path: resource.as_json() | {"config": None} for path, resource in manifest.resources.items()
    }
    # The server seals notes, values, inputs and outputs as it seals configs.
    charts: JsonObject = {
        path: chart.as_json() | {"inputs": None, "outputs": None, "notes": None, "values": None}
        for path, chart in manifest.charts.items()
    }
    for name, document in (("plugs", whole["plugs"]), ("resources", resources), ("charts", charts)):
        yield from _texts(name, document)


def _texts(field: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield field, value
        case dict():
            for key, item in value.items():
                yield field, key
                yield from _texts(parse.child(field, key), item)
        case list():
            for index, item in enumerate(value):
                yield from _texts(parse.child(field, index), item)
