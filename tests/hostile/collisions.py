"""Texts that an unkeyed hash puts into one place.

The hash is that of the Rust library `rustc-hash` 2, well known and fast: it multiplies two halves, so a half that is made
zero hides the other one. Any number of texts with the same hash follow from one that is found by a short search.
"""
import itertools
import random
import string

MASK = (1 << 64) - 1
SEED1, SEED2, PREVENT = 0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0


def mix(x, y):
    full = x * y
    return (full & MASK) ^ (full >> 64)


def hash_of(text):
    """For texts of more than 16 bytes."""
    s0, s1 = SEED1, SEED2
    bulk = text[:-1]
    while len(bulk) >= 16:
        x, y = int.from_bytes(bulk[:8], "little"), int.from_bytes(bulk[8:16], "little")
        s0, s1 = s1, mix(s0 ^ x, PREVENT ^ y)
        bulk = bulk[16:]
    s0 ^= int.from_bytes(text[-16:-8], "little")
    s1 ^= int.from_bytes(text[-8:], "little")
    return mix(s0, s1) ^ len(text)


def texts():
    """As many as wanted, all of one hash, none twice."""
    letters = string.ascii_letters + string.digits
    chance = random.Random(1)
    while True:
        # After two blocks of 16 bytes the first half is what the first block was mixed to: the last block begins with it.
        start = "".join(chance.choices(letters, k=16)).encode()
        half = mix(SEED1 ^ int.from_bytes(start[:8], "little"), PREVENT ^ int.from_bytes(start[8:], "little")).to_bytes(8, "little")
        if all(0x20 < byte < 0x7F for byte in half):
            break
    middle = b"m" * 16
    found = ((start + middle + half).decode() + "".join(rest) for rest in itertools.product(letters, repeat=8))
    first = next(found)
    assert hash_of(first.encode()) == hash_of(next(found).encode())
    return found
