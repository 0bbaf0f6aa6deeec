"""Reads a manifest that handlers have changed.

A late text is still late at its place if it is unchanged, and nowhere else. All other new texts are data: a handler
cannot write expressions. A handler that moved a late text to another place gets an error, because the text would not be
evaluated there.
"""

import re
from collections.abc import Iterator, Mapping

from tinkwell.core import errors
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.rendered import MAX_CONFIG_BYTES, MAX_EDGES, MAX_RESOURCES, RenderedManifest
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

_MOVED = "holds an expression that is evaluated later, where it stood before; leave it there, or write a value"


def read(former: RenderedManifest, given: JsonObject) -> RenderedManifest:
    """Read the manifest, without charts, that a handler returned; raises `errors.InvalidField` with all faults."""
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    documents = _documents(former.as_json())
    now = _documents(given)
    late = dict(_all_late(former))
    moved = frozenset(text for key, each in late.items() for text in _texts_at(documents[key], each).values())
    kept: dict[tuple[str, ...], JsonObject] = {}
    for key, found in now.items():
        before = documents.get(key)
        still = _kept(late[key], before, found) if key in late else Late()
        if still.pointers:
            kept[key] = still.as_json()
        for pointer in _moved("", found, before, moved) if moved else ():
            checks.refuse(name.locate(_field(key), found, pointer)[0], _MOVED)
    checks.finish()
    manifest = RenderedManifest.from_json(
        given,
        {
            "resources": {key[1]: each for key, each in kept.items() if key[0] == "resources"},
            "outputs": kept.get(("outputs",), {}),
        },
    )
    _check_size(manifest)
    return manifest


def _documents(manifest: JsonObject) -> dict[tuple[str, ...], JsonValue]:
    """Return the configs of resources and the outputs of a manifest as JSON; parts of a wrong form are left out."""
    resources = manifest.get("resources")
    found: dict[tuple[str, ...], JsonValue] = {
        ("resources", path): resource.get("config", {})
        for path, resource in (resources.items() if isinstance(resources, dict) else ())
        if isinstance(resource, dict)
    }
    return found | {("outputs",): manifest.get("outputs", {})}


def _all_late(manifest: RenderedManifest) -> Iterator[tuple[tuple[str, ...], Late]]:
    for path, resource in manifest.resources.items():
        if resource.late.pointers:
            yield ("resources", path), resource.late
    if manifest.late_outputs.pointers:
        yield ("outputs",), manifest.late_outputs


def _texts_at(value: JsonValue, late: Late) -> dict[str, str]:
    """Return the late texts of a document by their pointers; missing ones are left out."""
    found: dict[str, str] = {}
    for pointer in late.pointers:
        try:
            _, text = name.locate("", value, pointer)
        except errors.InvalidField:
            continue
        if isinstance(text, str):
            found[pointer] = text
    return found


def _kept(late: Late, before: JsonValue, now: JsonValue) -> Late:
    """Return the texts of a document that are still late, with the names that they need."""
    former, found = _texts_at(before, late), _texts_at(now, late)
    texts = {pointer: text for pointer, text in former.items() if found.get(pointer) == text}
    return Late(
        pointers=tuple(texts),
        names={root: target for root, target in late.names.items() if _is_named(root, texts)},
        each=late.each if _is_named("each", texts) else None,
    )


def _is_named(root: str, texts: Mapping[str, str]) -> bool:
    word = re.compile(rf"\b{re.escape(root)}\b")
    return any(word.search(text) for text in texts.values())


def _moved(pointer: str, now: JsonValue, before: JsonValue, late: frozenset[str]) -> Iterator[str]:
    """Yield the texts that are new at their places and contain a text that is late elsewhere."""
    match now:
        case str():
            if now != before and any(text in now for text in late):
                yield pointer
        case dict():
            former = before if isinstance(before, dict) else {}
            for key, item in now.items():
                yield from _moved(name.pointer_child(pointer, key), item, former.get(key), late)
        case list():
            items = before if isinstance(before, list) else []
            for index, item in enumerate(now):
                former_item = items[index] if index < len(items) else None
                yield from _moved(name.pointer_child(pointer, index), item, former_item, late)


def _field(key: tuple[str, ...]) -> str:
    return key[0] if len(key) == 1 else f"{parse.child(*key)}.config"


def _check_size(manifest: RenderedManifest) -> None:
    checks = check.Checks()
    edges = sum(len(resource.prerequisites) for resource in manifest.resources.values())
    for what, found, most in (
        ("resources", len(manifest.resources), MAX_RESOURCES),
        ("dependencies", edges, MAX_EDGES),
    ):
        if found > most:
            checks.refuse("resources", f"has {found:,} {what}; at most {most:,} are allowed")
    for path, resource in manifest.resources.items():
        at = f"{parse.child('resources', path)}.config"
        size = len(document.dump_json(resource.config).encode())
        if size > MAX_CONFIG_BYTES:
            checks.refuse(at, f"has {size:,} bytes; at most {MAX_CONFIG_BYTES:,} are allowed")
    checks.finish()
