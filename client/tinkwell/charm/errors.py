"""The errors of charms, as one tree.

CharmError
├── DeclarationError    a charm class has a declaration that is wrong
├── CannotDefer         this kind of event cannot be deferred
├── NotLeader           only the unit that leads its application may do this
├── NotOwner            another unit, an application or a user owns the secret
├── NotReadable         the unit may not read this bag
├── RelationGone        the relation is broken, so nobody would read its bags
├── SecretMissing       there is no such secret, or it was not granted to the unit
├── StorageMissing      the unit does not have the storage
└── WrongSecret         a secret cannot have this content, or this label

All but the first are raised in handlers. An error that leaves a handler fails its event, which is then tried again.
"""


class CharmError(Exception):
    """The root of the errors of charms."""


class DeclarationError(CharmError):
    """A charm class has a declaration that is wrong."""


class CannotDefer(CharmError):
    """This kind of event cannot be deferred."""


class NotLeader(CharmError):
    """Only the unit that leads its application may do this."""


class NotOwner(CharmError):
    """Another unit, an application or a user owns the secret."""


class NotReadable(CharmError):
    """The unit may not read this bag."""


class RelationGone(CharmError):
    """The relation is broken, so nobody would read its bags."""


class SecretMissing(CharmError):
    """There is no such secret, or it was not granted to the unit."""


class StorageMissing(CharmError):
    """The unit does not have the storage."""


class WrongSecret(CharmError):
    """A secret cannot have this content, or this label."""
