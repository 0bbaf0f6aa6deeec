"""Removes secrets from the texts that a process writes for people: its log, its errors, its delivery records.

Code that reads a secret, from a setting, the environment or a file, registers it; code that writes redacts. So it does
not matter which library put the secret into its message. A password in a URL is removed whether it was registered or
not.
"""

import json
import re
import urllib.parse
from collections.abc import Callable, Iterator

HIDDEN = "***"
# A shorter text would be found in ordinary words. In URLs it is hidden all the same.
MIN_CHARACTERS = 8
# The last registered ones are kept, so that credentials that change often cannot fill the memory.
MAX_SECRETS = 1_000

_PASSWORD_IN_URL = re.compile(r"(?<=://)([^\s/@:]*):[^\s/@]+(?=@)")


class Redactor:
    """Secrets, and a function that removes them from texts."""

    def __init__(self) -> None:
        self._secrets: dict[str, None] = {}
        self._pattern: re.Pattern[str] | None = None
        self._others: tuple[Callable[[str], str], ...] = ()

    def register(self, *secrets: str) -> None:
        """Remove these secrets from each text from now on; for a secret with several lines, each line."""
        for secret in secrets:
            for line in secret.splitlines():
                self._secrets.pop(line, None)
                self._secrets[line] = None
        for oldest in list(self._secrets)[:-MAX_SECRETS]:
            del self._secrets[oldest]
        forms = {form for secret in self._secrets for form in _forms(secret) if len(form) >= MIN_CHARACTERS}
        # The longest first, because one form may be part of another.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def also(self, redact: Callable[[str], str]) -> Callable[[], None]:
        """Apply a further function to each text, until the returned function is called."""
        self._others = (*self._others, redact)

        def leave() -> None:
            self._others = tuple(other for other in self._others if other != redact)

        return leave

    def redact(self, text: str) -> str:
        """Return the text without the secrets."""
        for other in self._others:
            text = other(text)
        pattern = self._pattern
        if pattern is not None:
            text = pattern.sub(HIDDEN, text)
        return _PASSWORD_IN_URL.sub(rf"\1:{HIDDEN}", text)


def _forms(secret: str) -> Iterator[str]:
    """Yield the forms in which libraries write a text: as it is, quoted by Python or JSON, and escaped for a URL."""
    yield secret
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield urllib.parse.quote(secret)
    yield urllib.parse.quote(secret, safe="")
    yield urllib.parse.quote_plus(secret)
    yield urllib.parse.unquote(secret)


# The secrets of this process.
_redactor = Redactor()
register = _redactor.register
also = _redactor.also
redact = _redactor.redact
