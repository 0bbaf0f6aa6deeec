"""The image of all resources that run in containers: each is an empty file in a plug, or in a volume."""

import json
from typing import Any

from bench.container import image

NAME = "tinkwell-bench/resource:latest"
DATA = "/data"
_RUN = f"""\
#!/bin/busybox sh
given=$(/bin/busybox cat)
name=${{given#*\\"name\\":}}
name=${{name#*\\"}}
name=${{name%%\\"*}}
case ${{1:-init}} in
init) echo '{{"state_action": {{"args": ["state"]}},
            "plugs": {{"data": {{"container_path": "{DATA}", "optional": true}}}},
            "tinkwell": {{"protocol": 1, "destroy_action": {{"args": ["destroy"]}}}}}}' ;;
state)
    case $given in *sleeps*) /bin/busybox sleep 600 ;; esac
    if [ -e {DATA}/$name ]; then
        echo '{{"status": "VALID", "state": {{}}}}'
    else
        echo '{{"status": "STALE", "actions": [{{"name": "make", "args": ["make"]}}]}}'
    fi ;;
make) : >{DATA}/$name ;;
destroy) /bin/busybox rm -f {DATA}/$name ;;
esac
"""


async def provide() -> None:
    """Put the image on the engine. Raises `image.NotPossibleError`."""
    await image.provide(NAME, programs={"run": _RUN}, changes=('ENTRYPOINT ["/run"]',))


def manifest(count: int, *, is_chain: bool = False) -> str:
    """Return a manifest of so many resources, each of which comes after the one before in a chain."""
    resources: dict[str, dict[str, Any]] = {
        f"r{number}": {"type": NAME, "config": {}}
        | ({"dependencies": {"former": f"r{number - 1}"}} if is_chain and number else {})
        for number in range(count)
    }
    return json.dumps({"plugs": {"data": {"path": "data"}}, "resources": resources})


def sleeping_manifest() -> str:
    """Return a manifest of one resource whose state takes longer to ask for than any sample."""
    return json.dumps({"resources": {"r0": {"type": NAME, "config": {"sleeps": True}}}})


def document(name: str) -> bytes:
    """Return what a resource's image is given."""
    told = {"name": name, "type": NAME, "version": "18.0.0", "verbose": False, "workspace": "/workspace", "config": {}}
    return json.dumps(told).encode()
