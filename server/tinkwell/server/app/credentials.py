"""The server's TLS credentials. Changed files are read again, so that a renewed certificate needs no restart."""

import logging
from dataclasses import dataclass
from pathlib import Path

import grpc

from tinkwell.server.settings import Settings

logger = logging.getLogger(__name__)

_Stamp = tuple[tuple[int, int], ...]


def server_credentials(settings: Settings) -> grpc.ServerCredentials | None:
    """Return the credentials of the gRPC port, or None if the settings name no certificate.

    Raises `OSError` for files that cannot be read.
    """
    if settings.server_cert is None or settings.server_key is None:
        return None
    return _dynamic(_Source(settings.server_cert, settings.server_key, settings.client_ca))


def tink_credentials(settings: Settings) -> grpc.ServerCredentials:
    """Return the credentials for Tinkerbell's tools, which have no client certificates.

    The settings must have a `tink_port`. Raises `OSError` for files that cannot be read.
    """
    cert, key = settings.tink_cert or settings.server_cert, settings.tink_key or settings.server_key
    assert cert is not None
    assert key is not None
    return _dynamic(_Source(cert, key, None))


def _dynamic(source: "_Source") -> grpc.ServerCredentials:
    return grpc.dynamic_ssl_server_credentials(
        source.read(),
        source.changed,  # type: ignore[arg-type] # the stubs forget that None means unchanged
        require_client_authentication=source.client_ca is not None,
    )


@dataclass(slots=True)
class _Source:
    cert: Path
    key: Path
    client_ca: Path | None
    stamp: _Stamp = ()

    def read(self) -> grpc.ServerCertificateConfiguration:
        stamp = self._stamp()
        configuration = grpc.ssl_server_certificate_configuration(
            [(self.key.read_bytes(), self.cert.read_bytes())],
            root_certificates=self.client_ca.read_bytes() if self.client_ca else None,
        )
        self.stamp = stamp
        return configuration

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return new credentials for a handshake of gRPC, or None to keep the present ones."""
        try:
            if self._stamp() == self.stamp:
                return None
            configuration = self.read()
        except (OSError, ValueError) as error:
            # A renewal that is not complete must not turn clients away while the old certificate is in memory.
            logger.warning("the certificate cannot be read again", extra={"cause": str(error)})
            return None
        logger.info("the certificate was read again", extra={"file": str(self.cert)})
        return configuration

    def _stamp(self) -> _Stamp:
        files = [path for path in (self.cert, self.key, self.client_ca) if path is not None]
        return tuple((status.st_mtime_ns, status.st_size) for status in (path.stat() for path in files))
