"""A store of a server against the same store, opened here."""

import subprocess
import uuid

import fpstore
import numpy
import pytest


def rows(random, bits, count):
    """Fingerprints, of which many are near others, and copies of some with flips."""
    if bits <= 64:
        kind = numpy.uint64 if bits == 64 else numpy.uint32
        base = random.integers(0, 2**bits, count, dtype=numpy.uint64)
        flips = numpy.uint64(1) << random.integers(0, bits, count).astype(numpy.uint64)
        return numpy.concatenate([base, base ^ flips]).astype(kind)
    base = random.integers(0, 256, (count, bits // 8), dtype=numpy.uint8)
    flipped = base.copy()
    flipped[:, 3] ^= 1
    return numpy.concatenate([base, flipped])


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other):
        if isinstance(b, list):
            assert a == b
        else:
            assert a.dtype == b.dtype or len(a) == 0
            assert numpy.array_equal(a, b)


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
def test_a_client_answers_as_the_store_does(tmp_path, serve, bits):
    set_of = rows(numpy.random.default_rng(bits), bits, 200)
    fpstore.pack(tmp_path / "s", set_of, numpy.arange(len(set_of), dtype=numpy.uint64), k=3)
    store = fpstore.open(tmp_path / "s")
    with fpstore.Client(serve("s")) as client:
        assert (client.bits, client.radius, len(client)) == (bits, 3, len(store))
        assert (client.id_kind, client.has_ids, client.recipe) == ("number", True, None)
        for row in set_of[::37]:
            one = row.tobytes() if bits > 64 else int(row)
            for k in (None, 0, 1, 6):
                same(client.search(one, k), store.search(one, k))
                assert client.any_within(one, k) == store.any_within(one, k)
            same(client.nearest(one, 3), store.nearest(one, 3, client.stat()["most_k"]))
            same(client.nearest(one, 3, 1), store.nearest(one, 3, 1))
            if bits > 64:
                same(client.search(row), store.search(one))
                words = numpy.frombuffer(one, ">u8").astype(numpy.uint64)
                same(client.search(words), store.search(one))
            assert one in client and client.contains(one)
            assert client.ids(one).tolist() == store.ids(one).tolist()
        far = bytes(bits // 8)
        same(client.search(far), store.search(far))
        assert far not in client
        for options in ({}, {"k": 1, "ids": True}, {"limit": 1}):
            same(client.search_batch(set_of, **options), store.search_batch(set_of, **options))


@pytest.mark.parametrize(
    "kind, ids",
    [
        ("number", [2**64 - 1, 0, 7]),
        ("text", ["https://a.example/?a=1&b", '\t\n"', ""]),
        ("uuid", [uuid.UUID(int=1), uuid.UUID(int=2**128 - 1), uuid.UUID(int=2**70)]),
        ("number128", [2**128 - 1, 0, 2**64]),
        ("bytes:5", [b"\0\xffabc", b"12345", b"\xff" * 5]),
    ],
)
def test_what_is_written_is_there(tmp_path, program, serve, kind, ids):
    name = kind.replace("bytes", "key")
    made = subprocess.run([program, "create", "live", "--id-type", name, "-q"], cwd=tmp_path)
    assert made.returncode == 0
    client = fpstore.Client(serve("live", "--write"), "live")
    assert client.check_and_insert(7, ids[0]) is None
    near, distances = client.check_and_insert(6, ids[1])
    assert (near.tolist(), distances.tolist()) == ([7], [1])
    client.insert(7, ids[1])
    client.insert_batch(numpy.array([2**63, 2**63 + 1], numpy.uint64), [ids[1], ids[2]])
    client.delete(7, ids[1])
    client.delete(2**63)
    store = fpstore.open(tmp_path / "live")
    assert store.fingerprints().tolist() == [7, 2**63 + 1]
    assert len(client) == len(store)
    for fingerprint, expected in ((7, ids[0]), (2**63 + 1, ids[2])):
        assert list(client.ids(fingerprint)) == list(store.ids(fingerprint)) == [expected]
    client.delete_batch([7, 2**63 + 1])
    assert 7 not in client and 2**63 + 1 not in client


def test_what_cannot_be_done_says_why(tmp_path, serve, monkeypatch):
    fpstore.pack(tmp_path / "s", numpy.arange(200, dtype=numpy.uint64))
    fpstore.pack(tmp_path / "t", numpy.arange(2, dtype=numpy.uint64))
    (tmp_path / "tokens").write_text("a-token-of-32-letters-for-reading\n")
    guarded = serve("s", "t", "--read-token", "tokens", "--most-matches", "50")
    for token in (None, "another"):
        with pytest.raises(PermissionError):
            fpstore.Client(guarded, "s", token=token)
    token = {"token": "a-token-of-32-letters-for-reading"}
    with pytest.raises(ValueError, match="several stores; name one of them: s, t"):
        fpstore.Client(guarded, **token)
    with pytest.raises(fpstore.NotFoundError, match="no store"):
        fpstore.Client(guarded, "u", **token)
    client = fpstore.Client(guarded, "s", **token)
    with pytest.raises(fpstore.ResourceError, match="more than 50 matches"):
        client.search(0, 8)
    assert client.search(0, 1)[0].tolist() == [0, 1, 2, 4, 8, 16, 32, 64, 128]
    with pytest.raises(ValueError, match="larger items"):
        client.search(memoryview(numpy.zeros(8, numpy.uint64)), 1)
    with monkeypatch.context() as patch, pytest.raises(fpstore.Error, match="more than 1 GiB"):
        patch.setattr("fpstore._client._MOST_ANSWER", 100)
        client.search(0, 1)
    assert client.search(0, 0)[0].tolist() == [0]
    with pytest.raises(fpstore.ResourceError):
        client.search(0, 64)
    with pytest.raises(PermissionError):
        client.insert(1)
    for wrong in (-1, 2**64, b"1234567", numpy.zeros(3, numpy.uint8)):
        with pytest.raises(ValueError):
            client.search(wrong)
    with pytest.raises(ValueError, match="no address"):
        fpstore.Client("ftp://localhost")
    with pytest.raises(fpstore.Error, match="refused"):
        fpstore.Client("http://127.0.0.1:1", "s")
