"""Packing charts, and unpacking archives from strangers."""

import contextlib
import gzip
import io
import random
import tarfile
import tracemalloc
import zlib
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.release.chart.file import archive

FILES = {"Chart.yaml": b"name: foo\n", "values.yaml": b"", "templates/web.yaml": b"resources: {}\n"}

_SEGMENTS = st.text(st.sampled_from("abcXYZ019-_. äßé€"), min_size=1, max_size=12).filter(
    lambda text: text not in {".", ".."}
)
_PATHS = st.lists(_SEGMENTS, min_size=1, max_size=4).map("/".join)


def tar(*members: tuple[tarfile.TarInfo, bytes], end: bool = True) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as opened:
        for header, content in members:
            opened.addfile(header, io.BytesIO(content))
    data = buffer.getvalue()
    return data if end else data[: len(data.rstrip(b"\0")) + -len(data.rstrip(b"\0")) % 512]


def member(name: str, content: bytes = b"x", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(name)
    header.size = len(content)
    for field, value in fields.items():
        setattr(header, field, value)
    return header, content


def zipped(data: bytes) -> bytes:
    """The same at any time: names of tests are made of it, which must not differ between processes."""
    return gzip.compress(data, mtime=0)


def packed(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    return zipped(tar(*members))


def refused(data: bytes) -> str:
    with pytest.raises(errors.ChartInvalid) as caught:
        archive.unpack(data)
    return "; ".join(f"{violation.field}: {violation.description}" for violation in caught.value.violations)


def is_packable(paths: Mapping[str, bytes]) -> bool:
    """Tell whether no path is a folder of another, or differs from it in case only."""
    folders = {path[:at] for path in paths for at, character in enumerate(path) if character == "/"}
    return len({path.casefold() for path in {*folders, *paths}}) == len(folders) + len(paths)


@given(st.dictionaries(_PATHS, st.binary(max_size=2_000), min_size=1, max_size=8).filter(is_packable))
def test_what_is_packed_is_unpacked_as_it_was(files: dict[str, bytes]) -> None:
    assert archive.unpack(archive.pack("foo", files)) == files


def test_the_same_files_give_the_same_bytes_and_digest_in_any_order() -> None:
    first = archive.pack("foo", FILES)
    assert archive.pack("foo", dict(reversed(FILES.items()))) == first
    assert archive.digest(first) == archive.digest(archive.pack("foo", archive.unpack(first)))
    assert archive.digest(first).startswith("sha256:")
    assert len(archive.digest(first)) == len("sha256:") + 64
    assert archive.digest(archive.pack("bar", FILES)) != archive.digest(first)


def test_members_are_sorted_and_say_nothing_of_who_packed_them_and_when() -> None:
    data = archive.pack("foo", FILES)
    assert data[4:8] == bytes(4)
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        members = opened.getmembers()
    assert [found.name for found in members] == ["foo/Chart.yaml", "foo/templates/web.yaml", "foo/values.yaml"]
    assert {(found.mtime, found.uid, found.gid, found.uname, found.gname, found.mode) for found in members} == {
        (0, 0, 0, "", "", 0o644)
    }


def test_long_names_and_names_beyond_ascii_are_packed() -> None:
    files = {f"files/{'a' * 200}/{'ü' * 150}": b"1"}
    assert archive.unpack(archive.pack("foo", files)) == files


def test_an_archive_of_other_tools_is_taken() -> None:
    data = packed(
        member("./foo", b"", type=tarfile.DIRTYPE),
        member("./foo/Chart.yaml", b"a", mtime=1_700_000_000, uid=1000, uname="ada", mode=0o600),
        member("./foo/templates/", b"", type=tarfile.DIRTYPE),
        member("foo/templates/a.yaml", b"b"),
        member("foo/empty", b"", type=tarfile.DIRTYPE),
    )
    assert archive.unpack(data) == {"Chart.yaml": b"a", "templates/a.yaml": b"b"}


def test_fields_in_the_head_of_gzip_are_skipped() -> None:
    # As Helm writes it: bytes of its own, and a comment.
    content = tar(member("foo/Chart.yaml", b"a"))
    head = b"\x1f\x8b\x08" + bytes([4 | 16]) + bytes(6) + b"\x03\x00+ab" + b"Helm\0"
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(content) + packer.flush()
    tail = zlib.crc32(content).to_bytes(4, "little") + len(content).to_bytes(4, "little")
    assert archive.unpack(head + body + tail) == {"Chart.yaml": b"a"}


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_form_of_tar_is_taken(form: int) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=form) as opened:
        header, content = member(f"foo/{'d' * 90}/{'f' * 90}")
        opened.addfile(header, io.BytesIO(content))
    assert archive.unpack(buffer.getvalue()) == {f"{'d' * 90}/{'f' * 90}": b"x"}


@pytest.mark.parametrize(
    ("poison", "expected"),
    [
        (
            member("foo/a", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
            "foo/a: is a link; put the file itself in",
        ),
        (
            member("foo/a", b"", type=tarfile.LNKTYPE, linkname="foo/Chart.yaml"),
            "foo/a: is a link; put the file itself",
        ),
        (member("foo/a", b"", type=tarfile.CHRTYPE), "foo/a: is neither a plain file nor a folder; leave it out"),
        (member("foo/a", b"", type=tarfile.BLKTYPE), "foo/a: is neither a plain file nor a folder; leave it out"),
        (member("foo/a", b"", type=tarfile.FIFOTYPE), "foo/a: is neither a plain file nor a folder; leave it out"),
        (member("foo/a", b"", type=b"Z"), "foo/a: is neither a plain file nor a folder; leave it out"),
        (member("foo/../a"), "foo/../a: is not a plain path; write it without .., ., // and \\ in the chart's folder"),
        (member("../a"), "../a: is not a plain path"),
        (member(".."), "..: is not a plain path"),
        (member("foo/.."), "foo/..: is not a plain path"),
        (member("foo/./a"), "foo/./a: is not a plain path"),
        (member("foo//a"), "foo//a: is not a plain path"),
        (member("foo\\a"), "foo\\a: is not a plain path"),
        (member("/foo/a"), "/foo/a: has an absolute path; write it relative to the chart's folder"),
        (member("/", b""), "/: has an absolute path"),
        (member("foo/a\nb"), "foo/a\\u000ab: has a name that cannot be taken: it has the control character \\u000a"),
        (member("foo/\x1b[2J"), "foo/\\u001b[2J: has a name that cannot be taken: it has the control character"),
        (member("foo/a\u2028b"), "foo/a\\u2028b: has a name that cannot be taken: it has the control character"),
        (
            member(f"foo/{'a' * 1_100}"),
            f"foo/{'a' * 56}…: has a name that cannot be taken: it has 1,104 bytes; at most",
        ),
        (member(f"foo/{'a/' * 32}b"), f"foo/{'a/' * 28}…: lies in more than 32 folders; move it up"),
        (member("foo/chart.YAML"), 'foo/chart.YAML: differs from "foo/Chart.yaml" only in case or in how accents are'),
        (member("FOO/a"), 'FOO/a: differs from "foo" only in case'),
        (member("foo/Chart.yaml"), "foo/Chart.yaml: occurs twice; pack each file once"),
        (member("foo/Chart.yaml/a"), "foo/Chart.yaml/a: is a file and a folder at once; rename one of them"),
        (member("foo"), "foo: is a file and a folder at once"),
        (member("bar/a"), "bar/a: is beside the chart's folder; pack one folder with all files in it"),
        (member("a"), "a: is beside the chart's folder; pack one folder with all files in it"),
        (member("bar", b"", type=tarfile.DIRTYPE), "bar/: is beside the chart's folder"),
    ],
)
def test_poisoned_members_are_refused_by_their_name(poison: tuple[tarfile.TarInfo, bytes], expected: str) -> None:
    assert refused(packed(member("foo/Chart.yaml"), poison)).startswith(expected)


@pytest.mark.parametrize(("first", "second"), [("straße", "STRASSE"), ("é", "e\u0301"), ("d/a", "D/b"), ("ǅ", "ǆ")])
def test_names_that_one_system_takes_for_the_same_are_refused(first: str, second: str) -> None:
    assert "only in case or in how accents are written" in refused(
        packed(member(f"foo/{first}"), member(f"foo/{second}"))
    )
    with pytest.raises(errors.ChartInvalid, match="only in case"):
        archive.pack("foo", {first: b"", second: b""})


def test_a_file_beside_nothing_is_refused() -> None:
    assert refused(packed(member("Chart.yaml"))).startswith("Chart.yaml: is beside the chart's folder")


def test_names_that_are_not_utf_8_are_refused() -> None:
    raw = bytearray(tar(member("foo/aaaa")))
    raw[4:5] = b"\xff"
    with_checksum(raw, 0)
    assert "has the lone surrogate" in refused(zipped(bytes(raw)))


@pytest.mark.parametrize(
    ("headers", "form"),
    [
        ({"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(2**40)}, "1.0"),
        ({"GNU.sparse.map": f"0,1,{2**40},0", "GNU.sparse.size": str(2**40)}, "0.1"),
    ],
)
def test_sparse_files_which_claim_what_they_do_not_hold_are_refused(headers: dict[str, str], form: str) -> None:
    content = b"1\n0\n1\n".ljust(512, b"\0") + b"x".ljust(512, b"\0")
    assert refused(packed(member("foo/a", content, pax_headers=headers))).startswith("foo/a: is neither a plain file")


def test_a_file_that_claims_more_than_the_archive_has_is_cut_off() -> None:
    header, content = member("foo/a", b"x")
    raw = bytearray(tar((header, content)))
    raw[124:136] = b"77777777777\0"
    with_checksum(raw, 0)
    expected = "archive: is not a tar file, or is broken: it is cut off; pack it again"
    assert refused(zipped(bytes(raw))).startswith(expected)


def with_checksum(raw: bytearray, block: int) -> None:
    """Give a header its right checksum, so that the rest of it is looked at."""
    head = raw[block * 512 : block * 512 + 512]
    raw[block * 512 + 148 : block * 512 + 156] = b"%06o\0 " % (sum(head[:148]) + 8 * 32 + sum(head[156:]))


@pytest.mark.parametrize("size", [b"\xff" * 10 + b"\xfc\x00", b"\x80" + b"\0" * 10 + b"\x01", b"-0000000001\0", b"12x"])
def test_a_size_that_is_no_octal_number_is_refused(size: bytes) -> None:
    raw = bytearray(tar(member("foo/a"), member("foo/b")))
    raw[1024 + 124 : 1024 + 136] = size.ljust(12, b"\0")
    with_checksum(raw, 2)
    assert refused(zipped(bytes(raw))) == (
        "archive: is not a tar file, or is broken: a header has an invalid number, or one that is too large; "
        "pack it again"
    )


def test_a_long_chain_of_long_names_is_one_name() -> None:
    links = [member("x", b"foo/a\0", type=tarfile.GNUTYPE_LONGNAME) for _ in range(3_000)]
    assert archive.unpack(packed(*links, member("foo/b"))) == {"a": b"x"}


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        (tarfile.XHDTYPE, b"x", "a header has an invalid record"),
        (tarfile.XHDTYPE, b"9 path=a\n", None),
        (tarfile.XHDTYPE, b"11 path=a\n", "a header has an invalid record"),
        (tarfile.XHDTYPE, b"8 path=a\n", "a header has an invalid record"),
        (tarfile.XHDTYPE, b"7 path\n", "a header has an invalid record"),
        (tarfile.XHDTYPE, b"0 path=a\n", "a header has an invalid record"),
        (tarfile.XHDTYPE, b"1" * 60_000, "a header has an invalid record"),
        (tarfile.XHDTYPE, b"10 size=x\n", "a header has an invalid size"),
        (tarfile.XHDTYPE, b"11 size=-1\n", "a header has an invalid size"),
        (tarfile.XHDTYPE, b"15 comment=abc\n" * 5_000, "a header has 75,000 bytes; at most 65,536 are allowed"),
        (tarfile.XGLTYPE, b"11 path=a\n", "a header has an invalid record"),
        (tarfile.XGLTYPE, b"9 path=a\n", "a header gives one name or size to all members"),
        (tarfile.XGLTYPE, b"15 comment=abc\n", None),
        (tarfile.XHDTYPE, bytes(2**20), "a header has 1,048,576 bytes; at most 65,536 are allowed"),
        (tarfile.GNUTYPE_LONGNAME, b"foo/" * 20_000, "a header has 80,000 bytes; at most 65,536 are allowed"),
        (tarfile.GNUTYPE_LONGLINK, b"foo/", None),
    ],
)
def test_what_stands_before_a_member_is_read_strictly(kind: bytes, content: bytes, expected: str | None) -> None:
    data = packed(member("x", content, type=kind), member("foo/a"))
    if expected is not None:
        assert refused(data) == f"archive: is not a tar file, or is broken: {expected}; pack it again"
    elif b"path" in content:
        assert refused(data).startswith("a: is beside the chart's folder")
    else:
        assert archive.unpack(data) == {"a": b"x"}


def test_headers_for_all_members_cost_nothing_beyond_their_bytes() -> None:
    headers = [member("x", f"15 k{index:08}=a\n".encode(), type=tarfile.XGLTYPE) for index in range(3_000)]
    assert archive.unpack(packed(*headers, member("foo/a"))) == {"a": b"x"}


def bomb(unit: bytes, times: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([packer.compress(unit) for _ in range(times)]) + packer.flush()


def one_large_file() -> bytes:
    header = tarfile.TarInfo("foo/a")
    header.size = 2**30
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return (
        packer.compress(header.tobuf())
        + b"".join([packer.compress(bytes(2**20)) for _ in range(2**7)])
        + packer.flush()
    )


@pytest.mark.parametrize("make", [lambda: bomb(bytes(2**20), 2**7), one_large_file])
def test_a_bomb_costs_no_more_memory_than_the_limit(make: Callable[[], bytes]) -> None:
    data = make()
    tracemalloc.start()
    try:
        assert refused(data) == "archive: unpacks to more than 67,108,864 bytes; leave large files out of the chart"
        assert tracemalloc.get_traced_memory()[1] < 3 * archive.MAX_UNPACKED_BYTES
    finally:
        tracemalloc.stop()


def test_an_archive_that_is_too_large_is_not_looked_into() -> None:
    data = bytes(archive.MAX_PACKED_BYTES + 1)
    assert refused(data) == "archive: has 8,388,609 bytes; at most 8,388,608 are allowed: leave large files out"


def test_at_most_ten_thousand_members_are_taken_of_an_archive_and_those_in_it() -> None:
    assert archive.Allowance().files == 10_000
    data = packed(member("foo", b"", type=tarfile.DIRTYPE), *[member(f"foo/{index}") for index in range(9)])
    allowance = archive.Allowance(files=15)
    assert len(archive.extract(data, allowance)) == 9
    with pytest.raises(errors.ChartInvalid) as caught:
        archive.extract(data, allowance, at="charts/a.tgz")
    expected = "charts/a.tgz: has more than 10,000 members; leave files out, or pack them into fewer ones"
    assert str(caught.value) == expected


def test_no_more_than_ten_thousand_files_are_packed() -> None:
    with pytest.raises(errors.ChartInvalid, match=r"^archive: has more than 10,000 members"):
        archive.pack("foo", {f"{index}": b"" for index in range(archive.MAX_FILES + 1)})


WHOLE = archive.pack("foo", FILES)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "archive: is cut off; pack or fetch it again"),
        (b"no gzip at all", "archive: is not gzip, or is broken; pack it with `tinkwell chart package`"),
        (b"PK\x03\x04", "archive: is not gzip, or is broken"),
        (zipped(b""), "archive: is not a tar file, or is broken: it is cut off; pack it again"),
        (zipped(b"no tar"), "archive: is not a tar file, or is broken: it is cut off"),
        (zipped(b"no tar" * 1_000), "archive: is not a tar file, or is broken: a header has an invalid number"),
        (zipped(bytes(10_240)), "archive: has no files; pack the folder in which Chart.yaml is"),
        (
            packed(member("foo", b"", type=tarfile.DIRTYPE)),
            "archive: has no files; pack the folder in which Chart.yaml is",
        ),
        (WHOLE + b"more", "archive: has 4 bytes behind its end; pack it again"),
        (WHOLE + WHOLE, f"archive: has {len(WHOLE)} bytes behind its end; pack it again"),
        (WHOLE + bytes(2**18), "archive: has 262,144 bytes behind its end; pack it again"),
        (zipped(tar(member("foo/a"), end=False)), "archive: is not a tar file, or is broken: it is cut off"),
        (
            zipped(tar(member("foo/a"), end=False) + b"x" * 512),
            "archive: is not a tar file, or is broken: a header has an inv",
        ),
        (zipped(tar(member("foo/a")) + b"x" * 512), "archive: has more behind its last member; pack it again"),
        (zipped(tar(member("foo/a"), end=False)[:-10]), "archive: is not a tar file, or is broken: it is cut off"),
        (
            zipped(tar(member("foo/a")).replace(b"foo/a", b"foo/b")),
            "archive: is not a tar file, or is broken: a header has a wr",
        ),
        (packed(member("foo/a/")), "archive: is not a tar file, or is broken: a folder has bytes; pack it again"),
        (WHOLE[:-8] + bytes(8), "archive: is not gzip, or is broken"),
    ],
)
def test_what_is_no_whole_archive_is_refused(data: bytes, expected: str) -> None:
    assert refused(data).startswith(expected)


