"""Archives of charts in few words."""

import json
from collections.abc import Mapping
from typing import Any

from tinkwell.core.release.chart.file import archive

TEMPLATE = "resources:\n  db: {type: acme/db:1, config: {size: '{{ values.size }}'}}\n"


def chart(
    name: str = "shop",
    version: str = "1.0.0",
    *,
    values: Mapping[str, Any] | None = None,
    schema: Mapping[str, Any] | None = None,
    template: str = TEMPLATE,
    subcharts: Mapping[str, Mapping[str, bytes]] | None = None,
    **metadata: Any,
) -> dict[str, bytes]:
    """Give the files of a chart, with others vendored in it by their names; JSON is YAML, too."""
    described = {"apiVersion": "v2", "name": name, "version": version, **metadata}
    files = {
        "Chart.yaml": json.dumps(described).encode(),
        "values.yaml": json.dumps(values or {}).encode(),
        "templates/main.yaml": template.encode(),
    }
    if schema is not None:
        files["values.schema.json"] = json.dumps(schema).encode()
    for child, inner in (subcharts or {}).items():
        files |= {f"charts/{child}/{path}": content for path, content in inner.items()}
    return files


def packed(name: str = "shop", version: str = "1.0.0", **more: Any) -> bytes:
    """Give the archive of such a chart."""
    return archive.pack(name, chart(name, version, **more))
