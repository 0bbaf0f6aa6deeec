"""Charts in few words, of things that are files (`resource_images/thing`), as archives."""

import json
from collections.abc import Mapping
from typing import Any

from tinkwell.core.release.chart.file import archive

Files = Mapping[str, str]


def chart(
    name: str,
    resources: Mapping[str, Any],
    *,
    subcharts: Mapping[str, Files] | None = None,
    dependencies: Mapping[str, Mapping[str, Any]] | None = None,
    waits_for: tuple[str, ...] = (),
    outputs: Mapping[str, Any] | None = None,
    files: Files | None = None,
) -> dict[str, str]:
    """Give the files of a chart. `dependencies` are what their entries say beside the name, which names a subchart.

    `waits_for` are the subcharts in the annotation.
    """
    found = {
        f"charts/{child}/{path}": text for child, inner in (subcharts or {}).items() for path, text in inner.items()
    }
    entries = [{"name": child, **(dependencies or {}).get(child, {})} for child in subcharts or {}]
    annotations = {"helm.sh/depends-on/subcharts": json.dumps(waits_for)} if waits_for else {}
    described = {
        "apiVersion": "v2",
        "name": name,
        "version": "1.0.0",
        "dependencies": entries,
        "annotations": annotations,
    }
    found["Chart.yaml"] = json.dumps(described)
    found["templates/all.yaml"] = json.dumps({"resources": resources, "outputs": outputs or {}})
    return found | {f"files/{path}": text for path, text in (files or {}).items()}


def thing(path: str, text: str = "content", *, dependencies: Mapping[str, str] | None = None, **config: Any) -> Any:
    """Describe a thing, in the folder that the value `global.folder` names."""
    given = {"path": f"{{{{ values.global.folder }}}}/{path}", "text": text, **config}
    return {"type": "thing", "config": given, "dependencies": dependencies or {}}


def packed(files: Files) -> bytes:
    """Pack a chart."""
    name = json.loads(files["Chart.yaml"])["name"]
    return archive.pack(name, {path: text.encode() for path, text in files.items()})
