"""What the chapters of the course share, in eight rooms.

A room imports only those that are named beside it:

``attention``  the layer, its masks and its positions
``data``       texts, tokens, batches, dates (``files``)
``measure``    time, memory, operations (``attention``)
``figures``    one palette, plots, the view of heads
``models``     what is built around the layer (``attention``, ``data``)
``heads``      reach the heads of a model, weigh them, cut them out (``attention``, ``models``)
``training``   one loop, and experiments (``models``, ``data``, ``files``)
``checks``     what a reader calls to test what they wrote, one module a chapter (all)

``files`` replaces a file in one step, and ``processes`` calls a function in several processes that
talk to each other (``files``). A room hands on its names: ``from utils.attention import
MultiHeadAttention``.
"""

import warnings

# Said by tqdm.auto, which datasets and transformers import: our bars are text, for page and Colab.
warnings.filterwarnings("ignore", message="IProgress not found")
