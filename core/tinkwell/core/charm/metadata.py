"""The manifest of a charm: charm.yaml, or the files of a charm of Juju.

charm.yaml is Tinkwell's file. A packed charm of Juju has metadata.yaml, with config.yaml and actions.yaml beside it;
its source often has charmcraft.yaml, which holds all three. All have the same fields; if there are several, the first
one in `FILES` is read. An unknown field is a warning, because Juju ignores it. A field that asks for a feature that
Tinkwell lacks is refused.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeVar

from tinkwell.core import errors
from tinkwell.core.charm.charmcraft import ACTIONS_YAML, CHARMCRAFT_YAML, CONFIG_YAML, METADATA_YAML
from tinkwell.core.charm.reader import Reader
from tinkwell.core.charm.record import Manifest, Resource
from tinkwell.core.unit.kinds import CharmKind
from tinkwell.core.value import check, parse
from tinkwell.core.value.closed_object import nearest
from tinkwell.core.value.document import MAX_VIOLATIONS, JsonValue
from tinkwell.core.value.yaml import file as yaml_file

CHARM_YAML = "charm.yaml"
FILES = (CHARM_YAML, METADATA_YAML, CHARMCRAFT_YAML)
# All files that may be part of a package's manifest.
READ_FILES = (*FILES, CONFIG_YAML, ACTIONS_YAML)

MAX_MANIFEST_BYTES = yaml_file.MAX_FILE_BYTES

T = TypeVar("T")


def read_manifest(files: Mapping[str, str]) -> tuple[Manifest, tuple[str, ...]]:
    """Read the manifest from the texts of a charm's files; also return a warning for each field that is not used.

    Other files may be among them. Raises `errors.CharmRefused` with all faults; a field is the name of a file and the
    path in it.
    """
    file = next((name for name in FILES if name in files), None)
    if file is None:
        raise errors.CharmRefused.of(CHARM_YAML, "is missing; write one with the name of the charm in it")
    warnings: list[str] = []
    violations: list[errors.Violation] = []
    kind = CharmKind.SCRIPTS if file == CHARM_YAML else CharmKind.OPS
    found = _read(violations, file, files[file], lambda checks: Reader(checks, warnings, file, kind=kind).manifest)
    if file == METADATA_YAML:
        found = _with_other_files(found, files, violations, warnings)
    if violations or found is None:
        raise errors.CharmRefused(violations[:MAX_VIOLATIONS])
    if file == CHARM_YAML and found.kind is CharmKind.OPS:
        sentence = "is ops, which does not read charm.yaml; write metadata.yaml or charmcraft.yaml in its place"
        raise errors.CharmRefused.of(f"{CHARM_YAML}.kind", sentence)
    return found, tuple(warnings)


def find_resource(resources: Mapping[str, Resource], name: str) -> Resource:
    """Return a resource of a charm; raises `errors.CharmRefused` if the charm does not have it."""
    if name not in resources:
        field = parse.child("resources", name)
        raise errors.CharmRefused.of(field, f"the charm has no such resource; {nearest(name, [*resources])}")
    return resources[name]


def _with_other_files(
    found: Manifest | None, files: Mapping[str, str], violations: list[errors.Violation], warnings: list[str]
) -> Manifest | None:
    """Add the options and actions of the files beside metadata.yaml; faults are added to the violations."""
    if CONFIG_YAML in files:
        text = files[CONFIG_YAML]
        options = _read(violations, CONFIG_YAML, text, lambda checks: Reader(checks, warnings, CONFIG_YAML).config)
        if found is not None and options is not None:
            found = dataclasses.replace(found, options=options)
    if ACTIONS_YAML in files:
        text = files[ACTIONS_YAML]
        actions = _read(violations, ACTIONS_YAML, text, lambda checks: Reader(checks, warnings, ACTIONS_YAML).actions)
        if found is not None and actions is not None:
            found = dataclasses.replace(found, actions=actions)
    return found


def from_json(value: JsonValue) -> Manifest:
    """Read a manifest that `Manifest.as_json` returned. Raises `errors.InvalidField`."""
    checks = check.Checks(most=MAX_VIOLATIONS)
    found = Reader(checks, [], CHARM_YAML).manifest(value)
    checks.finish()
    return found


def _read(
    violations: list[errors.Violation],
    file: str,
    text: str,
    reader: Callable[[check.Checks], Callable[[JsonValue], T]],
) -> T | None:
    """Read the only document of a file; faults are added to the violations, with their lines."""
    checks, inner = check.Checks(most=MAX_VIOLATIONS), check.Checks(most=MAX_VIOLATIONS)
    try:
        documents = list(yaml_file.documents(checks, file, text))
        if len(documents) != 1:
            raise errors.InvalidField.of(file, f"has {len(documents)} documents; write one")
        checks.finish()
        found = reader(inner)(documents[0].value)
        try:
            inner.finish()
        except errors.InvalidField as error:
            raise documents[0].located(error) from error
    except errors.InvalidField as error:
        violations.extend(error.violations)
        return None
    return found
