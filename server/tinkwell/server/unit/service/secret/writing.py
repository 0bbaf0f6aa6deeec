"""Stores the secrets that `drafting` has computed from the effects of an event or a task."""

from collections.abc import Sequence

from tinkwell.core.unit.effect import SecretGrant
from tinkwell.core.unit.kinds import Rotation
from tinkwell.server.database.database import Transaction
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.secret import sealed
from tinkwell.server.unit.service.secret.drafting import Draft, Drafts
from tinkwell.server.unit.store.secret import effect as store


async def write(
    transaction: Transaction, unit_id: str, drafts: Drafts, sealing: SecretService
) -> Sequence[tuple[str, int]]:
    """Store secrets, and return the revisions with a new expiry, by the ids of their secrets.

    Raises `errors.SecretsDisabled` and `LookAgain`.
    """
    renewed: list[tuple[str, int]] = []
    # Labels are freed first, because a label may move from one secret to another.
    await _free_labels(transaction, unit_id, drafts)
    for _, draft in sorted(drafts.all.items()):
        if draft.is_removed:
            continue
        secret_id = await _write(transaction, unit_id, draft)
        if draft.content is not None:
            await store.add_revision(transaction, secret_id, draft.latest, draft.expires_at)
            await sealed.put(sealing, transaction.connection, secret_id, draft.latest, draft.content)
        elif draft.expires_at is not None:
            await store.expire(transaction, secret_id, draft.latest, draft.expires_at)
            renewed.append((secret_id, draft.latest))
        await _write_grants(transaction, secret_id, draft)
        await _write_reading(transaction, unit_id, secret_id, draft)
    return renewed


async def renew(transaction: Transaction, renewed: Sequence[tuple[str, int]]) -> None:
    """Make owners hear of new expiries. This runs after the ledger of the unit is written."""
    for secret_id, revision in renewed:
        await store.renew(transaction, secret_id, revision)


async def _free_labels(transaction: Transaction, unit_id: str, drafts: Drafts) -> None:
    """Remove the secrets that the effects remove, and free the labels that other secrets get."""
    kept = []
    for _, draft in sorted(drafts.all.items()):
        if not draft.is_removed:
            kept.append(draft)
        elif draft.stored is not None:
            await store.drop(transaction, draft.stored.id)
    wanted, own_wanted = ({each.label for each in kept} - {""}, {each.own_label for each in kept} - {""})
    stored = [(each, each.stored) for each in kept if each.stored is not None]
    freed = [found.id for each, found in stored if each.label not in (None, found.label) and found.label in wanted]
    own_freed = [
        found.id
        for each, found in stored
        if each.own_label not in (None, found.own_label) and found.own_label in own_wanted
    ]
    if freed:
        await store.free_labels(transaction, freed)
    if own_freed:
        await store.free_own_labels(transaction, unit_id, own_freed)


async def _write(transaction: Transaction, unit_id: str, draft: Draft) -> str:
    if draft.stored is None:
        return await store.insert(
            transaction,
            unit_id,
            draft.name,
            is_application=draft.is_application,
            label=draft.label or "",
            description=draft.description or "",
            rotation=draft.rotation or Rotation.NEVER,
        )
    if draft.is_changed:
        await store.update(
            transaction,
            draft.stored.id,
            label=draft.label,
            description=draft.description,
            rotation=draft.rotation,
            latest=draft.latest,
        )
    if draft.removed:
        await store.drop_revisions(transaction, draft.stored.id, sorted(draft.removed))
    return draft.stored.id


async def _write_grants(transaction: Transaction, secret_id: str, draft: Draft) -> None:
    for each in draft.grants:
        change = store.grant if isinstance(each, SecretGrant) else store.revoke
        await change(transaction, secret_id, each.relation, each.application, each.unit)


async def _write_reading(transaction: Transaction, unit_id: str, secret_id: str, draft: Draft) -> None:
    if draft.own_label is not None:
        await store.set_label(transaction, secret_id, unit_id, draft.own_label)
    former = draft.stored.tracked if draft.stored is not None else 0
    if draft.tracked and former and former != draft.tracked:
        await store.leave(transaction, secret_id, former, unit_id)
