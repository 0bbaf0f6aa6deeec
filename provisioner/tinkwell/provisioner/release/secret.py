"""What is secret in one operation: learned from all that says so, and kept out of all that is shown.

Secrets are written to the input of containers and nowhere else. Messages, causes, the names of steps, their output and
the log of this process are masked here. Documents and arguments go to the server as they are, which seals them.

A text is secret from the moment when it is learned: what was told or printed before stays as it was.
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
    """The texts that are secret in an operation. It is to be closed when nothing more is said about that."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = frozenset(texts)
        self._masker = Masker(self._texts)
        self._turn = asyncio.Lock()
        self._leave_log = redaction.also(self.mask)

    def close(self) -> None:
        """Let the log of this process be."""
        self._leave_log()

    async def learn(self, field: str, document: JsonValue, pointers: Iterable[str]) -> frozenset[str]:
        """Learn what is secret at the pointers of a document, and return it.

        Raises `errors.InvalidField`, with paths below `field`, for what cannot be told from ordinary text.
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
        """Learn what is secret in configs as far as they are evaluated; `declared` are the images' pointers by path.

        Raises `errors.InvalidField`.
        """
        configs: JsonObject = {path: resource.as_json() for path, resource in resources.items()}
        late: JsonObject = {path: resource.late.as_json() for path, resource in resources.items()}
        places = sensitive.of_rendered({"resources": configs}, {"resources": late}, declared)
        await self.learn("", {"resources": configs}, places.secret)

    def check(self, manifest: RenderedManifest) -> None:
        """Raise `errors.InvalidField` where a manifest has a secret in what is shown, such as a resource's name."""
        checks = check.Checks()
        for field, text in _shown_texts(manifest):
            if self.finds(text):
                checks.refuse(field, _SHOWN)
        checks.finish()

    def check_shown(self, field: str, text: str) -> None:
        """Raise `errors.InvalidField` where a text that is shown holds a secret."""
        if self.finds(text):
            raise errors.InvalidField.of(field, _SHOWN)

    def finds(self, text: str) -> bool:
        """Return whether a text holds a secret."""
        return bool(self._texts) and self._masker.finds(text)

    def mask(self, text: str) -> str:
        """Return a text without secrets; one that was shortened may end with a part of one."""
        return self._masker.mask_excerpt(text) if self._texts else text

    def mask_json(self, value: JsonValue) -> JsonValue:
        """Return a value without secrets, also in its keys."""
        return self._masker.mask_json(value) if self._texts else value

    def mask_report(self, report: Report) -> Report:
        """Return a report without secrets in what is shown of it."""
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
        # Masks may be longer than what they stand for.
        return release_report.fitting(self.mask(message))

    def masked(self, run: output_shipper.Source) -> output_shipper.Source:
        """Return the output of a run without secrets."""
        return _Masked(run, self)

    def stream(self) -> MaskedStream:
        """Begin a text that comes in pieces."""
        return self._masker.stream()


@dataclass(frozen=True, slots=True)
class _Masked:
    """The output of a run, of which each line keeps its number."""

    run: output_shipper.Source
    secrets: Secrets

    @property
    def key(self) -> RunKey:
        """Whose output it is."""
        return self.run.key

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the lines; in those that were cut because they are too long a secret may be cut as well."""
        begun: dict[LogStream, MaskedStream] = {}
        async with contextlib.aclosing(self.run.lines()) as lines:
            async for line in lines:
                if line.is_note:  # what follows does not go on with what came before
                    begun.clear()
                if line.is_open and line.stream in begun:  # what it goes on with is still needed for what it becomes
                    continue
                stream = begun.pop(line.stream, None) or self.secrets.stream()
                text = stream.feed(line.text) + (stream.cut() if line.is_cut or line.is_open else stream.flush())
                if line.is_cut:
                    begun[line.stream] = stream
                yield replace(line, text=_fitting(text))


def _fitting(text: str) -> str:
    """Shorten a line that masks, which may be longer than what they stand for, have made longer than lines may be."""
    encoded = text.encode()
    if len(encoded) <= stream_line.MAX_LINE_BYTES:
        return text
    return encoded[: stream_line.MAX_LINE_BYTES].decode(errors="ignore")


def _shown_texts(manifest: RenderedManifest) -> Iterator[tuple[str, str]]:
    """Yield the texts of a manifest that are no part of what may be secret, with their paths."""
    whole = manifest.as_json()
    resources: JsonObject = {
        path: resource.as_json() | {"config": None} for path, resource in manifest.resources.items()
    }
    # Notes, values and what charts are given are sealed as configs are.
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
