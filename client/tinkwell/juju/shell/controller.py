"""What the server is called where Juju has a controller, a cloud and a user."""

from tinkwell.core.charm.assumption import JUJU_VERSION

__all__ = ["CLOUD", "NAME", "USER", "UUID", "VERSION"]

NAME = "tinkwell"
CLOUD = "tinkwell"
USER = "admin"
# A server has no id; programs compare this one with itself alone.
UUID = "00000000-0000-4000-8000-000000000001"
# What charms are told, too.
VERSION = JUJU_VERSION
