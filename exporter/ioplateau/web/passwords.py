"""Names and bcrypt hashes: whether a request's password is right, without telling by the time
it takes whether the name is known.

The only file that imports bcrypt, which releases the interpreter lock while it computes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import threading
from collections.abc import Mapping

from ioplateau.web.keys import ProblemsError, missing

# bcrypt uses the first 72 bytes; newer libraries refuse more instead of cutting.
USED_BYTES = 72
MOST_REFUSALS = 256
CHALLENGE = {"WWW-Authenticate": 'Basic realm="ioplateau", charset="UTF-8"'}


class Users:
    """Users and their hashes. Checks are remembered; a new file makes a new one of these.

    Raises ProblemsError where bcrypt is missing or refuses a hash.
    """

    def __init__(self, hashes: Mapping[str, bytes]) -> None:
        try:
            import bcrypt
        except ImportError as error:
            raise ProblemsError([missing("bcrypt")]) from error
        self._same = bcrypt.checkpw
        self._hashes = {name.encode(): secret for name, secret in hashes.items()}
        self._highest_cost = max(map(_cost, self._hashes.values()))
        # What is remembered is a keyed digest, so that no password stays in memory and
        # nobody can choose what collides.
        self._salt = os.urandom(32)
        self._lock = threading.Lock()
        self._right: dict[bytes, bytes] = {}  # digest -> user; at most one of each
        self._wrong: dict[bytes, None] = {}  # oldest first

    def remember(self, before: Users) -> None:
        """What was found right before stays right for those whose hash is the same: a renewed
        certificate, which is read with the users, must not have everybody checked again.
        """
        same = {name for name, secret in self._hashes.items() if before._hashes.get(name) == secret}
        with before._lock:
            right = {digest: name for digest, name in before._right.items() if name in same}
        with self._lock:
            self._salt, self._right = before._salt, right

    @property
    def count(self) -> int:
        return len(self._hashes)

    def known(self, authorization: str) -> bool | None:
        """What an earlier check of the same header found; None: not checked yet. Quick."""
        said = credentials(authorization)
        if said is None:
            return False
        digest = self._digest(*said)
        with self._lock:
            if digest in self._right:
                return True
            return False if digest in self._wrong else None

    def check(self, authorization: str) -> bool:
        """Whether name and password belong together. Takes as long as bcrypt does."""
        known = self.known(authorization)
        said = credentials(authorization)
        if known is not None or said is None:
            return bool(known)
        is_right = self._check(*said)
        digest = self._digest(*said)
        with self._lock:
            if is_right:
                self._right[digest] = said[0]
            else:
                self._wrong[digest] = None
            if len(self._wrong) > MOST_REFUSALS:
                self._wrong.pop(next(iter(self._wrong)))
        return is_right

    def _check(self, name: bytes, password: bytes) -> bool:
        secret = self._hashes.get(name, _nobody(self._highest_cost))
        try:
            is_same = self._same(password, secret)
            # A hash of cost c takes 2**c rounds. 2**c + 2**c + 2**(c+1) + ... + 2**(h-1) is
            # 2**h: cheap hashes take as long as the dearest, and as one of nobody's.
            for cost in range(_cost(secret), self._highest_cost):
                self._same(password, _nobody(cost))
        except ValueError:  # older bcrypt: a password with a NUL
            return False
        return is_same and name in self._hashes

    def _digest(self, name: bytes, password: bytes) -> bytes:
        # A name has no colon, so this is one name and one password only.
        return hashlib.blake2b(name + b":" + password, key=self._salt, digest_size=32).digest()


def credentials(authorization: str) -> tuple[bytes, bytes] | None:
    """Name and password of an Authorization header (RFC 7617), or None if it is none.

    https://www.rfc-editor.org/rfc/rfc7617
    """
    scheme, _, token = authorization.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        said = base64.b64decode(token.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    name, colon, password = said.partition(b":")
    return (name, password[:USED_BYTES]) if colon else None


def _cost(secret: bytes) -> int:
    return int(secret[4:6])


def _nobody(cost: int) -> bytes:
    """A hash that no password has as far as anyone knows, of that cost."""
    return b"$2b$%02d$" % cost + b"." * 53
