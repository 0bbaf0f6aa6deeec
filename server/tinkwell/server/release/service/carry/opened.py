"""Puts the sealed parts of an operation's documents back into them, for the owner of the operation."""

import dataclasses
from collections.abc import Mapping
from typing import cast

from tinkwell.core.release.record import Resource, Step
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonValue
from tinkwell.server.release.store.document import OF_RESOURCE
from tinkwell.server.secret.service.operations import Opened


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OpenedWork:
    """The opened secrets of an operation, of its revision, its release, and its plan, by document.

    `texts` are all secret texts of the operation. `has_source`: the source is the operation's own.
    """

    texts: frozenset[str] = dataclasses.field(default=frozenset(), repr=False)
    own: Mapping[str, Opened] = dataclasses.field(default_factory=dict)
    revision: Mapping[str, Opened] = dataclasses.field(default_factory=dict)
    release: Mapping[str, Opened] = dataclasses.field(default_factory=dict)
    plan: Mapping[str, Opened] = dataclasses.field(default_factory=dict)
    has_source: bool = False

    def document(self, name: str, text: str) -> str:
        """Return a document with its secrets. It is given as it is stored. Both are JSON texts."""
        if name == "expected":
            return _restored(text, self.plan.get("result"))
        sealed = self.own if name == "source" and self.has_source else self.revision
        return _restored(text, sealed.get(name))

    def step(self, step: Step) -> Step:
        """Return a step with all of its arguments."""
        opened = self.own.get(f"args/{step.id}")
        if step.args is None or opened is None:
            return step
        places = {place for place, _ in opened.values}
        stored: list[JsonValue] = [None if f"/{index}" in places else arg for index, arg in enumerate(step.args)]
        return dataclasses.replace(step, args=tuple(cast("list[str]", opened.restore(stored))))

    def resource(self, resource: Resource) -> Resource:
        """Return a resource with its documents complete."""
        init, config, state = (
            _restored(getattr(resource, name), self.release.get(f"{name}/{resource.path}")) for name in OF_RESOURCE
        )
        return dataclasses.replace(resource, init=init, config=config, state=state)


def _restored(text: str, opened: Opened | None) -> str:
    if opened is None or not opened.values:
        return text
    stored = document.parse_json("", text, max_bytes=len(text.encode()))
    return document.dump_json(opened.restore(stored))
