"""Imports the broker's library, which only servers with a relay need."""

import importlib.util

from tinkwell.server.log.relay.broker import Broker
from tinkwell.server.log.relay.option import Options
from tinkwell.server.settings import InvalidSettings


def broker(options: Options) -> Broker:
    """Return the broker. Raises `InvalidSettings` if a package is missing, and `OSError` for bad files."""
    if importlib.util.find_spec("nats") is None:
        raise InvalidSettings("TINKWELL_NATS_URL is set, which needs nats-py: pip install 'tinkwell[server,nats]'")
    if options.credentials is not None and importlib.util.find_spec("nkeys") is None:
        raise InvalidSettings("TINKWELL_NATS_CREDENTIALS is set, which needs nkeys: pip install 'nats-py[nkeys]'")
    made: Broker = importlib.import_module("tinkwell.server.log.relay.jetstream").JetStream(options)
    return made
