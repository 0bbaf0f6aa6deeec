"""The plan that an operation applies, with which the operation compares its own findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.preview import applying, making
from tinkwell.core.release.preview.model import Preview, PreviewNode
from tinkwell.core.release.report import Call
from tinkwell.provisioner.release.preview.digest import digest_of
from tinkwell.provisioner.release.secret import Secrets

STALE_MANIFEST = "what comes of the chart or the manifests now is not what the plan was made for; make a new plan"


@dataclass(frozen=True, slots=True)
class Expected:
    """A plan that is applied."""

    digest: str
    nodes: Mapping[str, PreviewNode]
    secrets: Secrets

    @classmethod
    def load(cls, text: str, secrets: Secrets) -> "Expected | None":
        """Read the result of a plan; None if the operation applies no plan. Raises `errors.InvalidField`."""
        if not text:
            return None
        preview = Preview.load(text, field="expected")
        return cls(preview.digest, applying.by_path(preview), secrets)

    def is_of(self, manifest: RenderedManifest | None) -> bool:
        """Return whether the plan was made for this manifest."""
        return digest_of(manifest, self.secrets) == self.digest

    def check_actions(self, path: str, actions: Sequence[Call]) -> None:
        """Raise `errors.InvalidField` if the resource now needs actions that the plan does not list."""
        listed = [making.planned(action, self.secrets.mask) for action in actions]
        if problem := applying.problem(self.nodes, path, listed):
            raise errors.InvalidField.of("", problem)
