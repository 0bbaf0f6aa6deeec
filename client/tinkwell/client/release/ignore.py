"""The rules of `.helmignore`: which files of a chart's folder are not packed.

A pattern without a slash matches names in any folder. A pattern with a slash inside or before it matches paths from the
chart's folder on. With a slash at its end, it matches only folders. `*`, `?` and `[…]` match within a name. `!` cancels
former lines for what it matches.
"""

import fnmatch
from dataclasses import dataclass

from tinkwell.core import errors

# Files that are never packed. Helm leaves out the last pattern as well.
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
    """The rules of one file, in their order; the last matching rule decides."""

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
        """Say whether a path is left out. If a folder is left out, so is everything in it."""
        parts = tuple(path.split("/"))
        found = [rule for rule in self.rules if rule.matches(parts, is_folder=is_folder)]
        return bool(found) and not found[-1].takes_back


def _rule(pattern: str) -> _Rule:
    takes_back = pattern.startswith("!")
    # Helm writes a negated set of characters as [^…], Python as [!…].
    pattern = pattern.removeprefix("!").replace("[^", "[!")
    is_for_folders = pattern.endswith("/")
    path = pattern.removesuffix("/")
    return _Rule(tuple(path.removeprefix("/").split("/")), "/" in path, is_for_folders, takes_back)
