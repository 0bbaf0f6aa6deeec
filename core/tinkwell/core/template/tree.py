"""Strict YAML for templates: a tree of scalars, lists and mappings, each with its place in the source.

The tree is built from the parser's events without recursion, so that too deep nesting is refused early. Aliases share
their node. The size that the tree would have with copied aliases is counted during the build, so that an alias bomb is
refused before any code walks through it. A scalar keeps its source text (`0.1`, `yes`, `1.50`); the reader decides what
the text means.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from tinkwell.core import errors
from tinkwell.core.template.gotemplate import program
from tinkwell.core.value import parse
from tinkwell.core.value.yaml import event as yaml_event
from tinkwell.core.value.yaml.event import Kind

MAX_DEPTH = 32

_TAG_PREFIX = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset({"null", "bool", "int", "float"})
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text. `is_plain`: written without quotes. `has_value`: a part of it comes from the values.

    `is_opaque`: that part is not known yet, so the text cannot be checked.
    """

    start: int
    text: str
    is_plain: bool
    has_value: bool
    is_opaque: bool

    @property
    def is_null(self) -> bool:
        """Whether the scalar is YAML's null. A value is never null, whatever its text is."""
        return self.is_plain and not self.has_value and self.text in _NULLS


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    start: int
    items: list["Node"]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping in the order of its document, including merged keys (`<<`)."""

    start: int
    entries: dict[str, "Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping with its value."""

    key: Scalar
    node: "Node"


Node: TypeAlias = Scalar | Sequence | Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits of a tree: its texts, lists and mappings, and the characters of the texts, with aliases copied."""

    nodes: int
    characters: int


FULL = Bounds(nodes=100_000, characters=4 * 1024 * 1024)


class TooLarge(errors.InvalidField):
    """The tree exceeds its limits."""


def compose(
    field: str,
    output: program.Output,
    *,
    allows_repeated_keys: bool = False,
    events: Iterable[yaml_event.Event] | None = None,
    bounds: Bounds = FULL,
) -> Node | None:
    """Build the tree of a text's only document; None if it is empty.

    `events` are the parser's events of the text, if they are known; parsing takes by far the most time. Raises
    InvalidField with the line and column for text that is not YAML, for a second document, for tags other than the core
    ones, for keys that are not text or occur twice, for aliases that contain themselves, and for trees that are too
    deep; and TooLarge.
    """
    known = yaml_event.parse(output.text) if events is None else events
    return _Composer(field, output, known, bounds, allows_repeated_keys=allows_repeated_keys).compose()


def check_characters(field: str, text: str) -> None:
    """Refuse characters that YAML does not allow, such as control characters and lone surrogates."""
    if found := _UNPRINTABLE.search(text):
        place = program.place(text, found.start())
        raise errors.InvalidField.of(field, f"{place}: the character {parse.show(found[0])} is not allowed in YAML")


@dataclass(slots=True)
class _Size:
    """The size of a node if aliases were copied."""

    nodes: int = 1
    characters: int = 0
    depth: int = 1


@dataclass(slots=True)
class _Open:
    """A list or mapping that is not closed yet; `children` has a mapping's keys and values in turn."""

    start: int
    is_mapping: bool
    anchor: str | None
    size: _Size = field(default_factory=_Size)
    children: list[Node] = field(default_factory=list)


