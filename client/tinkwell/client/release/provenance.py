"""Checks the signature of a chart: a file ARCHIVE.prov, which Helm makes and GnuPG's `gpgv` verifies.

The signed text has two YAML documents: the chart's metadata, and the digests of archives by name.
"""

import hmac
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.release.chart.file import archive as archives
from tinkwell.core.value import parse
from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position

SUFFIX = ".prov"
SECONDS = 60
# The largest signature file; it names a few archives.
MAX_SIGNATURE_BYTES = 1024 * 1024

_STATUS = re.compile(r"^\[GNUPG:\] (\w+) ?(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verified:
    """The bytes of a verified archive, the name of its signer, and the fingerprint of the key."""

    data: bytes
    signer: str
    fingerprint: str


def verify(archive: Path, keyring: Path) -> Verified:
    """Verify an archive by the signature file beside it and a keyring, as `gpg --export` writes it.

    Raises `errors.ChartInvalid` if no key of the ring has signed the archive, and `OSError` if a file cannot be read,
    or `gpgv` cannot be run.
    """
    if archive.is_dir():
        raise errors.ChartInvalid.of(str(archive), "is a folder; only an archive can have a signature")
    data = _read(archive, archives.MAX_PACKED_BYTES)
    signature = archive.with_name(archive.name + SUFFIX)
    if not signature.exists():
        raise errors.ChartInvalid.of(str(archive), f"has no signature; {signature.name} must stand beside it")
    _read(signature, MAX_SIGNATURE_BYTES)
    text, status = _verified_text(signature, keyring)
    digest = archives.digest(data)
    if not hmac.compare_digest(_digest(signature, text, archive.name), digest):
        raise errors.ChartInvalid.of(str(archive), f"differs from the signed archive; its digest is {digest}")
    return Verified(data, status["GOODSIG"].partition(" ")[2], status["VALIDSIG"].partition(" ")[0])


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise errors.ChartInvalid.of(str(path), f"has more than {most:,} bytes")
    return data


def _verified_text(signature: Path, keyring: Path) -> tuple[str, dict[str, str]]:
    """Verify a signature with `gpgv`; returns the signed text, and gpgv's status lines by keyword."""
    with keyring.open("rb"):
        pass  # if the keyring is missing, gpgv only says that a key is missing
    command = ["gpgv", "--status-fd", "2", "--keyring", str(keyring.resolve()), "--output", "-", str(signature)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
    except FileNotFoundError as error:
        raise OSError("gpgv is not installed; it is a part of GnuPG") from error
    except subprocess.TimeoutExpired as error:
        raise OSError(f"gpgv has not ended within {SECONDS} s") from error
    status = dict(_STATUS.findall(done.stderr.decode(errors="replace")))
    if done.returncode or not {"GOODSIG", "VALIDSIG"} <= status.keys():
        raise errors.ChartInvalid.of(str(signature), _explain(status, keyring))
    return done.stdout.decode(errors="replace"), status


def _explain(status: dict[str, str], keyring: Path) -> str:
    if "NO_PUBKEY" in status:
        key = status["NO_PUBKEY"]
        return f"is signed by the key {key}, which {keyring} does not have; gpg --export writes such a file"
    for keyword, sentence in (
        ("BADSIG", "was changed after it was signed"),
        ("EXPKEYSIG", "is signed by a key that has expired"),
        ("REVKEYSIG", "is signed by a key that was revoked"),
        ("EXPSIG", "has a signature that has expired"),
    ):
        if keyword in status:
            return f"{sentence}: {status[keyword].partition(' ')[2]}"
    return "is no signature that gpgv understands"


def _digest(signature: Path, text: str, archive: str) -> str:
    """Return the signed digest of an archive."""
    try:
        documents = [yaml_node.value_of(node) for node in yaml_node.documents(text)]
    except position.Malformed as error:
        raise errors.ChartInvalid.of(str(signature), f"the signed text is not YAML: {error.description}") from error
    last = documents[-1] if documents else None
    files = last.get("files") if isinstance(last, dict) else None
    digest = files.get(archive) if isinstance(files, dict) else None
    if not isinstance(digest, str):
        raise errors.ChartInvalid.of(str(signature), f"says nothing of {parse.show(archive)}")
    return digest
