"""The names of the server in places where Juju has a controller, a cloud and a user."""

from tinkwell.core.charm.assumption import JUJU_VERSION

__all__ = ["CLOUD", "NAME", "USER", "UUID", "VERSION"]

NAME = "tinkwell"
CLOUD = "tinkwell"
USER = "admin"
# A server has no id. Programs compare this one only with itself.
UUID = "00000000-0000-4000-8000-000000000001"
# The same version that charms are told.
VERSION = JUJU_VERSION
