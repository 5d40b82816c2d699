"""What more than one chapter of the course uses.

Read it in this order; a module imports only those above it:

``masks``            which query may attend to which key
``layer``            how a multi-head attention layer is called, checked and converted
``absorbed``         attention that projects no key and no value, for few queries
``cache``            the keys and values that a layer keeps while it writes token by token
``dot_product``      scaled dot-product attention, the definition
``naive``            multi-head attention as a loop over heads
``attention``        multi-head attention at once, through its own projections
``fast_attention``   the same, by the cheapest order of its products
``tiled_attention``  exact attention that never holds the matrix of weights
``positions``        what tells the layer where a token stands: four encodings of position
``variants``         heads as wide as the model, and a convolution that reduces them
``blocks``           the blocks of a Transformer: attention, a small network, residuals and norms
``numpy_attention``  the same layer in NumPy alone, which imports none of the others
``corpus``           the offline corpus: docstrings of installed libraries, read from their source
``data``             the news, from a folder, the hub or the offline corpus
``tokens``           a tokenizer, and batches
``encoder``          a model of BERT's kind: embeddings, then encoder blocks
``minilm_table``     where each published tensor of all-MiniLM-L6-v2 goes in it
``pretrained``       that model with the published weights of all-MiniLM-L6-v2
``embeddings``       one vector for each text
``lora``             low-rank adapters, as parametrisations of a weight
``classifier``       a small text classifier around any attention layer
``training``         a training loop, and predictions
``characters``       text as characters: a vocabulary, and batches of pairs
``transformer``      encoder and decoder with one embedding: the whole Transformer
``torch_transformer`` its weights copied from PyTorch's
``decoding``         write token by token: the best each time, or the best of several beams
``translation``      train a Transformer on pairs, and count exact translations
``dates``            dates written out in six languages, from Babel's locale data
``files``            replace a file in one step
``experiments``      many configurations, many seeds, one table with intervals
``timing``           how long several things take, measured in turns
``memory``           the peak memory of a statement, in a process of its own
``counting``         what a computation does, counted without a clock: operations, bytes, calls
``costs``            what a layer must do at least, and what the machine can do at most
``head_hooks``       reach the heads inside a model: scale them, or record their weights
``heads``            how much each head matters, and layers without some of their heads
``plots``            figures that carry a text alternative
``head_view``        the weights of each head as lines between tokens, to be explored
``checks``           what a reader calls to test what they wrote, one check for each exercise
"""

import warnings

# Said by tqdm.auto, which datasets and transformers import: our bars are text, for page and Colab.
warnings.filterwarnings("ignore", message="IProgress not found")
