"""Signatures of charts, made with GnuPG as Helm makes them."""

import contextlib
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


class Signer:
    """A user of GnuPG with a key, whose folder is short enough for the sockets in it."""

    def __init__(self, folder: Path) -> None:
        self._environment = {**os.environ, "GNUPGHOME": str(folder)}
        self._gpg("--passphrase", "", "--quick-gen-key", "Ada <ada@example.org>", "ed25519", "sign", "never")
        self.keyring = folder / "ring.gpg"
        self.keyring.write_bytes(self._gpg("--export"))

    def _gpg(self, *arguments: str, given: bytes = b"") -> bytes:
        command = ["gpg", "--batch", "--quiet", *arguments]
        return subprocess.run(command, input=given, env=self._environment, capture_output=True, check=True).stdout

    def sign(self, archive: Path, text: str) -> None:
        archive.with_name(f"{archive.name}.prov").write_bytes(self._gpg("--clearsign", given=text.encode()))

    def end(self) -> None:
        subprocess.run(["gpgconf", "--kill", "all"], env=self._environment, check=True)


@contextlib.contextmanager
def signer() -> Iterator[Signer]:
    """Make a user with a key, and end what GnuPG has started for it."""
    # The agent removes its sockets by itself while the folder is removed, so that some may be gone already.
    with tempfile.TemporaryDirectory(prefix="gpg", ignore_cleanup_errors=True) as folder:
        found = Signer(Path(folder))
        try:
            yield found
        finally:
            found.end()


def statement(name: str, data: bytes) -> str:
    """Write what is signed of an archive."""
    return f"name: shop\nversion: 1.0.0\n\n...\nfiles:\n  {name}: sha256:{hashlib.sha256(data).hexdigest()}\n"
