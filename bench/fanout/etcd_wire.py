"""The few messages of etcd's API that are needed, by field number, as its documentation of version 3 gives them."""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PUT = "/etcdserverpb.KV/Put"
RANGE = "/etcdserverpb.KV/Range"
WATCH = "/etcdserverpb.Watch/Watch"

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "bench.etcd"
# Name, number, and type: the name of a message below, or one of protobuf's own types.
_MESSAGES: dict[str, tuple[tuple[str, int, str], ...]] = {
    "ResponseHeader": (("cluster_id", 1, "uint64"), ("member_id", 2, "uint64"), ("revision", 3, "int64")),
    "PutRequest": (("key", 1, "bytes"), ("value", 2, "bytes")),
    "PutResponse": (("header", 1, "ResponseHeader"),),
    "RangeRequest": (("key", 1, "bytes"), ("range_end", 2, "bytes")),
    "RangeResponse": (("header", 1, "ResponseHeader"), ("kvs", 2, "KeyValue*"), ("count", 4, "int64")),
    "WatchCreateRequest": (("key", 1, "bytes"), ("range_end", 2, "bytes"), ("start_revision", 3, "int64")),
    "WatchRequest": (("create_request", 1, "WatchCreateRequest"),),
    "KeyValue": (
        ("key", 1, "bytes"),
        ("create_revision", 2, "int64"),
        ("mod_revision", 3, "int64"),
        ("version", 4, "int64"),
        ("value", 5, "bytes"),
        ("lease", 6, "int64"),
    ),
    "Event": (("type", 1, "int32"), ("kv", 2, "KeyValue")),
    "WatchResponse": (
        ("header", 1, "ResponseHeader"),
        ("watch_id", 2, "int64"),
        ("created", 3, "bool"),
        ("canceled", 4, "bool"),
        ("compact_revision", 5, "int64"),
        ("cancel_reason", 6, "string"),
        ("events", 11, "Event*"),
    ),
}


def _describe() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="bench/etcd.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind in fields:
            field = message.field.add(name=field_name, number=number)
            field.label = _Field.LABEL_REPEATED if kind.endswith("*") else _Field.LABEL_OPTIONAL
            if kind.rstrip("*") in _MESSAGES:
                field.type, field.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{kind.rstrip('*')}"
            else:
                field.type = _Field.Type.Value(f"TYPE_{kind.upper()}")
    return file


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_describe())


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


PutRequest = _message("PutRequest")
PutResponse = _message("PutResponse")
RangeRequest = _message("RangeRequest")
RangeResponse = _message("RangeResponse")
WatchRequest = _message("WatchRequest")
WatchResponse = _message("WatchResponse")
