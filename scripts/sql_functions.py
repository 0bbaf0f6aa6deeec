"""Fails when an SQL function is defined twice. A function is read, and changed, in one place.

Looks through the SQL and Python files below the given folders, or the product's. The dump `schema.sql` does not count.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_FOLDERS = ("core", "client", "sandbox", "server", "provisioner", "migrations")
_DEFINITION = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\s+(?:public\.)?(\w+)\s*\(([^)]*)\)", re.IGNORECASE
)


def definitions(text: str) -> list[tuple[str, int]]:
    """Return the name and arguments of each function that the text defines, and the line where it does."""
    return [
        (f"{found[1]}({' '.join(found[2].split())})", text.count("\n", 0, found.start()) + 1)
        for found in _DEFINITION.finditer(text)
    ]


def main(folders: list[Path]) -> int:
    """Print each function that is defined more than once with its places; return 1 if there is one."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for folder in folders for kind in ("*.sql", "*.py") for path in folder.rglob(kind)):
        if path.name != "schema.sql":
            for signature, line in definitions(path.read_text(encoding="utf-8")):
                places[signature].append(f"{path}:{line}")
    repeated = {signature: found for signature, found in places.items() if len(found) > 1}
    for signature, found in repeated.items():
        print(f"{signature} is defined more than once: {', '.join(found)}", file=sys.stderr)
    return 1 if repeated or not places else 0


if __name__ == "__main__":
    sys.exit(main([Path(folder) for folder in sys.argv[1:]] or [_ROOT / folder for folder in _FOLDERS]))
