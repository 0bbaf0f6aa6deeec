"""Checks that the files in a database's URL can be used: certificates, keys, passwords and services.

This happens when a command begins. Later the driver would report less about them, or ignore them silently.
"""

import configparser
import os
import ssl
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from tinkwell.server.database_url import TLS_FILES, DatabaseUrl

_SERVICES = ".pg_service.conf"


def problem(url: DatabaseUrl) -> str | None:
    """Return a sentence about the first parameter whose file cannot be used, or None. It shows no value."""
    return next(_problems(url), None)


def _problems(url: DatabaseUrl) -> Iterator[str]:
    named = {name: path for name, path in url.tls.items() if name in TLS_FILES}
    if isinstance(passwords := url.more.get("passfile"), str):
        named["passfile"] = passwords
    for name, path in named.items():
        if not (Path(path).is_file() and os.access(path, os.R_OK)):
            yield f"the file that its parameter {name} names cannot be read"
    if "passfile" in named and Path(named["passfile"]).stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield "the file that its parameter passfile names must be readable by its owner alone (chmod 0600)"
    yield from _tls_problems(url)
    if isinstance(service := url.more.get("service"), str) and not _has_service(service):
        yield (
            f"the service that its parameter service names is not in {_SERVICES} of this account's home: "
            "put it there, or name its file in the environment variable PGSERVICEFILE"
        )


def _tls_problems(url: DatabaseUrl) -> Iterator[str]:
    if (mode := url.tls.get("sslmode", "")).startswith("verify-") and not _has_root(url):
        yield f"its parameter sslmode={mode} needs sslrootcert=FILE, or sslrootcert=system for what the system trusts"
    for name in ("sslrootcert", "sslcrl"):
        if (path := url.tls.get(name)) is not None and not _is_loaded(ssl.SSLContext.load_verify_locations, path):
            what = "certificates" if name == "sslrootcert" else "revocation lists"
            yield f"the file that its parameter {name} names holds no {what} in PEM"
    certificate, key = url.tls.get("sslcert"), url.tls.get("sslkey")
    if certificate is not None and key is not None:
        password = url.tls.get("sslpassword", "")
        if not _is_loaded(ssl.SSLContext.load_cert_chain, certificate, key, lambda: password):
            yield (
                "the files that its parameters sslcert and sslkey name hold no certificate in PEM and its key, "
                "or sslpassword does not open the key"
            )


def _has_root(url: DatabaseUrl) -> bool:
    default = os.environ.get("PGSSLROOTCERT") or Path.home() / ".postgresql" / "root.crt"
    return "sslrootcert" in url.tls or Path(default).exists()


def _is_loaded(load: Callable[..., object], *values: object) -> bool:
    try:
        load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), *values)
    except (OSError, ValueError):  # ssl's own errors are of the first kind
        return False
    return True


def _has_service(service: str) -> bool:
    found = configparser.ConfigParser()
    file = os.environ.get("PGSERVICEFILE") or Path.home() / _SERVICES
    try:
        found.read(file, encoding="utf-8")
    except (OSError, UnicodeDecodeError, configparser.Error):
        return False
    return service in found.sections()
