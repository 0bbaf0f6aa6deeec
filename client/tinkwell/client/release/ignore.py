"""The rules of `.helmignore`: which files of a chart's folder are not packed.

A pattern without a slash means names anywhere; one with a slash inside or before it, paths from the chart's folder on.
A slash behind it means folders alone. `*`, `?` and `[…]` match within a name. `!` takes back what former lines say.
"""

import fnmatch
from dataclasses import dataclass

from tinkwell.core import errors

# What no chart is made of. Helm leaves out the last one as well.
_ALWAYS = (".git", ".hg", ".svn", ".DS_Store", "/templates/.?*")


@dataclass(frozen=True, slots=True)
class _Rule:
    parts: tuple[str, ...]
    is_anchored: bool
    is_for_folders: bool
    takes_back: bool

    def matches(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        if self.is_for_folders and not is_folder:
            return False
        compared = parts if self.is_anchored else parts[-1:]
        return len(compared) == len(self.parts) and all(map(fnmatch.fnmatchcase, compared, self.parts))


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one file, in their order; the last one that matches decides."""

    rules: tuple[_Rule, ...]

    @classmethod
    def parse(cls, field: str, text: str) -> "Rules":
        """Read the lines of a file. Raises `errors.ChartInvalid`."""
        rules = [_rule(line) for line in _ALWAYS]
        for number, line in enumerate(text.splitlines(), 1):
            pattern = line.strip()
            if not pattern or pattern.startswith("#"):
                continue
            if "**" in pattern:
                raise errors.ChartInvalid.of(
                    field, f"line {number}, column 1: ** means nothing here; write one line for each level"
                )
            rules.append(_rule(pattern))
        return cls(tuple(rules))

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether a path is left out; what is below a folder that is, is left out as well."""
        parts = tuple(path.split("/"))
        found = [rule for rule in self.rules if rule.matches(parts, is_folder=is_folder)]
        return bool(found) and not found[-1].takes_back


def _rule(pattern: str) -> _Rule:
    takes_back = pattern.startswith("!")
    # A set of all characters but some is [^…] for Helm and [!…] for Python.
    pattern = pattern.removeprefix("!").replace("[^", "[!")
    is_for_folders = pattern.endswith("/")
    path = pattern.removesuffix("/")
    return _Rule(tuple(path.removeprefix("/").split("/")), "/" in path, is_for_folders, takes_back)
