"""Secrets of a world: who may read and change them, what effects change, and when they end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tinkwell.core import errors
from tinkwell.core.unit import effect
from tinkwell.core.unit import name as names
from tinkwell.core.unit import secret as rule
from tinkwell.core.unit.kinds import Life, Membership
from tinkwell.core.unit.ledger import NEVER_READ, Ledger
from tinkwell.core.unit.view import RevisionView, SecretView, View
from tinkwell.core.unit.world import log, secret_label
from tinkwell.core.unit.world.state import Granted, Relation, Revision, Secret, State, Unit
from tinkwell.core.value import parse

# Changes by the owner; if the owner is an application, only its leader may make them.
_Change = effect.SecretSet | effect.SecretGrant | effect.SecretRevoke | effect.SecretRemove


def views(state: State, unit: Unit, *, leads: bool) -> dict[str, SecretView]:
    """Return the view of the secrets that a unit owns or has read, by id."""
    return {
        each.name: _view(state, unit, each, leads=leads)
        for each in state.secrets.values()
        if is_owner(each, unit, leads=leads) or _tracked(unit.ledger, each)
    }


def _view(state: State, unit: Unit, secret: Secret, *, leads: bool) -> SecretView:
    used = {_tracked(each.ledger, secret) for each in _readers(state, secret)} | {secret.latest}
    now = state.clock()
    return SecretView(
        id=secret.name,
        latest=secret.latest,
        revisions={
            number: RevisionView(
                is_expired=each.expires_at is not None and each.expires_at <= now, is_used=number in used
            )
            for number, each in secret.revisions.items()
        },
        is_owner=is_owner(secret, unit, leads=leads),
        is_granted=may_read(state, unit, secret),
        is_rotation_due=secret.rotates_at is not None and secret.rotates_at <= now,
    )


def _readers(state: State, secret: Secret) -> Iterator[Unit]:
    """Yield the units that may read a secret without owning it."""
    for unit in state.units.values():
        leads = state.applications[unit.application].leader == unit.name
        if unit.life is not Life.DEAD and not is_owner(secret, unit, leads=leads) and may_read(state, unit, secret):
            yield unit


def _tracked(ledger: Ledger, secret: Secret) -> int:
    told = ledger.secrets.get(secret.name)
    return told.tracked if told else 0


def is_owner(secret: Secret, unit: Unit, *, leads: bool) -> bool:
    """Whether a unit may change a secret: its own, or its application's if the unit leads."""
    return secret.owner == unit.name or (secret.owner == unit.application and leads)


def may_read(state: State, unit: Unit, secret: Secret) -> bool:
    """Whether a unit may read a secret: its own, its application's, or one that was granted to it."""
    if secret.owner in (unit.name, unit.application):
        return True
    return any(_holds(state, unit, each) for each in secret.grants)


def _holds(state: State, unit: Unit, granted: Granted) -> bool:
    """Whether a grant lets a unit read: a grant ends with its relation, and for a unit that has broken the relation."""
    if granted.application != unit.application or granted.unit not in ("", unit.name):
        return False
    if not granted.relation:
        return True
    relation, told = state.relations.get(granted.relation), unit.ledger.relations.get(granted.relation)
    member = relation.members.get(unit.name) if relation is not None else None
    is_member = member is not None and member.membership is not Membership.LEFT
    return is_member and not (told is not None and told.broken)


def find(state: State, unit: Unit, *, name: str = "", label: str = "") -> Secret:
    """Return a secret by its id, or by the label that the unit or its owner gave it; raises NotFound."""
    for each in state.secrets.values():
        if name and each.name == name:
            return each
        owns = each.owner in (unit.name, unit.application)
        if not name and label and ((owns and each.label == label) or unit.labels.get(each.name) == label):
            return each
    raise errors.NotFound("SECRET", name or f"labelled {parse.show(label)}")


def create(state: State, name: str, *, content: Mapping[str, str], label: str = "", description: str = "") -> Secret:
    made = Secret(
        id=state.new_id(f"secret {name}"),
        name=name,
        owner="",
        label=label,
        description=description,
        revisions={1: Revision(dict(content))},
    )
    state.secrets[name] = made
    log.write_secret(state, made, log.CREATED)
    return made


def update(state: State, secret: Secret, edit: effect.SecretSet) -> None:
    """Change a user's secret; new content makes a new revision."""
    _set(state, secret, edit, set())
    log.write_secret(state, secret)


def let_read(state: State, secret: Secret, application: str) -> None:
    """Grant a user's secret to the units of an application."""
    if Granted(0, application) not in secret.grants:
        secret.grants.add(Granted(0, application))
        log.write_secret(state, secret)


def take_back(state: State, secret: Secret, application: str) -> None:
    """Take back the grant of a user's secret from the units of an application."""
    if Granted(0, application) in secret.grants:
        secret.grants.remove(Granted(0, application))
        log.write_secret(state, secret)


