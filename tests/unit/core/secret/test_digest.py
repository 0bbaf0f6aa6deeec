"""Digests that cannot be tried without the key."""

from tinkwell.core.secret import digest


def test_a_digest_is_hmac_sha_256() -> None:
    # RFC 4231, test case 2.
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert digest.keyed(b"Jefe", "what do ya want for nothing?") == expected
    assert digest.is_equal(expected, digest.keyed(b"Jefe", "what do ya want for nothing?"))
    assert not digest.is_equal(expected, digest.keyed(b"Jefe", "what do ya want for nothing!"))
    assert digest.keyed(b"other", "what do ya want for nothing?") != expected
