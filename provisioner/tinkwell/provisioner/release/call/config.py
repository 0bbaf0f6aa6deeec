"""Evaluates the late texts in the configs of one operation's resources, and checks configs against schemas."""

from collections.abc import Callable
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release.kinds import NodeTask
from tinkwell.core.release.manifest.rendered import MAX_CONFIG_BYTES
from tinkwell.core.release.protocol import answer
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.call.wiring import Wiring
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import Names
from tinkwell.provisioner.release.resource import Resource, Resources
from tinkwell.provisioner.release.schema.check import Schemas


@dataclass(frozen=True, slots=True, kw_only=True)
class Configs:
    """Evaluates and checks configs; `names_of` gives the names that a chart's expressions may use beside resources."""

    expressions: Expressions
    schemas: Schemas
    names_of: Callable[[str], Names]
    wiring: Wiring

    async def check(self, resource: Resource, init: answer.InitAnswer) -> None:
        """Check a resource's config before the operation changes anything; with late texts, check only the schema.

        Raises `WrongConfig` if the config breaks the schema, and `errors.InvalidField` if the schema is no JSON Schema.
        """
        rendered = resource.rendered
        if init.config_schema is not None and rendered is not None:
            is_known = not rendered.late.pointers
            await self.schemas.check(config_path(resource), init.config_schema, rendered.config if is_known else None)

    async def resolve(self, resource: Resource, resources: Resources) -> JsonObject:
        """Evaluate the texts of a config that name other resources, and check the config; raises `errors.InvalidField`.

        A resource that is removed keeps the config of its last call.
        """
        rendered, path = resource.rendered, config_path(resource)
        if rendered is None or resource.task is NodeTask.REMOVE:
            return resource.config
        if not rendered.late.pointers:
            return rendered.config
        assert resource.manifest is not None
        wired = await self.wiring.names(resource.manifest, resource.chart, rendered.config, rendered.late, resources)
        config = await self.expressions.resolve(
            rendered.config,
            rendered.late,
            {**resources.names(rendered.late.names), **wired},
            names=self.names_of(resource.chart),
            field=path,
        )
        if (size := len(document.dump_json(config).encode())) > MAX_CONFIG_BYTES:
            raise errors.InvalidField.of(path, f"has {size:,} bytes; at most {MAX_CONFIG_BYTES:,} are allowed")
        if resource.init is not None and resource.init.config_schema is not None:
            await self.schemas.check(path, resource.init.config_schema, config)
        return config


def config_path(resource: Resource) -> str:
    """Return the path of a resource's config for error messages."""
    return f"{parse.child('resources', resource.manifest_path)}.config"
