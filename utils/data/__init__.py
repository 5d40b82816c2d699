"""Data: texts with labels, pairs of texts, tokens and batches.

``corpus``      a data set of labelled texts: a folder, the hub, or what stands in for it
``news``        the articles of the BBC, which the course reads; another data set is such a file
``docstrings``  what stands in for them: docstrings of installed libraries
``documentation`` what the model that writes reads: docstrings, split by library
``duplicates``  texts of the test that a training text nearly repeats
``copying``     how much of a text is copied, character by character
``byte_pairs``  a vocabulary that merges itself, for any text
``text``        from text to tokens to batches, by pieces of words and by characters
``dates``       dates written out in six languages, from Babel's locale data
``sentences``   English sentences of a small grammar, and what they are in German
"""

from utils.data.byte_pairs import END_OF_TEXT, BytePairs, visible
from utils.data.copying import copied_runs, longest_copies, longest_copy
from utils.data.corpus import Corpus, class_names, drop_duplicates
from utils.data.dates import FIRST, LANGUAGES, LAST, Split, split_dates, write_date, write_dates
from utils.data.docstrings import docstring_rows
from utils.data.documentation import documentation, package_versions, writer_texts
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
