"""Data: texts with labels, pairs of texts, tokens and batches.

``corpus``      a data set of labelled texts: a folder, the hub, or what stands in for it
``news``        the articles of the BBC, which the course reads; another data set is such a file
``docstrings``  what stands in for them: docstrings of installed libraries
``duplicates``  texts of the test that a training text nearly repeats
``text``        from text to tokens to batches, by pieces of words and by characters
``dates``       dates written out in six languages, from Babel's locale data
``sentences``   English sentences of a small grammar, and what they are in German
"""

from utils.data.corpus import Corpus, all_documents, class_names, drop_duplicates
from utils.data.dates import FIRST, LANGUAGES, LAST, Split, split_dates, write_date, write_dates
from utils.data.docstrings import docstring_rows
from utils.data.duplicates import near_duplicates
from utils.data.news import NEWS, load_news
from utils.data.sentences import (
    NOUNS,
    PERSONS,
    Sentence,
    WordVocabulary,
    draw_sentences,
    in_english,
    in_german,
    pick_order,
)
from utils.data.text import (
    BEGIN,
    END,
    PADDING,
    CharacterVocabulary,
    batches,
    make_dataloader,
    minilm_folder,
    minilm_tokenizer,
    pad_rows,
    train_tokenizer,
)
