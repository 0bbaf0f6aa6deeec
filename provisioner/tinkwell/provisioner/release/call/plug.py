"""The paths of this machine that resources may use: plugs that the operator grants, and folders of releases.

A manifest's plug has a name and a path. A relative path is one name inside the release's own folder, which is made when
it is first asked for:

    STATE_DIR/releases/RELEASE_ID/NAME

An absolute path must be granted by the operator under the same name, with the option

    --plug NAME=PATH[:ro][,ns=NAMESPACE…][,images=REGEX]

`ns` says which namespaces may use it, and may be repeated; `images` is matched with the whole reference of each image
that would get it, and stands last, since it may have commas. The authors of manifests are not trusted with the machine,
so a path that contains a symbolic link is refused.
"""

import re
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.release.manifest import model
from tinkwell.core.release.manifest import name as names
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.protocol import plug as rules
from tinkwell.core.release.protocol.answer import PlugRequest
from tinkwell.core.value import check, parse
from tinkwell.provisioner.runtime import port

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
# No release id is equal to this name.
EMPTY_FOLDER = "empty"
_EXAMPLE = "write it as NAME=/PATH, NAME=/PATH:ro or NAME=/PATH,ns=prod,images=REGEX"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A path of this machine that the operator grants to resources; an empty `namespaces` means every namespace."""

    name: str
    path: str
    read_only: bool = False
    namespaces: frozenset[str] = frozenset()
    images: "re.Pattern[str] | None" = None

    def allows_image(self, image: str) -> bool:
        """Return whether containers of an image may get the path."""
        return self.images is None or self.images.fullmatch(image) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The path of a manifest's plug on this machine. A container cannot write to a read-only one."""

    path: str
    read_only: bool
    grant: Grant | None = None

    def allows_image(self, image: str) -> bool:
        """Return whether containers of an image may get the path."""
        return self.grant is None or self.grant.allows_image(image)


def parse_grant(text: str) -> Grant:
    """Parse the value of --plug; raises `errors.InvalidField`."""
    name, _, rest = text.partition("=")
    if not _NAME.fullmatch(name) or not rest:
        raise errors.InvalidField.of("plug", f"{parse.show(text)} is not a plug; {_EXAMPLE}")
    rest, images = _split_images(text, rest)
    path, *conditions = rest.split(",")
    namespaces = {condition.removeprefix("ns=") for condition in conditions if condition.startswith("ns=")}
    if len(namespaces) != len(conditions) or "" in namespaces:
        raise errors.InvalidField.of("plug", f"{parse.show(text)} has a condition that is not known; {_EXAMPLE}")
    read_only = path.endswith(":ro")
    path = path.removesuffix(":ro")
    if not path.startswith("/") or path.startswith("//") or str(Path(path)) != path or ".." in Path(path).parts:
        raise errors.InvalidField.of(
            "plug", f"{parse.show(path)} is not an absolute path in its shortest form; {_EXAMPLE}"
        )
    return Grant(name=name, path=path, read_only=read_only, namespaces=frozenset(namespaces), images=images)


def _split_images(text: str, rest: str) -> "tuple[str, re.Pattern[str] | None]":
    before, mark, expression = rest.partition(",images=")
    if not mark:
        return rest, None
    try:
        return before, re.compile(expression)
    except re.error as error:
        message = f"{parse.show(text)} has images that are no regular expression: {error}"
        raise errors.InvalidField.of("plug", message) from error


class Machine:
    """Finds the plugs of one release on this machine.

    `folder` is the release's own folder, which may be missing. With `only_looks` no folder is made in it: the plug of a
    missing folder is the folder `empty`, beside the folders of releases.
    """

    def __init__(self, grants: Iterable[Grant], *, namespace: str, folder: Path, only_looks: bool = False) -> None:
        self._grants: Mapping[tuple[str, str], Grant] = {(grant.name, grant.path): grant for grant in grants}
        self._namespace = namespace
        self._folder = folder
        self._only_looks = only_looks

    def find(self, name: str, path: str, *, read_only: bool) -> Place:
        """Find a plug of the manifest, and make its folder if that is in the release's own folder.

        Raises `errors.InvalidField`, which names the plug, if the plug is not granted or its folder is missing.
        """
        field = parse.child("plugs", name)
        if not path.startswith("/"):
            return Place(path=str(self._own_folder(field, path)), read_only=read_only)
        grant = self._grants.get((name, path))
        if grant is None or (grant.namespaces and self._namespace not in grant.namespaces):
            raise errors.InvalidField.of(field, self._not_granted(name, path))
        _check_real(field, Path(path))
        return Place(path=path, read_only=read_only or grant.read_only, grant=grant)

    def _own_folder(self, field: str, name: str) -> Path:
        if not _FOLDER_NAME.fullmatch(name):
            raise errors.InvalidField.of(
                parse.child(field, "path"),
                f"{parse.show(name)} is neither an absolute path nor one name in the release's own folder; "
                "use letters, digits, dots, _ and -, and begin with no dot",
            )
        path = self._folder / name
        if self._only_looks and not path.exists():
            path = self._folder.parent / EMPTY_FOLDER
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            message = f"its folder {path} cannot be made: {error.strerror}"
            raise errors.InvalidField.of(parse.child(field, "path"), message) from error
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise errors.InvalidField.of(parse.child(field, "path"), f"{path} is not a folder")
        return path

    def _not_granted(self, name: str, path: str) -> str:
        for grant in self._grants.values():
            if grant.name == name and grant.path == path:
                return f"the namespace {parse.show(self._namespace)} may not use {path} here"
            if grant.name == name:
                return f"{parse.show(path)} is not granted here under this name, but {grant.path} is"
            if grant.path == path:
                return f"{path} is not granted here under this name, but as {grant.name}"
        return (
            f"{parse.show(path)} is not granted here; the operator of the provisioner does that "
            f"with --plug {name}={parse.excerpt(path)}"
        )


