"""Builds the requests that begin operations."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.release import message
from tinkwell.client.release.model import OperationOptions
from tinkwell.client.value import field
from tinkwell.core import errors as core_errors
from tinkwell.core.value import document


def of_chart(
    name: str,
    namespace: str,
    values: Mapping[str, Any] | str | None,
    secret_values: Iterable[str],
    description: str,
    reason: str,
    id_: str | None,
    options: OperationOptions,
) -> dict[str, Any]:
    """Return the fields that all requests for a chart have; raises `InvalidField`."""
    return {
        "operation_id": id_ or str(uuid.uuid4()),
        "namespace": namespace,
        "name": name,
        "values": field.to_json_text(values, "values"),
        "secret_values": [*secret_values],
        "options": message.to_options(options),
        "description": description,
        "reason": reason,
    }


def files_of(files: Mapping[str, str] | None, manifest: Mapping[str, Any] | str | None) -> list[pb.ManifestFile]:
    """Return the files of a request for manifests, from `files` or from `manifest`; raises `InvalidField`."""
    if (files is None) == (manifest is None):
        raise errors.InvalidField.of("files or manifest", "exactly one is needed")
    if files is None:
        # JSON is YAML.
        files = {"manifest": manifest if isinstance(manifest, str) else field.to_json_text(manifest, "manifest")}
    return [field.build(pb.ManifestFile, name=name, text=text) for name, text in files.items()]


def variables_of(
    variables: Mapping[str, Any] | str | None,
    variable_files: Mapping[str, Mapping[str, Any] | str] | None,
    secret_variables: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the fields for the variables of manifests; raises `InvalidField`."""
    return {
        "variables": _variables(variables, secret_variables or {}),
        "secret_variables": [*(secret_variables or {})],
        "variable_files": [
            field.build(pb.VariableFile, name=file, variables=field.to_json_text(values, f"variable_files.{file}"))
            for file, values in (variable_files or {}).items()
        ],
    }


def _variables(variables: Mapping[str, Any] | str | None, secret: Mapping[str, Any]) -> str:
    """Return all variables as JSON text; raises `InvalidField`."""
    text = field.to_json_text(variables, "variables")
    if not secret:
        return text
    try:
        given = document.parse_json_object("variables", text or "{}")
        kept = document.parse_json_object("secret_variables", field.to_json_text(secret, "secret_variables"))
    except core_errors.InvalidField as error:
        raise errors.InvalidField.of_all(error.violations) from error
    if twice := sorted(given.keys() & kept.keys()):
        raise errors.InvalidField.of("secret_variables", f"{', '.join(twice)} is among variables, too; give it once")
    return document.dump_json({**given, **kept})
