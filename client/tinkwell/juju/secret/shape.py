"""Describes secrets as Juju writes them."""

import re
from typing import TYPE_CHECKING, Any

from tinkwell.core.unit.kinds import Rotation
from tinkwell.juju.shell import moment

if TYPE_CHECKING:
    from tinkwell.client import Secret, SecretGranted, SecretRevision

# The owner of a user's secret, as Juju writes it.
MODEL = "<model>"
_URI = re.compile(r"secret:(?://[^/\s]+/)?")


def name(identifier: str) -> str:
    """Return the name or the label in a URI, or a plain name unchanged."""
    return _URI.sub("", identifier.strip(), count=1)


def uri(secret: "Secret") -> str:
    """Return the URI by which charms and people name a secret."""
    return f"secret:{secret.name}"


def whole(secret: "Secret", *, has_grants: bool = False, has_revisions: bool = False) -> dict[str, Any]:
    """Describe a secret without its content. Empty fields are left out."""
    newest = next((each for each in secret.revisions if each.revision == secret.latest), None)
    found: dict[str, Any] = {
        "revision": secret.latest,
        "expires": moment.iso(newest.expires_at) if newest is not None else "",
        "rotation": secret.rotation.lower() if secret.rotation is not Rotation.NEVER else "",
        "rotates": moment.iso(secret.rotates_at),
        "owner": secret.owner or MODEL,
        "description": secret.description,
        # Juju shows the label of a user's secret as its name.
        "label" if secret.owner else "name": secret.label,
        "created": moment.iso(secret.created_at),
        "updated": moment.iso(newest.created_at if newest is not None else secret.created_at),
        "revisions": [_revision(each) for each in secret.revisions] if has_revisions else [],
        "access": [_access(each) for each in secret.grants] if has_grants else [],
    }
    return {key: value for key, value in found.items() if value not in ("", [])}


def is_owned(secret: "Secret", owner: str) -> bool:
    """Tell whether a secret belongs to an owner, which may be written as a tag: unit-web-0, application-web."""
    if secret.owner == owner or (not secret.owner and (owner == MODEL or owner.startswith("model-"))):
        return True
    application, _, number = secret.owner.rpartition("/")
    tag = f"unit-{application}-{number}" if application else f"application-{secret.owner}"
    return bool(secret.owner) and owner == tag


def _revision(revision: "SecretRevision") -> dict[str, Any]:
    found = {
        "revision": revision.revision,
        "backend": "internal",
        "created": moment.iso(revision.created_at),
        # A revision never changes, so it was updated when it was created.
        "updated": moment.iso(revision.created_at),
        "expires": moment.iso(revision.expires_at),
    }
    return {key: value for key, value in found.items() if value != ""}


def _access(grant: "SecretGranted") -> dict[str, str]:
    target = f"unit-{grant.unit.replace('/', '-')}" if grant.unit else f"application-{grant.application}"
    return {"target": target, "scope": f"relation-{grant.relation}" if grant.relation else "model", "role": "view"}
