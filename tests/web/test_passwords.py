"""Passwords: right, wrong, remembered, and equally slow for names nobody has."""

import base64
import resource

import bcrypt
import pytest

from ioplateau.web.passwords import MOST_REFUSALS, Users, credentials


def hashed(password: bytes, cost: int = 4, prefix: bytes = b"2b") -> bytes:
    return bcrypt.hashpw(password, bcrypt.gensalt(cost)).replace(b"$2b$", b"$%s$" % prefix)


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.mark.parametrize("prefix", [b"2a", b"2b", b"2y"])
def test_the_right_password_passes_and_a_wrong_one_does_not(prefix):
    users = Users({"alice": hashed(b"secret", prefix=prefix)})

    assert users.check(basic("alice", "secret"))
    assert not users.check(basic("alice", "Secret"))
    assert not users.check(basic("bob", "secret"))


def test_names_and_passwords_beyond_ascii_and_with_colons_work():
    users = Users({"Jörg": hashed("pa:ß".encode())})

    assert users.check(basic("Jörg", "pa:ß"))


def test_of_a_long_password_72_bytes_count_as_everywhere():
    users = Users({"alice": hashed(b"x" * 72)})

    assert users.check(basic("alice", "x" * 100))
    assert not users.check(basic("alice", "x" * 71))


def test_a_check_is_remembered_by_its_outcome():
    users = Users({"alice": hashed(b"secret")})
    before = (users.known(basic("alice", "secret")), users.known(basic("bob", "secret")))
    users.check(basic("alice", "secret"))
    users.check(basic("bob", "secret"))

    assert before == (None, None)
    assert users.known(basic("alice", "secret")) is True
    assert users.known(basic("bob", "secret")) is False
    assert users.known(basic("alice", "other")) is None


def test_a_flood_of_wrong_passwords_neither_grows_nor_pushes_out_the_right_one():
    users = Users({"alice": hashed(b"secret")})
    users.check(basic("alice", "secret"))
    for number in range(MOST_REFUSALS + 20):
        users.check(basic("alice", str(number)))

    assert users.known(basic("alice", "secret")) is True
    assert users.known(basic("alice", "0")) is None
    assert users.known(basic("alice", str(MOST_REFUSALS + 19))) is False


def test_what_is_remembered_holds_no_password():
    users = Users({"alice": hashed(b"sesame")})
    users.check(basic("alice", "sesame"))

    assert "sesame" not in repr(vars(users))


@pytest.mark.parametrize(
    "header", ["", "Basic", "Basic !!!", "Bearer YTpi", "Basic YWxpY2U=", "Basic YTpi, Basic YTpi"]
)
def test_what_is_no_basic_authorization_is_wrong_at_once(header):
    users = Users({"alice": hashed(b"secret")})

    assert credentials(header) is None
    assert users.known(header) is False
    assert not users.check(header)


def test_an_unknown_name_costs_the_rounds_of_the_dearest_hash_and_so_does_a_cheap_one():
    users = Users({"cheap": hashed(b"a", 4), "dear": hashed(b"b", 9)})
    seconds = {name: cpu_seconds(users, name) for name in ("cheap", "dear", "nobody")}

    # Rounds double with each cost: without the padding "cheap" would take 1/32.
    assert min(seconds.values()) > max(seconds.values()) / 4, seconds


def cpu_seconds(users: Users, name: str) -> float:
    taken = []
    for number in range(3):
        begun = resource.getrusage(resource.RUSAGE_THREAD).ru_utime
        users.check(basic(name, f"wrong {number}"))
        taken.append(resource.getrusage(resource.RUSAGE_THREAD).ru_utime - begun)
    return min(taken)


def test_what_was_right_stays_right_in_a_new_file_with_the_same_hash():
    alice, bob = hashed(b"secret"), hashed(b"other")
    before = Users({"alice": alice, "bob": bob})
    for said in (basic("alice", "secret"), basic("bob", "other"), basic("alice", "wrong")):
        before.check(said)
    after = Users({"alice": alice, "bob": hashed(b"new"), "carol": alice})
    after.remember(before)

    assert after.known(basic("alice", "secret")) is True
    assert after.known(basic("bob", "other")) is None
    assert after.known(basic("carol", "secret")) is None
    assert after.known(basic("alice", "wrong")) is None
    assert not after.check(basic("bob", "other"))
    assert after.check(basic("bob", "new"))
