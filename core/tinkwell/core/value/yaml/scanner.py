"""The scanner for all YAML that Tinkwell reads, which accepts tabs where YAML allows them.

YAML separates tokens by spaces and tabs, and indents by spaces alone. Outside of brackets the library's own scanner
accepts only spaces. This scanner accepts a tab

* between tokens of a line, as libyaml and YAML 1.2 do: `image:<TAB>x`, `a<TAB># why`, and as a part of the text in
  `a: b<TAB>c`,
* after `-`, `?` and a `:` that belongs to a `?`, as YAML 1.2 does, unless a list or a mapping begins there: the column
  of the tab would then indent its items,
* in lines that are otherwise empty, or have only a comment.

A tab that would indent something is refused, with its place.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import ruamel.yaml
from ruamel.yaml import scanner

MAX_TAG_CHARACTERS = 100

_BLANKS = re.compile(r"[ \t]*")
_TAB_AHEAD = re.compile("[ \r\n\x85\u2028\u2029]*\t")
_LINE_ENDS = "\0\r\n\x85\u2028\u2029"
_INDENTS = "a tab indents this line; write spaces instead"
_BEGINS = "a tab is before a list or mapping that begins in this line; write a space instead"


def yaml() -> ruamel.yaml.YAML:
    """Return a reader of YAML 1.2 that builds only plain values, with this scanner."""
    reader = ruamel.yaml.YAML(typ="safe", pure=True)
    reader.Scanner = Scanner
    return reader


class _Spaced:
    """A reader whose tabs look like spaces, from a column on."""

    def __init__(self, reader: Any, from_column: int) -> None:
        self._reader = reader
        self._from_column = from_column

    def peek(self, offset: int = 0) -> str:
        character: str = self._reader.peek(offset)
        is_space = character == "\t" and self._reader.column + offset >= self._from_column
        return " " if is_space else character

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


class Scanner(scanner.Scanner):
    """The library's scanner, with tabs, and with clear errors for two mistakes.

    The parser's time for a tag grows with the square of its length, so the length of tags is limited.
    """

    # The line of the last tab at a place where a list or a mapping might begin.
    _tabbed_line = -1

    def fetch_more_tokens(self) -> Any:
        """Fetch the next token; if a tab prevents one from beginning, the error names the tab."""
        try:
            return super().fetch_more_tokens()
        except scanner.ScannerError as error:
            is_kept = str(error.problem or "").endswith("not allowed here")
            if is_kept and self._tabbed_line == self.reader.line:
                raise scanner.ScannerError(None, None, _BEGINS, error.problem_mark) from error
            raise

    def scan_to_next_token(self) -> None:
        """Go to the next token, also past separating tabs."""
        super().scan_to_next_token()
        while not self.flow_level and self.reader.peek() == "\t":
            self._pass_tab()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: object) -> Any:
        """Read the white space between two words of a plain text, including tabs; a tab in indentation ends it."""
        if not _TAB_AHEAD.match(self.reader.buffer, self.reader.pointer):
            return super().scan_plain_spaces(indent, start_mark)
        with self._spaced(0 if self.flow_level else indent):
            return super().scan_plain_spaces(indent, start_mark)

    def scan_tag(self) -> Any:
        """Scan a tag, which a tab may end."""
        with self._spaced():
            return super().scan_tag()

    def scan_directive(self) -> Any:
        """Scan a line such as `%YAML 1.2`."""
        with self._spaced():
            return super().scan_directive()

    def scan_block_scalar_indicators(self, start_mark: object) -> Any:
        """Scan the text after `|` or `>`."""
        with self._spaced():
            return super().scan_block_scalar_indicators(start_mark)

    def scan_block_scalar_ignored_line(self, start_mark: object) -> Any:
        """Scan the rest of the line of `|` or `>`."""
        with self._spaced():
            return super().scan_block_scalar_ignored_line(start_mark)

    def scan_flow_scalar_non_spaces(self, double: bool, start_mark: object) -> list[str]:
        """Scan a part of a quoted text."""
        try:
            chunks: list[str] = super().scan_flow_scalar_non_spaces(double, start_mark)
        except (ValueError, OverflowError) as exc:
            raise scanner.ScannerError(None, None, "an escape is beyond Unicode", start_mark) from exc
        return chunks

    def scan_tag_uri(self, name: object, start_mark: object) -> str:
        """Scan a tag without its `!`."""
        uri: str = super().scan_tag_uri(name, start_mark)
        if len(uri) > MAX_TAG_CHARACTERS:
            raise scanner.ScannerError(None, None, "the tag is too long", start_mark)
        return uri

    def _pass_tab(self) -> None:
        """Skip the next tab and the blanks after it, in the block context."""
        reader = self.reader
        blanks = _BLANKS.match(reader.buffer, reader.pointer)
        assert blanks is not None  # it is also true at the start of a line
        is_first = not reader.buffer[reader.pointer - reader.column : reader.pointer].strip(" ")
        if is_first and reader.buffer[blanks.end()] not in f"{_LINE_ENDS}#":
            raise scanner.ScannerError(None, None, _INDENTS, reader.get_mark())
        if not is_first and self.allow_simple_key:
            self.allow_simple_key = False
            self._tabbed_line = reader.line
        reader.forward(len(blanks[0]))

    @contextlib.contextmanager
    def _spaced(self, from_column: int = 0) -> Iterator[None]:
        """Let tabs look like spaces to the library for the time of the context."""
        reader = self.reader
        self._scanner_reader = _Spaced(reader, from_column)
        try:
            yield
        finally:
            self._scanner_reader = reader
