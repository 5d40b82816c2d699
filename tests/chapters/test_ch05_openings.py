"""The openings of the articles as numbers."""

from datasets import Dataset, DatasetDict

from chapters import ch05_openings


def test_openings_are_the_first_words_of_the_articles_that_have_as_many(monkeypatch):
    def split(*texts):
        rows = [{"text": text, "label": i, "label_text": "ab"[i]} for i, text in enumerate(texts)]
        return Dataset.from_list(rows)

    parts = {"train": split("One two.", "one TWO three"), "test": split("two", "two one four five")}
    monkeypatch.setattr(ch05_openings, "load_news", lambda: DatasetDict(parts))
    found = ch05_openings.load_openings(2, often=2)
    assert found.train_ids.tolist() == [[2, 3], [2, 3]]
    assert found.ids.tolist() == [[3, 2]]  # "two" alone is too short
    assert found.labels.tolist() == [1]
    assert (found.names, found.vocab_size, found.longest) == (["a", "b"], 4, 4)
    assert ch05_openings.load_openings(3).train_ids.tolist() == [[1, 1, 1]]  # all are rare
