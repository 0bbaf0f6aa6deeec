"""Documents of releases as values: read, written, compared, and searched for secrets."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

from tinkwell.core import errors
from tinkwell.core.release import sensitive
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.report import ResourceReport
from tinkwell.core.secret import document as secret_document
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.server.secret.service.operations import Document, masker_of


def with_places(
    documents: Mapping[str, Document], declared: Mapping[str, Sequence[str]]
) -> tuple[Mapping[str, Document], frozenset[str]]:
    """Return the documents of a revision with the sensitive values of its manifest, and their texts."""
    manifest, late = documents["manifest"], documents["late"]
    places = sensitive.of_rendered(as_object(manifest.value), as_object(late.value), declared)
    texts = secret_document.texts_at("manifest", manifest.value, places.secret)
    marked = dataclasses.replace(manifest, sensitive=places.secret, hidden=places.hidden)
    return {**documents, "manifest": marked}, texts


def are_same(first: Mapping[str, Document], second: Mapping[str, Document]) -> bool:
    """Return whether the documents of two revisions have the same effect."""
    return first.keys() == second.keys() and all(
        document.is_same(_weighed(each.value), _weighed(second[name].value)) for name, each in first.items()
    )


def _weighed(value: JsonValue) -> JsonValue:
    """Return a document without the parts that have no effect."""
    return {key: item for key, item in value.items() if key != "strict"} if isinstance(value, dict) else value


def check_paths(plan: Plan, known: frozenset[str]) -> None:
    """Raise `errors.InvalidField` for a plan whose paths contain a secret."""
    masker = masker_of(known) if known else None
    for node in plan.nodes:
        if masker is not None and masker.finds(node.path):
            why = "has a resource whose name holds a secret; names are shown, so name it otherwise"
            raise errors.InvalidField.of("plan", why)


def texts_of(reports: Sequence[ResourceReport]) -> frozenset[str]:
    """Return the texts that reports declare as secret."""
    texts: set[str] = set()
    for told in reports:
        texts.update(told.secrets)
        given = parse({name: text for name in ("config", "state") if (text := getattr(told, name))})
        for name, value in given.items():
            texts |= secret_document.texts_at(name, value, told.sensitive)
    return frozenset(texts)


def parse(texts: Mapping[str, str]) -> dict[str, JsonValue]:
    """Read JSON texts. An empty text becomes null."""
    return {
        name: document.parse_json(name, text, max_bytes=len(text.encode())) if text else None
        for name, text in texts.items()
    }


def dump(values: Mapping[str, JsonValue]) -> dict[str, str]:
    """Write JSON texts."""
    return {name: document.dump_json(value) for name, value in values.items()}


def arguments(text: str) -> Sequence[str | None]:
    """Read the arguments of a step. A sealed argument is None."""
    return cast("list[str | None]", document.parse_json("args", text))


def as_object(value: JsonValue) -> JsonObject:
    """Return an object unchanged, and an empty object for any other value."""
    return value if isinstance(value, dict) else {}
