"""The package of a charm: canonical where it is ours, and bounded and judged where it is from strangers."""

import hashlib
import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tinkwell.core import errors
from tinkwell.core.charm import package
from tinkwell.core.charm.package import File, NewFile
from tinkwell.core.charm.record import Charm, Manifest
from tinkwell.core.unit.kinds import CharmKind, Profile

MANIFEST = NewFile("charm.yaml", b"name: web\ncolour: red\n")
INSTALL = NewFile("hooks/install", b"#!/bin/sh\n", is_executable=True)


def checked(data: bytes) -> Charm:
    return package.check(io.BytesIO(data))


def refusal(data: bytes) -> str:
    with pytest.raises(errors.CharmRefused) as caught:
        checked(data)
    return str(caught.value)


def zipped(
    *names: str, content: bytes = b"name: web\n", change: Callable[[zipfile.ZipInfo], None] | None = None
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            member = zipfile.ZipInfo(name)
            member.filename = name
            if change:
                change(member)
            archive.writestr(member, content)
    return buffer.getvalue()


def test_the_same_files_give_the_same_bytes_in_any_order() -> None:
    data = package.pack([MANIFEST, INSTALL])
    assert data == package.pack([INSTALL, MANIFEST])
    assert data != package.pack([MANIFEST, NewFile("hooks/install", b"#!/bin/sh\n")])


def test_a_package_says_what_charm_it_is() -> None:
    data = package.pack([MANIFEST, INSTALL])
    assert checked(data) == Charm(
        digest=f"sha256:{hashlib.sha256(data).hexdigest()}",
        manifest=Manifest(name="web"),
        size=len(data),
        warnings=checked(data).warnings,
    )
    assert checked(data).warnings[0].startswith("charm.yaml: colour is not a field")


def test_files_are_listed_and_read() -> None:
    with io.BytesIO(package.pack([MANIFEST, INSTALL])) as file:
        opened = package.open_package(file)
        assert opened.files == (File("charm.yaml", 22, False), File("hooks/install", 10, True))
        assert b"".join(opened.read("hooks/install")) == b"#!/bin/sh\n"
        opened.close()
        assert not file.closed


def test_compressed_packages_with_folders_are_taken_too() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("hooks")
        archive.writestr("metadata.yaml", "name: web\nsummary: " + "a" * 10_000)
        archive.writestr("config.yaml", "options: {a: {}}")
        archive.writestr("src/charm.py", "")
    assert [*checked(buffer.getvalue()).manifest.options] == ["a"]


def test_a_native_charm_needs_its_manifest_alone() -> None:
    charm = checked(package.pack([NewFile("charm.yaml", b"name: web\nkind: native\n")]))
    assert charm.manifest.kind is CharmKind.NATIVE


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("/etc/passwd", "/etc/passwd: has an absolute path"),
        ("../up", "../up: is not a plain path"),
        ("a/../../up", "is not a plain path"),
        ("a//b", "is not a plain path"),
        ("./a", "is not a plain path"),
        ("a\\b", "is not a plain path"),
        ("a\x01", "a\\u0001: has a name that cannot be taken: it has the control character"),
        ("a" * 1_025, "it has 1,025 bytes; at most 1,024 are allowed; rename it"),
        ("/".join("a" * 40), "lies in more than 32 folders; move it up"),
        (
            "CHARM.yaml",
            'CHARM.yaml: differs from "charm.yaml" only in case or in how accents are written; rename one of them',
        ),
        ("charm.yaml/a", "charm.yaml/a: is a file and a folder at once; rename one of them"),
        ("charm.yaml", "charm.yaml: occurs twice; pack each file once"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_lead_elsewhere_are_refused(name: str, sentence: str) -> None:
    assert sentence in refusal(zipped("charm.yaml", name))


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (stat.S_IFLNK, "hooks/start: is a link; put the file itself in its place"),
        (stat.S_IFIFO, "hooks/start: is neither a plain file nor a folder; leave it out"),
    ],
)
def test_what_is_no_file_is_refused(kind: int, sentence: str) -> None:
    def change(member: zipfile.ZipInfo) -> None:
        member.external_attr = (kind | 0o755) << 16

    assert refusal(zipped("hooks/start", change=change)) == sentence


def test_what_is_no_zip_is_refused() -> None:
    good = package.pack([MANIFEST])
    assert refusal(b"") == "package: is not a zip file, or is cut off; pack the charm's folder as a zip"
    assert refusal(b"name: web") == "package: is not a zip file, or is cut off; pack the charm's folder as a zip"
    assert "package: is not a zip file, or is cut off" in refusal(good[:-10])
    assert refusal(good[30:]).startswith("charm.yaml: is broken")
    at = good.index(b"PK\x01\x02")
    assert refusal(good[:at] + b"????" + good[at + 4 :]).startswith("package: is not a zip file, or is broken")


def test_broken_bytes_are_found_before_anything_is_stored() -> None:
    data = bytearray(package.pack([MANIFEST, NewFile("site.html", b"hello")]))
    data[data.index(b"hello")] ^= 1
    assert refusal(bytes(data)) == ("site.html: is broken, or packed in a way that is not known; pack the charm again")


def test_encrypted_and_strangely_packed_members_are_refused() -> None:
    data = bytearray(package.pack([MANIFEST]))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    assert refusal(bytes(data)) == "charm.yaml: is encrypted; pack it without a password"
    data[at + 8] &= 0xFE
    data[at + 10] = 12
    assert refusal(bytes(data)) == "charm.yaml: is compressed in an unusual way; pack it with deflate"


