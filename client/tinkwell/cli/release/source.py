"""The sources of a release: the files of its manifest, their places in errors, and variables."""

import dataclasses
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.document import files
from tinkwell.core import errors
from tinkwell.core.release.manifest import name as manifest_name
from tinkwell.core.release.manifest import variables
from tinkwell.core.release.manifest.variables import Layer
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonValue

if TYPE_CHECKING:
    from tinkwell.client import OperationHandle

_MAX_FILE_BYTES = 1024 * 1024
# Errors cut longer names, so that two files in one deep folder could not be told apart.
_NAME_CHARACTERS = 60


class Variable(click.ParamType[Layer]):
    """A variable written `NAME=VALUE`."""

    name = "name=value"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Layer:
        """Split at the first `=`."""
        try:
            return value if isinstance(value, Layer) else variables.parse_variable(str(value))
        except errors.InvalidField as error:
            self.fail(error.violations[0].description, param, ctx)


class VariableFile(click.ParamType[Layer]):
    """A variable written `NAME=FILE`, whose value is the text of the file without the line break at its end."""

    name = "name=file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Layer:
        """Split at the first `=`, and read the file."""
        if isinstance(value, Layer):
            return value
        name, equals, path = str(value).partition("=")
        if not equals or not path:
            self.fail(f"{parse.show(str(value))} is not NAME=FILE", param, ctx)
        text = files.read(path, max_bytes=_MAX_FILE_BYTES).text.removesuffix("\n").removesuffix("\r")
        try:
            # One pair of quotes is taken off a value, so those of the file stay.
            return variables.parse_variable(f'{name}="{text}"')
        except errors.InvalidField as error:
            self.fail(error.violations[0].description, param, ctx)


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables as JSON text, and files of them whose expressions are still to be evaluated, as JSON texts by name."""

    text: str
    files: Mapping[str, str] = field(default_factory=dict)


_OPTIONS = (
    click.option("--var", "variables_single", type=Variable(), multiple=True, help="A variable, as text. Repeatable."),
    click.option(
        "--var-file",
        "variables_files",
        type=click.Path(),
        multiple=True,
        metavar="FILE|-",
        help="A file of variables; later files override former ones, and --var overrides all. Repeatable.",
    ),
    click.option(
        "--secret-var",
        "variables_secrets",
        type=Variable(),
        multiple=True,
        help="A variable that only resources may see; note that the shell's history keeps it. Repeatable.",
    ),
    click.option(
        "--secret-var-file",
        "variables_secret_files",
        type=VariableFile(),
        multiple=True,
        help="A variable that only resources may see, and the file with its text. Repeatable.",
    ),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The values of the options by which manifests are given variables."""

    single: tuple[Layer, ...]
    files: tuple[str, ...]
    secrets: tuple[Layer, ...]
    secret_files: tuple[Layer, ...]

    @property
    def is_default(self) -> bool:
        """Whether none of the options was given."""
        return not (self.single or self.files or self.secrets or self.secret_files)

    def fields(self) -> dict[str, Any]:
        """Read the variables, and return them as the client takes them. Raises `Failure`."""
        found = read_variables(self.files, self.single)
        secrets = read_secrets([*self.secrets, *self.secret_files])
        return {"variables": found.text, "variable_files": found.files, "secret_variables": secrets}


@dataclass(frozen=True, slots=True)
class Given:
    """The files of manifests and their variables, as they were read."""

    sources: Mapping[str, files.Source]
    fields: Mapping[str, Any]

    @classmethod
    def read(cls, paths: Iterable[str], variables: Wanted) -> "Given":
        """Read the files and the variables. Raises `Failure`."""
        return cls(read_files(paths), variables.fields())

    async def begin(
        self, call: "Callable[..., Awaitable[OperationHandle]]", name: str, fields: Mapping[str, Any]
    ) -> "OperationHandle":
        """Begin an operation with the files and variables. Raises `Failure` with the place of each mistake."""
        from tinkwell.client import errors as client_errors  # gRPC costs start-up time, see main

        texts = {key: found.text for key, found in self.sources.items()}
        try:
            return await call(name, files=texts, **self.fields, **fields)
        except client_errors.InvalidField as error:
            raise explain(error.violations, self.sources) from error


