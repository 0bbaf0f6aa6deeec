"""What a release is made from: the files of its manifest, and their places in errors."""

from collections.abc import Iterable, Mapping

from tinkwell.cli import failure
from tinkwell.cli.document import files
from tinkwell.core import errors
from tinkwell.core.value import parse

_MAX_FILE_BYTES = 1024 * 1024


def read_files(paths: Iterable[str]) -> dict[str, str]:
    """Read files, and those in folders, as texts by their names in order; raises `Failure` for what cannot be read."""
    found: dict[str, str] = {}
    for path in (each for given in paths for each in files.expand(given)):
        source = files.read(path, max_bytes=_MAX_FILE_BYTES)
        if source.name in found:
            raise failure.Failure(f"{source.name} is given twice")
        found[source.name] = source.text
    return found


def explain(violations: Iterable[errors.Violation], texts: Mapping[str, str]) -> failure.Failure:
    """Say where in the files each violation is: `shop.yaml:3:5: resources.web.type: …`."""
    return failure.Failure(*(_sentence(violation, texts) for violation in violations))


def _sentence(violation: errors.Violation, texts: Mapping[str, str]) -> str:
    for name, text in texts.items():
        prefix = parse.child("files", name)
        if violation.field.startswith(prefix):
            within = errors.Violation(violation.field.removeprefix(prefix), violation.description)
            return files.Source(name, text).explain([within]).sentences[0]
    return f"{violation.field}: {violation.description}" if violation.field else violation.description
