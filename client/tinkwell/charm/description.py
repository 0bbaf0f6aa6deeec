"""The manifest and the package of a charm class, which the server gets.

The package has the manifest and the file of the class. The server stores it, but nobody runs it from there: the agent
that serves the units has the same file. The digest of the package identifies the revision.
"""

import decimal
import inspect
import io
from pathlib import Path

from tinkwell.charm import errors
from tinkwell.charm.charm import Charm
from tinkwell.charm.option import Option
from tinkwell.core import errors as core_errors
from tinkwell.core.charm import metadata, package, record
from tinkwell.core.unit.kinds import CharmKind, Profile
from tinkwell.core.value.document import JsonValue, dump_json


def manifest(charm_class: type[Charm]) -> record.Manifest:
    """Return the manifest of a class. Raises `DeclarationError` with each mistake in it."""
    declared = charm_class.declared
    summary, _, rest = inspect.cleandoc(charm_class.__doc__ or "").partition("\n\n")
    written = record.Manifest(
        name=declared.name,
        kind=CharmKind.NATIVE,
        profile=Profile(declared.profile) if declared.profile else None,
        summary=" ".join(summary.split()),
        description=rest,
        endpoints={
            each.name: record.Endpoint(name=each.name, role=each.role, interface=each.interface, limit=each.limit)
            for each in declared.endpoints
        },
        storages={
            each.name: record.Storage(
                name=each.name, description=each.description, minimum=each.minimum, maximum=each.maximum
            )
            for each in declared.storages
        },
        options={each.name: _option(each) for each in declared.options},
        actions={each.declared.name: each.declared for each in declared.actions},
    )
    try:
        return metadata.from_json(written.as_json())
    except core_errors.InvalidField as error:
        raise errors.DeclarationError(f"{charm_class.__name__}: {error}") from error


def pack(charm_class: type[Charm]) -> bytes:
    """Return the package of a class, the same bytes for the same file. Raises `DeclarationError`, `CharmRefused`."""
    try:
        source = Path(inspect.getfile(charm_class))
        content = source.read_bytes()
    except (TypeError, OSError) as error:
        raise errors.DeclarationError(f"{charm_class.__name__} has no file that can be read: {error}") from error
    text = dump_json(manifest(charm_class).as_json())
    return package.pack(
        [package.NewFile(metadata.CHARM_YAML, text.encode() + b"\n"), package.NewFile(source.name, content)]
    )


def digest(charm_class: type[Charm]) -> str:
    """Return the digest of the package of a class. Raises what `pack` raises."""
    return package.digest(io.BytesIO(pack(charm_class)))


def _option(option: Option[object]) -> record.Option:
    return record.Option(
        name=option.name,
        type=option.type,
        description=option.description,
        default=to_json(option.default),
        minimum=to_json(option.minimum),
        maximum=to_json(option.maximum),
    )


def to_json(value: object) -> JsonValue:
    """Return the value of an option as JSON. Raises `DeclarationError` for a type that options cannot have."""
    match value:
        case float():
            return decimal.Decimal(repr(value))
        case str() | int() | None:  # bool is an int
            return value
        case other:
            raise errors.DeclarationError(f"{other!r} cannot be the value of an option")
