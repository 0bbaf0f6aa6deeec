"""Converts a violated constraint to the domain error that a caller can act on.

Raw SQL errors go no further than here.
"""

import re

from tinkwell.core import errors

_TAKEN = {
    "hardware_address_mac": "mac",
    "hardware_address_ip": "ip",
    "template_name": "name",
    "template_pkey": "id",
    "workflow_pkey": "id",
    "application_pkey": "id",
    "application_name": "name",
    "unit_pkey": "id",
}
_TOO_LARGE = {
    "chart_archive_size": ("archive", "may not be larger than 8 MiB"),
    "chart_metadata_size": ("Chart.yaml", "may not be larger than 1 MiB of JSON"),
    "release_document_size": ("", "a manifest, or what comes of it, may not be larger than 8 MiB of JSON"),
    "resource_config_size": ("config", "may not be larger than 3 MiB of JSON"),
    "resource_answer_size": ("", "what an image says of a resource may not be larger than 1 MiB of JSON"),
    "hardware_size": ("data", "metadata and network together may not be larger than 1 MiB of JSON"),
    "template_size": ("data", "may not be larger than 1 MiB"),
    "unit_document_size": ("", "a document of an application may not be larger than 1 MiB of JSON"),
    "events_size": ("data", "may not be larger than 8 MiB of JSON in its event"),
    "workflow_size": ("hardware", "the device map and the rendered template may not be larger than 3 MiB together"),
}
_RACED = {
    "sealed_value_place": "another writer has just stored the secrets of the same document; try again",
    "secret_name": "another writer has just made a secret of that id; try again",
    "secret_pkey": "another writer has just made a secret of that id; try again",
    "secret_label": "another writer has just given that label; try again",
    "application_charm_known": "the charm has just been forgotten; upload it, and ask again",
    "operation_chart_known": "the chart has just been forgotten; upload it, and ask again",
}
_BUSY = re.compile(r"=\((?P<worker_id>[0-9a-f-]+), (?P<workflow_id>[0-9a-f-]+)\)")
_DETAIL = re.compile(r"=\((?P<value>.*)\) already exists")


def translate(error: object) -> errors.TinkwellError | None:
    """Return the domain error for a driver's error, or None if the caller did not cause it."""
    # SQLAlchemy wraps the driver's error; its constraint and detail are on the original.
    cause = getattr(error, "__cause__", None) or error
    name = getattr(cause, "constraint_name", None) or ""
    sqlstate = getattr(cause, "sqlstate", None) or ""
    if name in _TAKEN:
        found = _DETAIL.search(getattr(cause, "detail", None) or "")
        return errors.AlreadyExists(_TAKEN[name], found["value"] if found else "")
    if name in _TOO_LARGE:
        return errors.InvalidField.of(*_TOO_LARGE[name])
    if name in _RACED:
        return errors.LostRace(_RACED[name])
    if name == "machine_transition" and (busy := _BUSY.search(getattr(cause, "detail", None) or "")):
        return errors.MachineBusy(busy["worker_id"], held_by=busy["workflow_id"])
    if name.endswith("_transition"):
        return errors.IllegalTransition(name.removesuffix("_transition"), "its state does not allow this")
    if name == "moment_range":
        return errors.InvalidField.of("", "a time lies outside the years 1 to 9999")
    if sqlstate.startswith("22"):
        return errors.InvalidField.of("", "a value is outside what can be stored")
    return None