def test_an_archive_that_is_cut_off_anywhere_is_refused() -> None:
    for end in range(len(WHOLE)):
        assert refused(WHOLE[:end]) == "archive: is cut off; pack or fetch it again"


def test_whatever_is_broken_in_a_tar_it_is_refused_or_read_and_nothing_else_happens() -> None:
    chance = random.Random(7)
    whole = tar(
        member("foo/Chart.yaml"),
        member(f"foo/{'a' * 150}", b"y" * 700),
        member("foo/ü", pax_headers={"comment": "x"}),
        member("foo/d", b"", type=tarfile.DIRTYPE),
    )
    for _ in range(3_000):
        raw = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            block = chance.randrange(len(raw) // 512)
            raw[block * 512 + chance.randrange(512)] = chance.randrange(256)
            with_checksum(raw, block)
        with contextlib.suppress(errors.ChartInvalid):
            archive.unpack(gzip.compress(bytes(raw), 1))


@pytest.mark.parametrize(
    ("top", "path", "expected"),
    [
        ("foo", "../a", "foo/../a: is not a plain path"),
        ("foo", "/a", "foo//a: is not a plain path"),
        ("foo", "a\nb", "foo/a\\u000ab: has a name that cannot be taken"),
        ("..", "a", "..: is not a plain path"),
        ("", "a", "is not a plain path"),
        ("a/b", "c", "a/b: cannot be the name of a folder"),
    ],
)
def test_no_such_archive_is_packed_either(top: str, path: str, expected: str) -> None:
    with pytest.raises(errors.ChartInvalid) as caught:
        archive.pack(top, {path: b""})
    assert str(caught.value).startswith(expected)


def test_what_is_too_large_is_not_packed() -> None:
    with pytest.raises(errors.ChartInvalid, match=r"^archive: unpacks to more than 67,108,864 bytes"):
        archive.pack("foo", {"a": bytes(archive.MAX_UNPACKED_BYTES)})
    noise = random.Random(1).randbytes(archive.MAX_PACKED_BYTES)
    with pytest.raises(errors.ChartInvalid, match=r"^archive: has 8,39.* bytes; at most 8,388,608 are allowed"):
        archive.pack("foo", {"a": noise})