def _check_real(field: str, path: Path) -> None:
    """Refuse a path that is missing or contains a symbolic link, which somebody else could point elsewhere."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise errors.InvalidField.of(parse.child(field, "path"), f"{path} cannot be used: {reason}") from error
    if real != path:
        raise errors.InvalidField.of(
            parse.child(field, "path"), f"{path} leads over a link to {real}; let plug and manifest name that"
        )


class Plugs:
    """The plugs of one chart or manifest on this machine.

    Raises `errors.InvalidField` for plugs that this machine does not have. `chart` is the chart's path, which errors
    name.
    """

    def __init__(self, machine: Machine, manifest: Mapping[str, model.Plug], *, chart: str = "") -> None:
        checks = check.Checks()
        self._machine = machine
        self._manifest = manifest
        self._places: dict[str, Place] = {}
        for name, plug in manifest.items():
            try:
                self._places[name] = machine.find(name, plug.path, read_only=plug.read_only)
            except errors.InvalidField as error:
                checks.note(_in_chart(chart, name, error))
        checks.finish()
        self._rules = rules.Plugs(
            {name: replace(plug, read_only=self._places[name].read_only) for name, plug in manifest.items()}
        )

    def grant(self, path: str, image_type: str, requests: Collection[PlugRequest]) -> rules.Granted:
        """Return the plugs that a resource gets; raises `errors.InvalidField` for required ones that it cannot get."""
        optional = {request.name for request in requests if request.optional}
        granted = self._rules.grant(path, image_type, requests)
        grants, warnings = [], list(granted.warnings)
        for grant in granted.grants:
            problem = f"may not be used by the image {parse.show(image_type)} here"
            if self._places[grant.name].allows_image(image_type):
                grants.append(grant)
            elif grant.name in optional:
                warnings.append(f"{path}: the plug {grant.name} {problem}; {path} goes without it")
            else:
                message = f"is needed by {path}, but {problem}"
                raise errors.InvalidField.of(parse.child("plugs", grant.name), message)
        return rules.Granted(tuple(grants), tuple(warnings))

    def mounts(self, grants: Iterable[rules.Grant]) -> dict[str, port.Mount]:
        """Return the mounts of plugs, by plug name; raises `errors.InvalidField` for a path that no longer exists.

        An earlier container may have replaced a folder with a link, so each path is checked again.
        """
        return {
            grant.name: port.Mount(
                source=self._find(grant.name).path, target=grant.container_path, read_only=grant.read_only
            )
            for grant in grants
        }

    def _find(self, name: str) -> Place:
        plug = self._manifest[name]
        return self._machine.find(name, plug.path, read_only=plug.read_only)


class ChartPlugs:
    """The plugs of each chart of an operation and of its former manifest, each found once."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        # The key is `id` of the manifest, which lives as long as this object; the inner key is the chart.
        self._written: dict[int, Mapping[str, Mapping[str, model.Plug]]] = {}
        self._found: dict[tuple[int, str], Plugs] = {}

    def find(self, manifest: RenderedManifest | None, chart: str) -> Plugs:
        """Return the plugs of a chart in its manifest; raises `errors.InvalidField` for plugs that are missing here."""
        key = (id(manifest), chart)
        if key not in self._found:
            if key[0] not in self._written:
                self._written[key[0]] = manifest.plugs_by_chart() if manifest is not None else {}
            self._found[key] = Plugs(self._machine, self._written[key[0]].get(chart, {}), chart=chart)
        return self._found[key]


def _in_chart(chart: str, name: str, error: errors.InvalidField) -> errors.InvalidField:
    """Add the chart to an error about one of its plugs."""
    own, full = (parse.child("plugs", each) for each in (name, names.join_chart(chart, name)))
    return errors.InvalidField(
        errors.Violation(f"{full}{violation.field.removeprefix(own)}", violation.description)
        for violation in error.violations
    )
