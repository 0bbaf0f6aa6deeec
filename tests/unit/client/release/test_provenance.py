"""Signatures of charts, made with GnuPG."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import signing
from support.signing import Signer
from tinkwell.client.release import provenance
from tinkwell.core import errors

DATA = b"an archive"


@pytest.fixture(scope="module")
def signer() -> Iterator[Signer]:
    with signing.signer() as found:
        yield found


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "shop-1.0.0.tgz"
    path.write_bytes(DATA)
    return path


def statement(name: str = "shop-1.0.0.tgz", data: bytes = DATA) -> str:
    return signing.statement(name, data)


def test_a_signed_archive_is_known_by_who_has_signed_it(signer: Signer, archive: Path) -> None:
    signer.sign(archive, statement())
    found = provenance.verify(archive, signer.keyring)
    assert (found.data, found.signer) == (DATA, "Ada <ada@example.org>")
    assert len(found.fingerprint) == 40


def test_a_keyring_is_found_by_a_relative_path(signer: Signer, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signer.sign(archive, statement())
    monkeypatch.chdir(signer.keyring.parent)
    assert provenance.verify(archive, Path(signer.keyring.name)).data == DATA


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (statement(data=b"another one"), "shop-1.0.0.tgz: differs from the signed archive; its digest is sha256:"),
        (statement("other-1.0.0.tgz"), 'says nothing of "shop-1.0.0.tgz"'),
        ("hello", 'says nothing of "shop-1.0.0.tgz"'),
        ("a: [", "the signed text is not YAML"),
    ],
)
def test_what_was_signed_must_be_the_archive(signer: Signer, archive: Path, text: str, sentence: str) -> None:
    signer.sign(archive, text)
    with pytest.raises(errors.ChartInvalid) as caught:
        provenance.verify(archive, signer.keyring)
    assert sentence in str(caught.value)


def test_a_changed_statement_is_refused(signer: Signer, archive: Path) -> None:
    signer.sign(archive, statement())
    signature = archive.with_name("shop-1.0.0.tgz.prov")
    signature.write_text(signature.read_text().replace("name: shop", "name: shed"))
    with pytest.raises(errors.ChartInvalid, match=r"was changed after it was signed: Ada"):
        provenance.verify(archive, signer.keyring)


def test_a_stranger_s_key_is_refused(signer: Signer, archive: Path, tmp_path: Path) -> None:
    signer.sign(archive, statement())
    (tmp_path / "empty.gpg").touch()
    with pytest.raises(
        errors.ChartInvalid, match=r"is signed by the key [0-9A-F]{16}, which .*empty\.gpg does not have"
    ):
        provenance.verify(archive, tmp_path / "empty.gpg")


def test_what_is_no_signature_is_refused(signer: Signer, archive: Path) -> None:
    archive.with_name("shop-1.0.0.tgz.prov").write_text(statement())
    with pytest.raises(errors.ChartInvalid, match="is no signature that gpgv understands"):
        provenance.verify(archive, signer.keyring)


def test_an_archive_without_a_signature_is_refused(signer: Signer, archive: Path) -> None:
    with pytest.raises(errors.ChartInvalid, match=r"has no signature; shop-1\.0\.0\.tgz\.prov must stand beside it"):
        provenance.verify(archive, signer.keyring)
    with pytest.raises(errors.ChartInvalid, match="is a folder; only an archive can have a signature"):
        provenance.verify(archive.parent, signer.keyring)


def test_a_missing_keyring_is_told_by_its_name(archive: Path, tmp_path: Path) -> None:
    archive.with_name("shop-1.0.0.tgz.prov").touch()
    with pytest.raises(FileNotFoundError) as caught:
        provenance.verify(archive, tmp_path / "none.gpg")
    assert str(caught.value.filename) == str(tmp_path / "none.gpg")


def test_without_gpgv_the_error_says_what_is_missing(
    signer: Signer, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer.sign(archive, statement())
    monkeypatch.setenv("PATH", str(archive.parent))
    with pytest.raises(OSError, match="gpgv is not installed"):
        provenance.verify(archive, signer.keyring)
