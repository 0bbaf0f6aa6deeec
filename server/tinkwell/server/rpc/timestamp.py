"""Moments in protobuf."""

import datetime

from google.protobuf import timestamp_pb2


def of(moment: datetime.datetime) -> timestamp_pb2.Timestamp:
    """Return the moment, which must have a time zone."""
    message = timestamp_pb2.Timestamp()
    message.FromDatetime(moment)
    return message
