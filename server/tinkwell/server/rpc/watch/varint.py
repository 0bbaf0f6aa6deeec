"""Protobuf's integers of variable length, as text: each character stands for the byte of its number.

Joining short texts and turning the whole into bytes once ("latin-1") takes less than joining short bytes. Seven bits
make a byte, the lowest first, each byte but the last marked as one that another follows; two of them are looked up at
once.
"""

BITS = 14
MASK = (1 << BITS) - 1
_UNSIGNED = (1 << 64) - 1

# SHORT is all of an integer that is no larger than MASK; MORE is its lowest 14 bits where higher ones follow.
SHORT = [chr(number) if number < 128 else chr(number & 127 | 128) + chr(number >> 7) for number in range(MASK + 1)]
MORE = [chr(number & 127 | 128) + chr(number >> 7 | 128) for number in range(MASK + 1)]


def of(number: int) -> str:
    """Return the integer, a negative one as protobuf's int32 and int64 have it: in ten bytes."""
    if 0 <= number <= MASK:
        return SHORT[number]
    number &= _UNSIGNED
    text = ""
    while number > MASK:
        text += MORE[number & MASK]
        number >>= BITS
    return text + SHORT[number]
