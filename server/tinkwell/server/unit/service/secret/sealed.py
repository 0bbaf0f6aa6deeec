"""The content of secrets: sealed beside their revisions, and opened for authorized readers."""

from collections.abc import Mapping

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.server.secret.seal import Owner
from tinkwell.server.secret.service.operations import Document, SecretService

# The name of the table whose rows own the sealed content.
KIND = "secret_revision"
_CONTENT = "content"
# The pointer to the whole document.
_ALL = ("",)


async def put(
    sealing: SecretService, connection: AsyncConnection, secret_id: str, revision: int, content: Mapping[str, str]
) -> None:
    """Seal the content of a new revision. Raises `errors.SecretsDisabled`."""
    await sealing.seal(connection, _owner(secret_id, revision), {_CONTENT: Document(dict(content), hidden=_ALL)})


async def get(sealing: SecretService, connection: AsyncConnection, secret_id: str, revision: int) -> Mapping[str, str]:
    """Return the content of a revision.

    Raises `errors.SecretsDisabled` if its key is missing, or if it was deleted together with its key.
    """
    opened = (await sealing.open(connection, _owner(secret_id, revision))).get(_CONTENT)
    content = opened.restore(None) if opened is not None else None
    if not isinstance(content, dict):
        raise errors.SecretsDisabled(f"the key is lost that has sealed revision {revision}; give it a new one")
    return {key: value for key, value in content.items() if isinstance(value, str)}


def _owner(secret_id: str, revision: int) -> Owner:
    return Owner(KIND, f"{secret_id}/{revision}")
