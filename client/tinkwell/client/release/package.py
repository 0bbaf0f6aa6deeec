"""Makes the archive of a chart from its folder.

Files that `.helmignore` names are left out. Dependencies whose repository is a folder of this machine (`file://…`) are
packed into `charts/`, and replace former copies there; if the folder is gone, the copy is packed. Links are refused, so
that a stranger's chart cannot make its packer send files from elsewhere.
"""

import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tinkwell.client.release.ignore import Rules
from tinkwell.core import errors
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file.archive import MAX_LEVELS, METADATA
from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonObject
from tinkwell.core.value.yaml import position

IGNORE = ".helmignore"

_REPOSITORY = "file://"


def read(path: Path) -> bytes:
    """Return the archive of a chart: the content of a file, or a packed folder.

    Raises `errors.ChartInvalid`, and `OSError` for what cannot be read.
    """
    if path.is_dir():
        return pack(path)
    with path.open("rb") as file:
        data = file.read(archive.MAX_PACKED_BYTES + 1)
    archive.check_size(data)
    return data


def pack(folder: Path) -> bytes:
    """Pack the folder of a chart; the same files give the same archive. Raises as `read`."""
    files = _Collection().collect(folder)
    name = _metadata(METADATA, files.get(METADATA, b"")).get("name")
    # The reader of the chart checks the name.
    return archive.pack(name if isinstance(name, str) and _is_plain(name) else "chart", files)


@dataclass(slots=True)
class _Collection:
    """Collects the files of a chart and of its dependencies, all together within the limits of one archive."""

    _allowance: archive.Allowance = field(default_factory=archive.Allowance)

    def collect(self, folder: Path, at: str = "", above: tuple[Path, ...] = ()) -> dict[str, bytes]:
        """Return the files of a chart by their paths in its folder; `at` is the chart's path in the root chart."""
        real = folder.resolve()
        if real in above:
            raise errors.ChartInvalid.of(f"{at}{METADATA}", f"the chart in {folder} is a dependency of itself")
        if len(above) == MAX_LEVELS:
            raise errors.ChartInvalid.of(f"{at}{METADATA}", f"charts are nested deeper than {MAX_LEVELS} levels")
        if not (folder / METADATA).is_file():
            raise errors.ChartInvalid.of(f"{at}{METADATA}", f"there is none; {folder} is not the folder of a chart")
        rules = Rules.parse(f"{at}{IGNORE}", self._ignored(folder, at))
        files = dict(self._walk(folder, "", rules, at))
        for name, repositories in _local(f"{at}{METADATA}", files.get(METADATA, b"")).items():
            files = self._vendor(files, folder, name, repositories, at, (*above, real))
        return files

    def _vendor(
        self,
        files: dict[str, bytes],
        folder: Path,
        name: str,
        repositories: Iterable[str],
        at: str,
        above: tuple[Path, ...],
    ) -> dict[str, bytes]:
        """Return the files of a chart together with those of a dependency, of which it may ask for several versions."""
        former = re.compile(rf"charts/{re.escape(name)}(?:/|(?:-v?\d[^/]*)?\.tgz$)")
        others = {path: files[path] for path in files if not former.match(path)}
        fetched: dict[str, bytes] = {}
        for number, repository in enumerate(repositories):
            entry = f"charts/{name}{f'-{number}' if number else ''}"
            found = self._fetch(folder / repository.removeprefix(_REPOSITORY), entry, at, above)
            if not found and len(others) == len(files):
                description = (
                    f"{parse.show(name)} has the repository {parse.show(repository)}, where there is no chart; "
                    "mend the path, or vendor it into charts/"
                )
                raise errors.ChartInvalid.of(f"{at}{METADATA}.dependencies", description)
            fetched |= found
        return others | fetched if fetched else files

    def _ignored(self, folder: Path, at: str) -> str:
        path = folder / IGNORE
        if not path.exists():
            return ""
        return self._read(path, f"{at}{IGNORE}").decode(errors="replace")

    def _walk(self, folder: Path, prefix: str, rules: Rules, at: str) -> Iterator[tuple[str, bytes]]:
        for entry in sorted(folder.iterdir()):
            path = f"{prefix}{entry.name}"
            mode = entry.lstat().st_mode
            if rules.ignores(path, is_folder=stat.S_ISDIR(mode)):
                continue
            if stat.S_ISDIR(mode):
                yield from self._walk(entry, f"{path}/", rules, at)
            else:
                yield path, self._read(entry, f"{at}{path}")

    def _read(self, path: Path, at: str) -> bytes:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise errors.ChartInvalid.of(at, f"is a link; put the file itself in its place, or name it in {IGNORE}")
        if not stat.S_ISREG(found.st_mode):
            raise errors.ChartInvalid.of(at, f"is no plain file; name it in {IGNORE}")
        self._allowance.take_file(at)
        self._allowance.take_bytes(at, found.st_size)
        return path.read_bytes()

    def _fetch(self, source: Path, entry: str, at: str, above: tuple[Path, ...]) -> dict[str, bytes]:
        """Return the files of a dependency, packed into its chart; none if its folder has no chart."""
        if source.is_dir():
            inner = self.collect(source, f"{at}{entry}/", above)
            return {f"{entry}/{path}": inner[path] for path in inner}
        if source.is_file() and source.name.endswith(".tgz"):
            return {f"{entry}.tgz": self._read(source, f"{at}{entry}.tgz")}
        return {}


def _local(field: str, content: bytes) -> dict[str, dict[str, None]]:
    """Return the dependencies whose repository is a folder: the names, each with its repositories in order."""
    entries = _metadata(field, content).get("dependencies")
    found: dict[str, dict[str, None]] = {}
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"name": str() as name, "repository": str() as repository} if repository.startswith(_REPOSITORY):
                if not _is_plain(name):
                    raise errors.ChartInvalid.of(f"{field}.dependencies", f"{parse.show(name)} is no name of a chart")
                found.setdefault(name, {})[repository] = None
    return found


def _metadata(field: str, content: bytes) -> JsonObject:
    """Return the content of a Chart.yaml. Only its YAML is checked here; the reader of the chart checks the rest."""
    from tinkwell.core.value.yaml import node as yaml_node

    try:
        for node in yaml_node.documents(content.decode(errors="replace")):
            value = yaml_node.value_of(node)
            return value if isinstance(value, dict) else {}
    except position.Malformed as error:
        place = f"line {error.position.line}, column {error.position.column}"
        raise errors.ChartInvalid.of(field, f"{place}: {error.description}") from error
    return {}


def _is_plain(name: str) -> bool:
    return bool(name) and name not in {".", ".."} and not {"/", "\\", "\0"} & set(name)
