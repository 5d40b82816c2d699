"""What the chapters of the course share, a module for each idea.

A name is here because two chapters use it, or a chapter and a benchmark. What one chapter needs
and does not show is in ``chapters``, what tells a reader what is wrong with an answer in
``exercises``.
"""

import warnings

# Said by tqdm.auto, which datasets and transformers import: our bars are text, for page and Colab.
warnings.filterwarnings("ignore", message="IProgress not found")