def options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options to a command, which is given their values as `variables`."""

    @functools.wraps(command)
    def with_variables(*args: Any, **kwargs: Any) -> object:
        values = {each.name: kwargs.pop(f"variables_{each.name}") for each in dataclasses.fields(Wanted)}
        return command(*args, variables=Wanted(**values), **kwargs)

    result: Callable[..., object] = with_variables
    for add in reversed(_OPTIONS):
        result = add(result)
    return result


def read_files(paths: Iterable[str]) -> dict[str, files.Source]:
    """Read files, and those in folders, in order. The keys are the names under which they are sent.

    Raises `Failure` if a file cannot be read.
    """
    from tinkwell.core.release.chart.file import archive

    paths = tuple(paths)
    for path in paths:
        if Path(path, archive.METADATA).is_file():
            raise failure.Failure(f'{path} is a chart; "tinkwell release install NAME {path}" makes a release of it')
    found: dict[str, files.Source] = {}
    for path in (each for given in paths for each in files.expand(given)):
        source = files.read(path, max_bytes=_MAX_FILE_BYTES)
        if any(source.name == other.name for other in found.values()):
            raise failure.Failure(f"{source.name} is given twice")
        name = source.name if len(source.name) <= _NAME_CHARACTERS else f"…{source.name[1 - _NAME_CHARACTERS :]}"
        while name in found:
            name = f"{len(found)}{name[1:]}"
        found[name] = source
    return found


def read_variables(paths: Iterable[str], given: Iterable[Layer]) -> Variables:
    """Read files of variables, in order, and override them by the single variables in `given`.

    If no file holds an expression, all variables are merged here. Raises `Failure` if a file cannot be read.
    """
    layers = {}
    for path in paths:
        source = files.read(path, max_bytes=_MAX_FILE_BYTES)
        if source.name in layers:
            raise failure.Failure(f"{source.name} is given twice")
        layers[source.name] = _layer(source)
    try:
        if any(_has_expression(layer.values) for layer in layers.values()):
            texts = {name: document.dump_json(layer.values) for name, layer in layers.items()}
            return Variables(document.dump_json(variables.fold(given)), texts)
        return Variables(document.dump_json(variables.fold([*layers.values(), *given])))
    except errors.InvalidField as error:
        raise failure.Failure(str(error)) from error


def read_secrets(given: Iterable[Layer]) -> dict[str, JsonValue]:
    """Return the secret variables by name. Raises `Failure` if one is given twice."""
    found: dict[str, JsonValue] = {}
    for layer in given:
        for name, value in layer.values.items():
            if name in found:
                raise failure.Failure(f"the secret variable {name} is given twice")
            found[name] = value
    return found


def _layer(source: files.Source) -> Layer:
    parts = list(files.parts(source))
    if len(parts) > 1:
        raise failure.Failure(f"{source.name} holds {len(parts)} values; a file of variables is one object")
    try:
        return variables.parse_file("", parts[0].value if parts else None)
    except errors.InvalidField as error:
        raise (parts[0] if parts else source).explain(error.violations) from error


def _has_expression(value: JsonValue) -> bool:
    match value:
        case str():
            return manifest_name.has_expression(value)
        case dict():
            return any(map(_has_expression, value.values()))
        case list():
            return any(map(_has_expression, value))
        case _:
            return False


def explain(violations: Iterable[errors.Violation], sources: Mapping[str, files.Source]) -> failure.Failure:
    """Say where in the files each violation is: `shop.yaml:3:5: resources.web.type: …`."""
    return failure.Failure(*(_sentence(violation, sources) for violation in violations))


def _sentence(violation: errors.Violation, sources: Mapping[str, files.Source]) -> str:
    for name, source in sources.items():
        prefix = parse.child("files", name)
        if violation.field.startswith(prefix):
            within = errors.Violation(violation.field.removeprefix(prefix), violation.description)
            return source.explain([within]).sentences[0]
    return f"{violation.field}: {violation.description}" if violation.field else violation.description