def read(state: State, unit: Unit, *, name: str = "", label: str = "", revision: int = 0) -> tuple[Secret, int]:
    """Return a secret that a unit reads, and the revision; 0 means the newest one.

    Raises NotFound if there is no such secret or revision, or the unit may not read it.
    """
    found = find(state, unit, name=name, label=label)
    if not may_read(state, unit, found):
        raise errors.NotFound("SECRET", name or f"labelled {parse.show(label)}")
    number = revision or found.latest
    if number not in found.revisions:
        raise errors.NotFound("SECRET", f"{found.name} in revision {number}")
    return found, number


def check(state: State, unit: Unit, edits: Sequence[effect.SecretEffect], view: View) -> None:
    """Raise CommitRefused if a unit may not make these changes to secrets."""
    added: dict[str, effect.SecretAdd] = {}
    labels = secret_label.Labels.of(state, unit, leads=view.leads)
    for index, edit in enumerate(edits):
        field = f"effects.secrets[{index}]"
        try:
            _check(state, unit, edit, view, added, field)
            labels.check(edit, field)
        except errors.InvalidField as error:
            raise errors.CommitRefused(error.violations) from error
        if isinstance(edit, effect.SecretAdd):
            added[edit.id] = edit


def _check(
    state: State, unit: Unit, edit: effect.SecretEffect, view: View, added: dict[str, effect.SecretAdd], field: str
) -> None:
    match edit:
        case effect.SecretAdd():
            rule.parse_id(f"{field}.id", edit.id)
            rule.parse_content(f"{field}.content", edit.content)
            if edit.id in state.secrets or edit.id in added:
                raise errors.InvalidField.of(f"{field}.id", f"there is a secret {edit.id} already; draw another id")
        case effect.SecretTrack():
            known = state.secrets.get(edit.id)
            if edit.id not in added and (known is None or not may_read(state, unit, known)):
                raise errors.InvalidField.of(f"{field}.id", f"the unit may not read a secret {edit.id}")
        case _:
            known = state.secrets.get(edit.id)
            if edit.id not in added and (known is None or not is_owner(known, unit, leads=view.leads)):
                raise errors.InvalidField.of(f"{field}.id", f"the unit owns no secret {edit.id}")
            _check_change(state, unit, edit, field)


def _check_change(state: State, unit: Unit, edit: _Change, field: str) -> None:
    known = state.secrets.get(edit.id)
    match edit:
        case effect.SecretSet():
            if edit.content is not None:
                rule.parse_content(f"{field}.content", edit.content)
        case effect.SecretGrant():
            _check_grant(unit, edit, state.relations.get(edit.relation), field)
        case effect.SecretRemove() if edit.revision and known and [*known.revisions] != [edit.revision]:
            _check_removal(known, edit.revision, field)
        case _:
            pass


def _check_grant(unit: Unit, edit: effect.SecretGrant, relation: Relation | None, field: str) -> None:
    told = unit.ledger.relations.get(edit.relation)
    is_in = unit.running is not None and unit.running.event.relation == edit.relation
    is_in = is_in or (told is not None and not told.broken)
    if relation is None or unit.application not in relation.ends or not is_in:
        raise errors.InvalidField.of(f"{field}.grant.relation", f"the unit is not in a relation {edit.relation}")
    other = relation.other(unit.application)
    application = edit.application or names.application_of(edit.unit) or other
    if application != other or (edit.unit and edit.unit not in relation.members):
        what = parse.show(edit.unit or application)
        raise errors.InvalidField.of(f"{field}.grant", f"{what} is not on the other side of that relation")


def _check_removal(known: Secret, revision: int, field: str) -> None:
    if revision not in known.revisions:
        text = f"secret {known.name} has no revision {revision}"
        raise errors.InvalidField.of(f"{field}.remove.revision", text)
    if revision == known.latest:
        text = f"{revision} is the newest one; remove the whole secret, or give it another revision first"
        raise errors.InvalidField.of(f"{field}.remove.revision", text)


def writes_application(state: State, unit: Unit, edits: Sequence[effect.SecretEffect]) -> bool:
    """Whether an effect changes a secret of the unit's application, which only the leader may do."""
    for edit in edits:
        if isinstance(edit, effect.SecretAdd):
            if edit.is_application:
                return True
            continue
        known = state.secrets.get(edit.id)
        if known is None or known.owner != unit.application:
            continue
        # A unit that does not lead has its own label for the secret, as every reader has.
        if not isinstance(edit, effect.SecretTrack) or (edit.label is not None and _is_owner(state, known, unit)):
            return True
    return False


def write(state: State, unit: Unit, edits: Sequence[effect.SecretEffect]) -> dict[str, int]:
    """Write effects that were checked, in order, and return the revisions that the unit reads from now on.

    All contents that one event sets make one revision.
    """
    tracked: dict[str, int] = {}
    begun: set[str] = set()
    changed: dict[str, str] = {}
    for edit in edits:
        match edit:
            case effect.SecretAdd():
                _add(state, unit, edit)
                begun.add(edit.id)
                changed[edit.id] = log.CREATED
            case effect.SecretTrack():
                if edit.label is not None:
                    _label(state, unit, edit.id, edit.label)
                if edit.revision:
                    tracked[edit.id] = edit.revision
            case _ if edit.id in state.secrets:
                changed.setdefault(edit.id, log.UPDATED)
                _change(state, unit, edit, begun)
            case _:
                pass
    for name, what in changed.items():
        if name in state.secrets:
            log.write_secret(state, state.secrets[name], what)
    return tracked


