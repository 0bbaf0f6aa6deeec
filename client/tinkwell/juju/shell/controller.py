"""What the server is called where Juju has a controller, a cloud and a user."""

NAME = "tinkwell"
CLOUD = "tinkwell"
USER = "admin"
# The version of Juju that charms are told as JUJU_VERSION.
VERSION = "3.6.9"
