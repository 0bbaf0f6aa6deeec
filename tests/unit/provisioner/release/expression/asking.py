"""Expressions whose child's module runs in the test's own process."""

from typing import Any

import pytest

from support import same_process as children
from tinkwell.core import errors
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.provisioner.release.expression.evaluate import Expressions, Rendered
from tinkwell.provisioner.release.expression.naming import ManifestNames, Release

RELEASE: Release = {
    "name": "shop",
    "namespace": "default",
    "revision": 3,
    "is_install": False,
    "is_upgrade": True,
}


def same_process() -> Expressions:
    return Expressions(make_child=children.same_process)


async def rendered(resources: Any, variables: Any = None, **others: Any) -> Rendered:
    manifest = Manifest.from_json({"resources": resources, **others})
    return await same_process().render(manifest, ManifestNames(variables or {}, RELEASE))


async def configs(resources: Any, variables: Any = None) -> dict[str, Any]:
    """Render, and return the configs by their paths."""
    found = await rendered(resources, variables)
    return {path: resource.config for path, resource in found.manifest.resources.items()}


async def refused(resources: Any, variables: Any = None, **others: Any) -> dict[str, str]:
    """Return what is wrong with a manifest, by its field."""
    with pytest.raises(errors.InvalidField) as raised:
        await rendered(resources, variables, **others)
    return _by_field(raised.value)


async def resolved(document: Any, late: Late, names: Any, variables: Any = None) -> Any:
    return await same_process().resolve(
        document, late, names, names=ManifestNames(variables or {}, RELEASE), field="resources.web.config"
    )


async def unresolved(document: Any, late: Late, names: Any, variables: Any = None) -> dict[str, str]:
    """Return what is wrong with texts that waited, by their fields."""
    with pytest.raises(errors.InvalidField) as raised:
        await resolved(document, late, names, variables)
    return _by_field(raised.value)


def _by_field(error: errors.InvalidField) -> dict[str, str]:
    found = {violation.field: violation.description for violation in error.violations}
    assert len(found) == len(error.violations)
    return found