class _Composer:
    def __init__(
        self,
        field: str,
        output: program.Output,
        events: Iterable[yaml_event.Event],
        bounds: Bounds,
        *,
        allows_repeated_keys: bool,
    ) -> None:
        self._field = field
        self._output = output
        self._found = events
        self._bounds = bounds
        self._allows_repeated_keys = allows_repeated_keys
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, _Size] | None] = {}  # None until it is closed.
        self._root: Node | None = None
        self._documents = 0

    def compose(self) -> Node | None:
        for event in self._events():
            match event.kind:
                case Kind.DOCUMENT:
                    self._documents += 1
                    if self._documents > 1:
                        raise self._fault(event.start, "a second document begins; only one is allowed")
                case Kind.ALIAS:
                    self._alias(event)
                case Kind.SCALAR:
                    self._scalar(event)
                case Kind.SEQUENCE | Kind.MAPPING:
                    self._begin(event)
                case Kind.END:
                    self._end()
                case _:
                    assert_never(event.kind)
        return self._root

    def _events(self) -> Iterator[yaml_event.Event]:
        """Yield the parser's events, with its errors as InvalidField."""
        try:
            yield from self._found
        except yaml_event.Malformed as exc:
            raise self._fault(exc.start, f"{parse.excerpt(exc.problem)} (not YAML)") from exc

    def _begin(self, event: yaml_event.Event) -> None:
        is_mapping = event.kind is Kind.MAPPING
        start = event.start
        if event.tag not in ("", "!", f"{_TAG_PREFIX}{'map' if is_mapping else 'seq'}"):
            raise self._fault(start, f"the tag {parse.show(event.tag)} is not allowed here")
        if event.anchor:
            self._check_anchor(event.anchor, start)
            self._anchors[event.anchor] = None
        self._open.append(_Open(start, is_mapping, event.anchor))
        self._check_size(start, _Size(depth=len(self._open)))

    def _end(self) -> None:
        closed = self._open.pop()
        node = self._mapping(closed) if closed.is_mapping else Sequence(closed.start, closed.children)
        self._add(node, closed.size, closed.anchor)

    def _alias(self, event: yaml_event.Event) -> None:
        start = event.start
        self._check_anchor(event.anchor, start)
        if event.anchor not in self._anchors:
            raise self._fault(start, f"the anchor {parse.show(event.anchor)} is not defined")
        anchored = self._anchors[event.anchor]
        if anchored is None:
            raise self._fault(start, f"the anchor {parse.show(event.anchor)} contains itself")
        node, size = anchored
        self._check_size(start, _Size(depth=len(self._open) + size.depth))
        self._add(node, size, None)

    def _scalar(self, event: yaml_event.Event) -> None:
        start = event.start
        tag = event.tag.removeprefix(_TAG_PREFIX)
        if tag not in ("", "!", "str") and tag not in _PLAIN_TAGS:
            raise self._fault(start, f"the tag {parse.show(event.tag)} is not allowed here")
        if event.anchor:
            self._check_anchor(event.anchor, start)
        is_plain = tag in _PLAIN_TAGS or (not tag and not event.style)
        text, has_value = event.value, self._output.has_value(event.value)
        if has_value:
            if event.style == '"' and self._output.is_forged(text, start=start, end=event.end):
                raise self._fault(start, "an escape makes a character that is reserved; leave it out")
            text = self._output.fill(text, is_plain=is_plain)
        if found := _UNSTORABLE.search(text):
            raise self._fault(start, f"the text holds the character {parse.show(found[0])}, which cannot be stored")
        node = Scalar(start, text, is_plain, has_value, is_opaque=has_value and self._output.is_outline)
        self._add(node, _Size(characters=len(text)), event.anchor)

    def _add(self, node: Node, size: _Size, anchor: str | None) -> None:
        """Add a finished node, with its size, to the open list or mapping."""
        if anchor:
            self._anchors[anchor] = (node, size)
        if not self._open:
            self._root = node
            return
        parent = self._open[-1]
        parent.children.append(node)
        parent.size.nodes += size.nodes
        parent.size.characters += size.characters
        parent.size.depth = max(parent.size.depth, size.depth + 1)
        self._check_size(node.start, parent.size)

    def _mapping(self, closed: _Open) -> Mapping:
        entries: dict[str, Entry] = {}
        merged: list[Mapping] = []
        seen_merge = False
        for key, node in zip(closed.children[::2], closed.children[1::2], strict=True):
            if not isinstance(key, Scalar):
                raise self._fault(key.start, "a key must be text; put quotes around it")
            if key.text == "<<" and key.is_plain and not key.has_value:
                if seen_merge:
                    raise self._fault(key.start, "the key << occurs twice; merge a list of aliases instead")
                seen_merge = True
                merged = self._merged(node)
                continue
            if key.text in entries and not self._allows_repeated_keys:
                raise self._fault(key.start, f"the key {parse.show(key.text)} occurs twice")
            entries[key.text] = Entry(key, node)
        for mapping in merged:
            for name, entry in mapping.entries.items():
                entries.setdefault(name, entry)
        return Mapping(closed.start, entries)

    def _merged(self, node: Node) -> list[Mapping]:
        nodes = node.items if isinstance(node, Sequence) else [node]
        mappings = [item for item in nodes if isinstance(item, Mapping)]
        if len(mappings) != len(nodes):
            raise self._fault(node.start, "<< merges a mapping, or a list of mappings")
        return mappings

    def _check_anchor(self, anchor: str, start: int) -> None:
        if self._output.has_value(anchor):
            raise self._fault(start, "the name of an anchor cannot come from a value")

    def _check_size(self, start: int, size: _Size) -> None:
        if size.depth > MAX_DEPTH:
            raise self._fault(start, f"is nested deeper than {MAX_DEPTH} levels")
        for count, most, what in (
            (size.nodes, self._bounds.nodes, "texts, lists and mappings"),
            (size.characters, self._bounds.characters, "characters"),
        ):
            if count > most:
                description = f"has more than {most:,} {what}, aliases counted in full"
                raise TooLarge.of(self._field, f"{self._output.place(start)}: {description}")

    def _fault(self, start: int, description: str) -> errors.InvalidField:
        return errors.InvalidField.of(self._field, f"{self._output.place(start)}: {description}")
