"""Secrets in what people read: found however they are written, and nothing else."""

import base64
import decimal
import html
import itertools
import json
import math
import random
import re
import urllib.parse
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.secret import text
from tinkwell.core.secret.automaton import Automaton
from tinkwell.core.secret.mask import MASK, Masker
from tinkwell.core.value.document import JsonValue

SECRET = 'pa$$ w*rd+("\\é/<&>'
KEY = "-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf\n9Cnzj4p4WGeKLs1Pt8Qu\nab\n-----END KEY-----\n"


def pieces_of(whole: str, cuts: Iterable[int]) -> list[str]:
    places = [0, *sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]
    return [whole[first:end] for first, end in itertools.pairwise(places)]


def streamed(masker: Masker, pieces: Iterable[str]) -> str:
    stream = masker.stream()
    return "".join([*map(stream.feed, pieces), stream.flush()])


def golang(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@pytest.mark.parametrize(
    "write",
    [
        str,
        repr,
        json.dumps,
        lambda secret: json.dumps(secret, ensure_ascii=False),
        lambda secret: json.dumps(json.dumps({"password": secret})),
        lambda secret: json.dumps(secret).replace("/", "\\/"),
        golang,
        html.escape,
        urllib.parse.quote,
        urllib.parse.quote_plus,
        lambda secret: urllib.parse.quote(secret, safe=""),
        lambda secret: urllib.parse.quote(secret, safe="!'()*"),
        lambda secret: urllib.parse.quote(secret, safe=";,/?:@&=+$!'()*#"),
        lambda secret: re.sub("%..", lambda found: found[0].lower(), urllib.parse.quote(secret, safe="")),
    ],
)
def test_a_secret_is_masked_however_it_is_written(write: Callable[[str], str]) -> None:
    masked = Masker([SECRET]).mask(f"a {write(SECRET)} b")
    assert re.fullmatch(rf"a [^$]*{MASK}[^$]* b", masked)
    assert not any(part in urllib.parse.unquote(masked) for part in ("pa$", "w*rd", "é"))


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("after", range(3))
def test_a_secret_in_base64_is_masked_wherever_it_begins(
    encode: Callable[[bytes], bytes], before: int, after: int
) -> None:
    secret = b"\xc3\xbf\xc3\xbb>?>?hunter22".decode()
    encoded = encode(b"x" * before + secret.encode() + b"y" * after).decode()
    begin, mask, end = Masker([secret]).mask(encoded).partition(MASK)
    assert mask
    assert encoded.startswith(begin)
    assert encoded.endswith(end)
    # What is left are the characters that it shares with what stands around it.
    assert len(begin) <= before * 8 / 6 + 1
    assert len(end.rstrip("=")) <= (math.ceil(after * 8 / 6) + 1 if after else 0)


def test_characters_that_mean_something_to_regular_expressions_mean_nothing() -> None:
    secrets = [".*.*.*", "[a-z]+$", "^(?:x)*", "\\d{1,9}", "a|b|c|d", "-]^[--&&~~", "((((((("]
    masker = Masker(secrets)
    assert masker.mask("anything at all, abcdef") == "anything at all, abcdef"
    assert masker.mask(" ".join(secrets)) == " ".join([MASK] * len(secrets))


@pytest.mark.parametrize(
    ("secrets", "written", "masked"),
    [
        (["abcdef", "defghi"], "xabcdefghiy", f"x{MASK}y"),
        (["abcdef", "cdefgh", "efghij"], "abcdefghij", MASK),
        (["abcdef", "abcdefgh"], "abcdefgh abcdef", f"{MASK} {MASK}"),
        (["abcdefgh", "cdefgh"], "abcdefgh cdefgh", f"{MASK} {MASK}"),
        (["abcdefgh", "bcdefg"], "abcdefx bcdefgx abcdefgh", f"abcdefx {MASK}x {MASK}"),
        (["abcabcabd"], "abcabcabcabd", f"abc{MASK}"),
        (["aaaaaa"], "a" * 5 + " " + "a" * 100, "aaaaa " + MASK),
        (["abcdef", "ghijkl"], "abcdefghijkl", MASK),
        ([MASK], f"a {MASK} b", f"a {MASK} b"),
    ],
)
def test_secrets_that_overlap_are_masked_as_one(secrets: list[str], written: str, masked: str) -> None:
    assert Masker(secrets).mask(written) == masked
    assert streamed(Masker(secrets), written) == masked


def test_a_secret_of_several_lines_is_masked_whole_line_by_line_and_indented() -> None:
    masker = Masker([KEY])
    assert masker.mask(f"key: {KEY.strip()}.") == f"key: {MASK}."
    assert masker.mask(f"key: {KEY}.") == f"key: {MASK}\n."
    lines = [masker.mask(line) for line in KEY.splitlines()]
    # A line of two characters says nothing, and would be found in every word.
    assert lines == [MASK, MASK, MASK, "ab", MASK]
    indented = "".join(f"    {line}\n" for line in KEY.splitlines())
    assert set(masker.mask(indented).split()) == {MASK, "ab"}
    assert masker.mask(json.dumps(KEY)) == f'"{MASK}\\n"'
    assert masker.mask(KEY.replace("\n", "\r\n").strip()).count(MASK) == 4


def test_a_secret_with_windows_line_ends_is_found_with_others() -> None:
    assert Masker(["first line\r\nab\r\nlast line"]).mask("first line\nab\nlast line") == MASK


def test_white_space_around_a_secret_is_no_part_of_it() -> None:
    assert Masker(["hunter22\n"]).mask("password hunter22!") == f"password {MASK}!"


def test_without_secrets_nothing_is_masked() -> None:
    masker = Masker([])
    assert masker.mask("anything") == "anything"
    assert masker.mask("") == ""
    assert streamed(masker, ["any", "", "thing"]) == "anything"
    assert Masker([""]).mask("anything") == "anything"


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(errors.InvalidField, match="at least 6 are needed"):
        Masker(["long enough", "short"])


def test_json_is_masked_in_strings_keys_and_numbers() -> None:
    masker = Masker(["hunter22", "1234567"])
    document: JsonValue = {
        "url": "postgresql://u:hunter22@h/d",
        "list": [None, True, 1, decimal.Decimal("1.5"), {"hunter22": 1}],
        "pin": 1234567,
        "more": decimal.Decimal("12345678.50"),
    }
    assert masker.mask_json(document) == {
        "url": f"postgresql://u:{MASK}@h/d",
        "list": [None, True, 1, decimal.Decimal("1.5"), {MASK: 1}],
        "pin": MASK,
        "more": MASK,
    }


def test_what_cannot_become_a_secret_any_more_is_not_held_back() -> None:
    stream = Masker(["hunter22"]).stream()
    assert stream.feed("a line hunt") == "a line "
    assert stream.feed("er2") == ""
    assert stream.feed("1, and hunter22") == f"hunter21, and {MASK}"
    assert stream.feed("h") == ""
    assert stream.flush() == "h"
    assert stream.feed("unter22") == "unter22"
    assert Masker(["hunter22", "hunter22-and-more"]).stream().feed("hunter22") == ""


def test_pieces_of_a_line_that_was_cut_in_a_secret_are_masked() -> None:
    stream = Masker(["hunter22-and-more"]).stream()
    given = [stream.feed("x" * 16 + "hunter22-"), stream.feed("and-more" + "y" * 16), stream.flush()]
    assert given == ["x" * 16, MASK + "y" * 16, ""]


ALPHABET = st.sampled_from("ab\n")
SECRETS = st.lists(
    st.text(ALPHABET, min_size=6, max_size=12).filter(lambda secret: len(secret.strip()) >= 6), max_size=4
)


@given(SECRETS, st.text(ALPHABET, max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_a_text_in_pieces_is_masked_as_the_whole_text_is(secrets: list[str], whole: str, cuts: list[int]) -> None:
    masker = Masker(secrets)
    assert streamed(masker, pieces_of(whole, cuts)) == masker.mask(whole)


@given(SECRETS, st.text(ALPHABET, max_size=60))
def test_what_is_masked_is_what_the_forms_cover(secrets: list[str], whole: str) -> None:
    masker = Masker(secrets)
    covered = [False] * len(whole)
    for form in text.forms(text.texts_of(("", secret) for secret in secrets)):
        for found in re.finditer(f"(?={re.escape(form)})", whole):
            covered[found.start() : found.start() + len(form)] = [True] * len(form)
    shown = [None if is_covered else character for character, is_covered in zip(whole, covered, strict=True)]
    expected = "".join(
        MASK if character is None else character
        for index, character in enumerate(shown)
        if character is not None or index == 0 or shown[index - 1] is not None
    )
    assert masker.mask(whole) == expected
    assert masker.finds(whole) == any(covered)


def test_a_thousand_secrets_are_found_in_ten_megabytes() -> None:
    chance = random.Random(7)
    secrets = [f"{chance.getrandbits(96):024x}" for _ in range(text.MAX_TEXTS)]
    masker = Masker(secrets)
    line = "2026-01-01T00:00:00 INFO resource=db something was done, and took 12 ms: {}\n"
    whole = "".join(line.format(secrets[number % 1_000] if number % 10 == 0 else number) for number in range(140_000))
    assert len(whole) > 10_000_000
    masked = masker.mask(whole)
    assert masked.count(MASK) == 14_000
    assert masked == re.sub("(?<=: )[0-9a-f]{24}", MASK, whole)


class Counted:
    """Edges of an automaton; counts how often one is looked for."""

    def __init__(self, edges: dict[int, dict[str, int]]) -> None:
        self._edges = edges
        self.looks = 0

    def get(self, state: int) -> dict[str, int] | None:
        self.looks += 1
        return self._edges.get(state)


@pytest.mark.parametrize("size", [10_000, 20_000, 40_000])
def test_hostile_texts_cost_no_more_than_two_steps_for_each_character(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each place looks like the beginning of a secret that is longer than any of those texts has patience for.
    automaton = Automaton(["a" * 5_000 + "b", "a" * 2_500 + "c", *(f"{'a' * length}d" for length in range(1, 500))])
    edges = Counted(automaton._branches)
    monkeypatch.setattr(automaton, "_branches", edges)
    for whole in ("a" * size, ("a" * 4_999 + "x") * (size // 5_000), "ab" * (size // 2)):
        automaton.scan(whole)
    assert 0 < edges.looks <= 3 * 2 * size


@given(st.text("xyz…"), st.integers(0, 40), st.text("xyz…"))
def test_what_is_cut_short_shows_no_more_of_a_secret_than_any_text_may_have(
    before: str, shown: int, after: str
) -> None:
    secret = "0123456789abcdefghijABCDEFGHIJ"
    text_of = f"{before}{secret[:shown]}…{after}"
    masked = Masker([secret]).mask_excerpt(text_of)
    kept = secret[:shown] if shown < text.MIN_BYTES else ""
    assert masked == (f"{before}{kept or MASK}…{after}" if shown else text_of)


@given(st.lists(st.integers(0, 2**16), max_size=60))
def test_pieces_that_are_shown_by_themselves_show_no_secret_that_goes_over_them(cuts: list[int]) -> None:
    secret = "0123456789abcdefghijABCDEFGHIJ"
    stream = Masker([secret]).stream()
    whole = f"first {secret} and then {secret}-{secret}"
    shown = [stream.feed(piece) + stream.cut() for piece in pieces_of(whole, cuts)]
    plain = "".join([*shown, stream.flush()]).replace(MASK, "")
    windows = {secret[place : place + text.MIN_BYTES] for place in range(len(secret) - text.MIN_BYTES + 1)}
    assert not any(window in plain for window in windows)
    assert plain.startswith("first ")
    assert " and then " in plain


def test_a_stream_goes_on_after_a_cut() -> None:
    stream = Masker(["hunter22", "other secret"]).stream()
    assert stream.feed("a hunt") + stream.cut() == "a hunt"
    assert stream.feed("er22 is, and hunter") + stream.cut() == f"{MASK} is, and {MASK}"
    assert stream.feed("22 ends; other") + stream.cut() == f"{MASK} ends; other"
    assert stream.feed(" things") + stream.flush() == " things"
