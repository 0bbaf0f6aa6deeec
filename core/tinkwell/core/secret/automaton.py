"""Finds many patterns in a text at once, in time that grows only with the text (Aho and Corasick, 1975).

The patterns make a tree of states, one for each different beginning of a pattern. While it reads a text, the automaton
is in the state of the longest beginning that the text so far ends with. If that state has no edge for the next
character, its fallback leads to the next shorter beginning. Most states have one edge, to the state with the next
number; a list stores such an edge as one character. Only the other edges are in dictionaries, so a state takes about
thirty bytes.
"""

import collections
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

# The beginning and the end of a range, in characters.
Range: TypeAlias = tuple[int, int]

_ROOT = 0


class Automaton:
    """Patterns of at least two characters each."""

    def __init__(self, patterns: Iterable[str]) -> None:
        # By state: the character that leads to the next number ("" for none), the number of characters read on the way
        # to it, the length of the longest pattern that ends there, and its fallback.
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
        # The pattern of an empty set matches nothing.
        self._head = re.compile("|".join(alternatives) or r"[^\s\S]")

    def open_characters(self, state: int) -> int:
        """Return how many of the last characters may be the beginning of an unfinished pattern."""
        while state != _ROOT and not self._next[state] and state not in self._branches:
            state = self._fallback[state]
        return self._depth[state]

    def scan(self, text: str, state: int = _ROOT) -> tuple[Sequence[Range], int]:
        """Return the ranges that the patterns cover, and the state after the text.

        The ranges are in order; those that overlap or touch are joined. A range begins below 0 if its pattern began in
        the text before, which the state represents.
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
        """Compute the fallbacks, those of shorter beginnings first."""
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
    """Add a range that ends after all others; ranges that it overlaps or touches are joined with it."""
    while covered and covered[-1][1] >= begin:
        begin = min(begin, covered.pop()[0])
    covered.append((begin, end))
