"""What more than one chapter of the course uses.

Read it in this order; a module imports only those above it:

``masks``       which query may attend to which key
``attention``   scaled dot-product attention, and multi-head attention written in two ways
``corpus``      the offline corpus: docstrings of installed libraries, read from their source
``data``        the news, the tokenizer, batches
``classifier``  a small text classifier around any attention layer
``training``    a training loop, predictions, several seeds
``plots``       figures that carry a text alternative
"""