def _is_owner(state: State, secret: Secret, unit: Unit) -> bool:
    return is_owner(secret, unit, leads=state.applications[unit.application].leader == unit.name)


def _label(state: State, unit: Unit, name: str, label: str) -> None:
    """Set a reader's label of a secret; an owner's label is stored with the secret."""
    secret = state.secrets.get(name)
    if secret is not None and _is_owner(state, secret, unit):
        secret.label = label
        log.write_secret(state, secret)
    else:
        unit.labels[name] = label


def _add(state: State, unit: Unit, edit: effect.SecretAdd) -> None:
    owner = unit.application if edit.is_application else unit.name
    state.secrets[edit.id] = Secret(
        id=state.new_id(f"secret {edit.id}"),
        name=edit.id,
        owner=owner,
        label=edit.label,
        description=edit.description,
        rotation=edit.rotation,
        rotates_at=edit.rotation.next_after(state.clock()),
        revisions={1: Revision(dict(edit.content), edit.expires_at)},
    )


def _change(state: State, unit: Unit, edit: _Change, begun: set[str]) -> None:
    secret = state.secrets[edit.id]
    match edit:
        case effect.SecretSet():
            _set(state, secret, edit, begun)
        case effect.SecretGrant():
            other = state.relations[edit.relation].other(unit.application)
            secret.grants.add(Granted(edit.relation, other, edit.unit))
        case effect.SecretRevoke():
            secret.grants = {each for each in secret.grants if not _fits(each, edit)}
        case effect.SecretRemove():
            remove(state, secret, edit.revision)


def _set(state: State, secret: Secret, edit: effect.SecretSet, begun: set[str]) -> None:
    if edit.content is not None:
        if secret.name not in begun:
            secret.newest += 1
            secret.latest = secret.newest
        begun.add(secret.name)
        before = secret.revisions.get(secret.latest)
        secret.revisions[secret.latest] = Revision(dict(edit.content), before.expires_at if before else None)
    if edit.expires_at is not None:
        secret.revisions[secret.latest].expires_at = edit.expires_at
    secret.label = secret.label if edit.label is None else edit.label
    secret.description = secret.description if edit.description is None else edit.description
    if edit.rotation is not None and edit.rotation is not secret.rotation:
        secret.rotation = edit.rotation
        secret.rotates_at = edit.rotation.next_after(state.clock())


def _fits(granted: Granted, edit: effect.SecretRevoke) -> bool:
    return (
        edit.relation in (0, granted.relation)
        and edit.application in ("", granted.application)
        and edit.unit in ("", granted.unit)
    )


def renew(state: State, edits: Sequence[effect.SecretEffect]) -> None:
    """Make expiries with a new time due again, after the ledger was written with the expiries told before."""
    for edit in edits:
        if isinstance(edit, effect.SecretSet) and edit.expires_at is not None and edit.id in state.secrets:
            _forget_expiry(state, state.secrets[edit.id])


def _forget_expiry(state: State, secret: Secret) -> None:
    for unit in state.units.values():
        told = unit.ledger.secrets.get(secret.name, NEVER_READ)
        if secret.latest in told.expired:
            told = replace(told, expired=told.expired - {secret.latest})
            unit.ledger = replace(unit.ledger, secrets={**unit.ledger.secrets, secret.name: told})


def remove(state: State, secret: Secret, revision: int = 0) -> None:
    """Remove a revision; the secret is removed with its last revision, or with 0."""
    if revision:
        secret.revisions.pop(revision, None)
    if revision and secret.revisions:
        secret.latest = max(secret.revisions)
        log.write_secret(state, secret)
        return
    del state.secrets[secret.name]
    for unit in state.units.values():
        rest = {name: told for name, told in unit.ledger.secrets.items() if name != secret.name}
        unit.ledger = replace(unit.ledger, secrets=rest)
        unit.labels.pop(secret.name, None)
    log.write_secret(state, secret, log.DELETED)


def rotate(state: State, name: str) -> None:
    """Set the next rotation of a secret to one interval from now."""
    secret = state.secrets.get(name)
    if secret is not None:
        secret.rotates_at = secret.rotation.next_after(state.clock())
        log.write_secret(state, secret)


def end_owner(state: State, owner: str) -> None:
    """Remove the secrets of a unit or an application that has ended."""
    for secret in [each for each in state.secrets.values() if each.owner == owner]:
        remove(state, secret)


def end_relation(state: State, number: int) -> None:
    """Take back what was granted for a relation that has ended."""
    for secret in state.secrets.values():
        secret.grants = {each for each in secret.grants if each.relation != number}
