from __future__ import annotations

from parpass.integrations.dask.dask_messages import PartCache, digest_of


def test_equal_bytes_have_one_digest_and_others_another():
    assert digest_of(b"ab") == digest_of(memoryview(b"ab")) != digest_of(b"ba")


def test_when_it_is_too_much_what_was_not_used_for_longest_goes():
    kept = PartCache(10)
    for name in "abc":
        kept.put(name, bytes(4) if name != "c" else bytes(2))
    assert kept.get("a") == bytes(4)
    kept.put("d", bytes(4))
    assert [kept.get(name) is not None for name in "abcd"] == [True, False, True, True]


def test_what_is_more_than_is_kept_is_not_kept():
    kept = PartCache(10)
    kept.put("a", bytes(11))
    assert kept.get("a") is None
    kept.put("b", bytes(10))
    assert kept.get("b") == bytes(10)


def test_what_is_sent_again_counts_once():
    kept = PartCache(10)
    for _ in range(3):
        kept.put("a", bytes(5))
    kept.put("b", bytes(5))
    assert kept.get("a") is not None
