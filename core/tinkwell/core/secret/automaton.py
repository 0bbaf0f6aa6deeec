"""Finds many patterns in a text at once, in time that grows with the text alone (Aho and Corasick, 1975).

The patterns make a tree of states, one for each different beginning of a pattern. Reading a text, the automaton is in
the state of the longest beginning that the text read so far ends with. Where that has no edge for the next character,
the fallback of a state leads to the next shorter such beginning.

Most states have one edge, which leads to the state of the next number: an edge there is one character in a list. Only
the other edges are in dictionaries, so that a state takes some thirty bytes.
"""

import collections
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

# Where a range begins and where it ends, in characters.
Range: TypeAlias = tuple[int, int]

_ROOT = 0


class Automaton:
    """Patterns of at least two characters each."""

    def __init__(self, patterns: Iterable[str]) -> None:
        # By state: the character that leads to the next number (empty for none), how many characters have been read on
        # the way to it, the length of the longest pattern that ends there, and its fallback.
        self._next = [""]
        self._depth = [0]
        self._longest = [0]
        self._fallback: list[int] = []
        self._branches: dict[int, dict[str, int]] = {}
        heads: dict[str, set[str]] = collections.defaultdict(set)
        for pattern in patterns:
            self._add(pattern)
            heads[pattern[0]].add(pattern[1])
        self._link()
        alternatives = (f"{re.escape(head)}[{''.join(map(re.escape, sorted(heads[head])))}]" for head in sorted(heads))
        # Nothing matches the empty set, which is what stands for no patterns.
        self._head = re.compile("|".join(alternatives) or r"[^\s\S]")

    def open_characters(self, state: int) -> int:
        """Return how many of the characters that were read last may be the beginning of a pattern that goes on."""
        while state != _ROOT and not self._next[state] and state not in self._branches:
            state = self._fallback[state]
        return self._depth[state]

    def scan(self, text: str, state: int = _ROOT) -> tuple[Sequence[Range], int]:
        """Return what the patterns cover, and the state after the text.

        The ranges are in order; those that overlap or touch are one. A range begins before 0 where its pattern began in
        what was read before, which the state stands for.
        """
        following, branches, fallback, longest = self._next, self._branches, self._fallback, self._longest
        covered: list[Range] = []
        place, end = 0, len(text)
        while place < end:
            if state == _ROOT:
                head = self._head.search(text, place)
                # The last character may be the first one of a pattern.
                place = head.start() if head else end - 1
            character = text[place]
            place += 1
            while following[state] != character:
                edges = branches.get(state)
                if edges is not None and character in edges:
                    state = edges[character]
                    break
                if state == _ROOT:
                    break
                state = fallback[state]
            else:
                state += 1
            if longest[state]:
                cover(covered, place - longest[state], place)
        return covered, state

    def _add(self, pattern: str) -> None:
        state = _ROOT
        for number, character in enumerate(pattern):
            known = self._step(state, character)
            if known is None:
                self._branches.setdefault(state, {})[character] = len(self._next)
                self._next += [*pattern[number + 1 :], ""]
                self._depth += range(number + 1, len(pattern) + 1)
                self._longest += [0] * (len(pattern) - number)
                state = len(self._next) - 1
                break
            state = known
        self._longest[state] = len(pattern)

    def _step(self, state: int, character: str) -> int | None:
        if self._next[state] == character:
            return state + 1
        return self._branches.get(state, {}).get(character)

    def _edges(self, state: int) -> Iterator[tuple[str, int]]:
        if self._next[state]:
            yield self._next[state], state + 1
        yield from self._branches.get(state, {}).items()

    def _link(self) -> None:
        """Find the fallbacks, those of shorter beginnings first."""
        self._fallback = [_ROOT] * len(self._next)
        waiting = collections.deque(target for _, target in self._edges(_ROOT))
        while waiting:
            state = waiting.popleft()
            for character, target in self._edges(state):
                shorter = self._fallback[state]
                while (found := self._step(shorter, character)) is None and shorter != _ROOT:
                    shorter = self._fallback[shorter]
                self._fallback[target] = found or _ROOT
                self._longest[target] = max(self._longest[target], self._longest[found or _ROOT])
                waiting.append(target)


def cover(covered: list[Range], begin: int, end: int) -> None:
    """Add a range that ends behind all others; those that it overlaps or touches become a part of it."""
    while covered and covered[-1][1] >= begin:
        begin = min(begin, covered.pop()[0])
    covered.append((begin, end))
