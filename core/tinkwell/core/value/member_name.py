"""The names of an archive's members: plain paths that make the same files on every system."""

import unicodedata

from tinkwell.core import errors
from tinkwell.core.value import parse

MAX_PATH_BYTES = 1_024
# Ten levels of charts take two folders each; the rest is for the files of the lowest chart.
MAX_FOLDERS = 32


class Names:
    """The members so far: they must make the same files on systems that ignore case and on those that do not.

    `content` is the word for what the archive holds, such as `chart`.
    """

    def __init__(self, content: str) -> None:
        self._content = content
        # By folded path: the path as written, and whether it is a folder.
        self._known: dict[str, tuple[str, bool]] = {}
        self._seen: set[tuple[str, ...]] = set()

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, name: str, *, is_folder: bool) -> tuple[str, ...]:
        """Add a member and the folders above it, and return the parts of its path.

        Raises `ValueError` that says what is wrong with the name, and what to do.
        """
        parts = split(name, self._content)
        if parts in self._seen:
            raise ValueError("occurs twice; pack each file once")
        self._seen.add(parts)
        # Folding is slow for some letters. It works part by part, so one call folds all folders of the path.
        folded = _fold("/".join(parts)).split("/")
        for depth in range(1, len(parts) + 1):
            here, needs_folder = "/".join(parts[:depth]), is_folder or depth < len(parts)
            known, was_folder = self._known.setdefault("/".join(folded[:depth]), (here, needs_folder))
            if known != here:
                difference = "only in case or in how accents are written"
                raise ValueError(f"differs from {parse.show(known)} {difference}; rename one of them")
            if was_folder is not needs_folder:
                raise ValueError("is a file and a folder at once; rename one of them")
        return parts


def split(name: str, content: str) -> tuple[str, ...]:
    """Split the path of a member; raises `ValueError` if it is not a plain path."""
    path = name.removesuffix("/")
    parts = tuple(path.split("/"))
    if name.startswith("/"):
        raise ValueError(f"has an absolute path; write it relative to the {content}'s folder")
    if not {"", ".", ".."}.isdisjoint(parts) or "\\" in path:
        raise ValueError(rf"is not a plain path; write it without .., ., // and \ in the {content}'s folder")
    if len(parts) > MAX_FOLDERS + 1:
        raise ValueError(f"lies in more than {MAX_FOLDERS} folders; move it up")
    try:
        parse.parse_text("", path, max_bytes=MAX_PATH_BYTES)
    except errors.InvalidField as error:
        reason = error.violations[0].description
        raise ValueError(f"has a name that cannot be taken: it {reason}; rename it") from error
    return parts


def _fold(name: str) -> str:
    """Return the same text for all names that are the same file on some system."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
