"""Keeps gRPC's own log to what is worth a look.

When a client resets its call at the moment of the answer, gRPC writes an error with a traceback, for each such call.
That somebody no longer waits is no fault, and whoever does it on purpose would fill disks.
"""

import logging

from grpc._cython import cygrpc  # type: ignore[attr-defined] # the stubs do not know it

_LOGGER = "grpc._cython.cygrpc"


class Departures(logging.Filter):
    """Lets everything pass but answers that could not be sent, since their clients have gone."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, cygrpc.ExecuteBatchError)


_DEPARTURES = Departures()


def install() -> None:
    """Keep these out of the log of this process; may be called again."""
    logging.getLogger(_LOGGER).addFilter(_DEPARTURES)
