"""The secrets of releases. The fake server keeps them in clear, and shows them only to holders of operations."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tinkwell.client.release.model import Resource
from tinkwell.core.release import sensitive
from tinkwell.core.release.report import Report, ResourceReport
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret.mask import MASK, Masker


class Secrets:
    """The secret texts of releases, by the ids of the releases."""

    def __init__(self) -> None:
        self._texts: dict[str, frozenset[str]] = {}

    def learn(self, release_id: str, texts: Iterable[str]) -> None:
        """Hide texts from now on. Raises `errors.InvalidField` if there are too many."""
        known = self.texts(release_id).union(texts)
        Masker(known)
        self._texts[release_id] = known

    def learn_manifest(self, release_id: str, manifest: str, late: str, declared: Mapping[str, Iterable[str]]) -> None:
        """Hide the sensitive values of a manifest, including those at pointers that images have named."""
        document = json.loads(manifest)
        places = sensitive.of_rendered(document, json.loads(late or "{}"), declared)
        self.learn(release_id, secret_document.texts_at("manifest", document, places.secret))

    def learn_reports(self, release_id: str, reports: Iterable[Report]) -> None:
        """Hide the values that reports call secret."""
        for each in reports:
            if isinstance(each, ResourceReport):
                self.learn(release_id, each.secrets)
                for name, text in (("config", each.config), ("state", each.state)):
                    self.learn(release_id, secret_document.texts_at(name, json.loads(text or "null"), each.sensitive))

    def texts(self, release_id: str) -> frozenset[str]:
        """Return the secret texts of a release."""
        return self._texts.get(release_id, frozenset())

    def shown(self, release_id: str, document: Any) -> Any:
        """Return a document with its secrets hidden."""
        return secret_document.extract(document, masker=Masker(self.texts(release_id))).document

    def shown_args(self, release_id: str, args: Sequence[str]) -> list[str]:
        """Return arguments with their secrets hidden."""
        masker = Masker(self.texts(release_id))
        return [MASK if masker.finds(arg) else arg for arg in args]


def declared(resources: Iterable[Resource]) -> dict[str, list[str]]:
    """Return the pointers that images have named, by the paths of their resources."""
    found = {each.path: (each.init or {}).get("tinkwell", {}).get("sensitive", []) for each in resources}
    return {path: pointers for path, pointers in found.items() if pointers}
