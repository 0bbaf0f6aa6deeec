"""What can be wrong in a charm, as one tree.

CharmError
├── DeclarationError    a class of charms says something of itself that cannot be
├── CannotDefer         this kind of event comes once and is not put off
├── NotLeader           only the leader's unit may do this
├── NotOwner            another unit, an application or a user owns the secret
├── NotReadable         the unit may not read this bag
├── RelationGone        the relation is broken, so nobody would read what is written into it
├── SecretMissing       there is no such secret, or the unit was not granted it
├── StorageMissing      the unit does not have the storage that is asked for
└── WrongSecret         a secret cannot hold this, or have this label

All but the first are raised in handlers. A handler that lets one go fails its event, which is then tried again.
"""


class CharmError(Exception):
    """The root of the errors of charms."""


class DeclarationError(CharmError):
    """A class of charms says something of itself that cannot be."""


class CannotDefer(CharmError):
    """This kind of event comes once and is not put off."""


class NotLeader(CharmError):
    """Only the leader's unit may do this."""


class NotOwner(CharmError):
    """Another unit, an application or a user owns the secret."""


class NotReadable(CharmError):
    """The unit may not read this bag."""


class RelationGone(CharmError):
    """The relation is broken, so nobody would read what is written into it."""


class SecretMissing(CharmError):
    """There is no such secret, or the unit was not granted it."""


class StorageMissing(CharmError):
    """The unit does not have the storage that is asked for."""


class WrongSecret(CharmError):
    """A secret cannot hold this, or have this label."""