def test_packages_that_unpack_to_too_much_are_refused_by_their_list() -> None:
    data = bytearray(package.pack([MANIFEST, INSTALL]))
    struct.pack_into("<L", data, data.index(b"PK\x01\x02") + 24, 1024 * 1024 * 1024)
    assert refusal(bytes(data)) == "package: unpacks to more than 1,073,741,824 bytes; leave large files out"


def test_packages_that_are_too_large_are_refused_by_their_size(tmp_path: Path) -> None:
    path = tmp_path / "charm.zip"
    with path.open("wb") as file:
        file.truncate(256 * 1024 * 1024 + 1)
    with path.open("rb") as file, pytest.raises(errors.CharmRefused) as refused:
        package.open_package(file)
    assert str(refused.value) == "package: has more than 268,435,456 bytes; leave large files out of the charm"


def test_a_list_that_claims_too_much_is_not_read() -> None:
    data = bytearray(package.pack([MANIFEST]))
    at = data.index(b"PK\x05\x06")
    struct.pack_into("<H", data, at + 10, 50_001)
    assert refusal(bytes(data)).startswith("package: has more than 50,000 members")
    struct.pack_into("<HL", data, at + 10, 1, 1 << 30)
    assert refusal(bytes(data)).startswith("package: has a list of members of 1,073,741,824 bytes")


def test_a_manifest_that_is_too_large_or_no_text_is_refused() -> None:
    assert refusal(package.pack([NewFile("charm.yaml", b" " * 1_048_577)])) == (
        "charm.yaml: has 1,048,577 bytes; at most 1,048,576 are allowed"
    )
    assert refusal(package.pack([NewFile("charm.yaml", b"name: \xff")])) == "charm.yaml: is not UTF-8; save it as UTF-8"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ([INSTALL], "charm.yaml: is missing; write one with the name of the charm in it"),
        (
            [MANIFEST, NewFile("hooks/install", b"")],
            "hooks/install: is not executable; run chmod +x on it, and pack the charm again",
        ),
        (
            [NewFile("charm.yaml", b"name: web\nkind: native"), INSTALL],
            "hooks/install: is a hook, and the charm is native; leave out hooks/ or write kind: scripts",
        ),
        (
            [MANIFEST, NewFile("src/charm.py", b"")],
            "src/charm.py: belongs to a charm of ops, which has metadata.yaml or charmcraft.yaml in the place of",
        ),
        (
            [NewFile("charm.yaml", b"name: web\nkind: ops"), NewFile("src/charm.py", b"")],
            "charm.yaml.kind: is ops, which does not read charm.yaml; write metadata.yaml or charmcraft.yaml in its",
        ),
        (
            [NewFile("metadata.yaml", b"name: web")],
            "src/charm.py: is missing, and so are dispatch and hooks/; a charm of Juju has one of them",
        ),
        (
            [NewFile("metadata.yaml", b"name: web"), NewFile("dispatch", b"")],
            "dispatch: is not executable; run chmod +x on it, and pack the charm again",
        ),
        (
            [NewFile("metadata.yaml", b"name: web"), NewFile("hooks/install", b"")],
            "hooks/install: is not executable; run chmod +x on it, and pack the charm again",
        ),
        (
            [NewFile("charmcraft.yaml", b"name: web"), NewFile("src/charm.py", b"")],
            "charmcraft.yaml: is not a file that ops reads; give the folder of the charm, or pack it with charmcraft",
        ),
    ],
)
def test_files_must_go_with_the_manifest(files: list[NewFile], sentence: str) -> None:
    assert refusal(package.pack(files)).startswith(sentence)


@pytest.mark.parametrize(
    "file",
    [NewFile("src/charm.py", b""), NewFile("dispatch", b"", is_executable=True), INSTALL],
    ids=lambda file: file.path,
)
def test_what_has_the_files_of_juju_is_a_charm_of_ops(file: NewFile) -> None:
    found = checked(package.pack([NewFile("metadata.yaml", b"name: web"), file])).manifest
    assert (found.kind, found.profile) == (CharmKind.OPS, Profile.JUJU)


def test_a_resource_that_is_not_in_the_package_is_a_warning() -> None:
    files = [
        NewFile("metadata.yaml", b"name: web\nresources: {site: {type: file, filename: site.zip}}"),
        NewFile("src/charm.py", b""),
    ]
    (warning,) = checked(package.pack(files)).warnings
    assert warning.startswith("resources.site is not in the package, so that the charm does not get it; give it with")
    assert warning.endswith("--resource site=FILE, or put it there as resources/site/site.zip")
    assert not checked(package.pack([*files, NewFile("resources/site/site.zip", b"PK")])).warnings


@pytest.mark.parametrize("text", ["", "a" * 64, "sha256:" + "A" * 64, "sha256:" + "a" * 63])
def test_only_digests_name_charms(text: str) -> None:
    with pytest.raises(errors.InvalidField, match="is no digest of a charm; give sha256: and 64 hexadecimal digits"):
        package.parse_digest("charm", text)
    assert package.parse_digest("charm", "sha256:" + "a" * 64)


def test_libraries_beside_hooks_need_not_be_executable() -> None:
    checked(package.pack([MANIFEST, INSTALL, NewFile("hooks/lib/common.sh", b"")]))


def test_what_cannot_be_packed_is_refused_before_it_is_sent() -> None:
    with pytest.raises(errors.CharmRefused, match="is not a plain path"):
        package.pack([NewFile("../a", b"")])
    with pytest.raises(errors.CharmRefused, match="only in case"):
        package.pack([NewFile("A", b""), NewFile("a", b"")])
