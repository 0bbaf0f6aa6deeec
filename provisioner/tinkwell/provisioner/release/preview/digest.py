"""The digest by which a plan recognizes its manifest."""

from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.preview import making
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonValue
from tinkwell.provisioner.release.secret import Secrets


def digest_of(manifest: RenderedManifest | None, secrets: Secrets) -> str:
    """Return the digest of a manifest whose secrets must be known.

    Secrets are not part of the digest, since a reader of the digest could guess a secret and compare.
    """
    given: JsonValue = None
    if manifest is not None:
        given = {"manifest": manifest.as_json(), "late": manifest.late_as_json()}
    return making.digest_of(document.dump_json(secrets.mask_json(given)))
