"""Pages hold what a cache without pages holds; equal beginnings are kept once."""

import pytest
import torch

from utils.attention import PagedCache

PAGES, PAGE, H_KV, D_HEAD = 20, 4, 2, 3


@pytest.fixture
def cache():
    return PagedCache(PAGES, PAGE, H_KV, D_HEAD)


def write(cache, plain, text, count):
    """Add tokens to the cache and, as (2, H_kv, D_head), to a list beside it."""
    for _ in range(count):
        plain.setdefault(text, []).append(torch.randn(2, H_KV, D_HEAD))
        cache.append(text, *plain[text][-1])


def assert_same(cache, plain):
    for text, rows in plain.items():
        got = torch.stack(cache.gather(text))
        assert torch.equal(got, torch.stack(rows, dim=2))


@pytest.mark.parametrize("count", [1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE])
def test_a_text_is_kept_as_it_came(cache, count):
    plain = {}
    write(cache, plain, "a", count)
    assert_same(cache, plain)
    assert len(cache.tables["a"]) == -(-count // PAGE)
    assert len(cache.free) == PAGES - len(cache.tables["a"])


@pytest.mark.parametrize("start", [PAGE, PAGE + 2])
def test_a_beginning_is_shared_until_the_texts_part(cache, start):
    plain = {}
    write(cache, plain, "a", start)
    for name in "bc":
        cache.fork("a", name)
        plain[name] = list(plain["a"])
    assert cache.readers[cache.tables["a"][0]] == 3
    for name in "bca":
        write(cache, plain, name, 3)
    assert_same(cache, plain)
    whole = start // PAGE
    assert {tuple(table[:whole]) for table in cache.tables.values()} == {
        tuple(cache.tables["a"][:whole])
    }
    assert len({table[whole] for table in cache.tables.values()}) == 3, "each writes its own page"


def test_pages_come_back_when_their_last_reader_leaves(cache):
    plain = {}
    write(cache, plain, "a", 6)
    cache.fork("a", "b")
    write(cache, plain, "c", 5)
    cache.drop("a")
    assert len(cache.free) == PAGES - 4
    assert torch.equal(torch.stack(cache.gather("b")), torch.stack(plain["a"], dim=2))
    cache.drop("b")
    cache.drop("c")
    assert sorted(cache.free) == list(range(PAGES))
    assert not any(cache.readers)


def test_a_full_memory_says_so_and_changes_nothing():
    cache, plain = PagedCache(2, PAGE, H_KV, D_HEAD), {}
    write(cache, plain, "a", PAGE + 1)
    cache.fork("a", "b")
    tables = {text: list(table) for text, table in cache.tables.items()}
    for text in ("b", "c"):  # a copy of a shared page, and a first page
        with pytest.raises(MemoryError, match="all 2 pages are taken"):
            cache.append(text, torch.ones(H_KV, D_HEAD), torch.ones(H_KV, D_HEAD))
    assert cache.tables == tables
    assert cache.lengths == {"a": PAGE + 1, "b": PAGE + 1}
    assert_same(cache, plain)


def test_what_does_not_fit_is_refused(cache):
    with pytest.raises(ValueError, match=r"\(2, 3\) are expected; got \(2, 3\) and \(3, 2\)"):
        cache.append("a", torch.ones(2, 3), torch.ones(3, 2))
    assert not cache.tables
    with pytest.raises(ValueError, match="at least 1"):
        PagedCache(0, 4, 2, 3)
    with pytest.raises(KeyError):
        cache.gather("a")
    with pytest.raises(KeyError):
        cache.fork("a", "b")
    cache.append("a", torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(ValueError, match="there already"):
        cache.fork("a", "a")


def test_the_memory_has_the_dtype_that_was_asked_for():
    cache = PagedCache(1, 2, 1, 3, dtype=torch.float64)
    cache.append("a", torch.ones(1, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64))
    assert cache.gather("a")[0].dtype == torch.float64
