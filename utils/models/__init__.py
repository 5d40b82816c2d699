"""Models that are built around the layer.

``blocks``      the blocks of a Transformer: attention, a small network, residuals and norms
``classifier``  a small text classifier around any attention layer
``encoder``     a model of BERT's kind: embeddings, then encoder blocks
``minilm``      that model with the published weights of all-MiniLM-L6-v2: one vector for each text
``adapters``    low-rank adapters, as parametrisations of a weight
``transformer`` encoder and decoder with one embedding; ``transformer_from_torch`` copies PyTorch's
``language_model`` a model that writes: causal blocks, and one embedding
``fast_steps``  its steps with less between the products
``sampling``    choose the next token, and write with a language model
``llama``       its weights under the names of ``transformers``' Llama
``ngrams``      counting instead of learning: n-gram models, and a compressor
``writer``      the language model once it is trained, from its two files
``gap_filler``  one layer that says what stands at a place, trained and kept so too
``writing``     write token by token: the best each time, or the best of several beams
"""

from utils.models.adapters import LowRank, add_adapters
from utils.models.blocks import DecoderBlock, EncoderBlock
from utils.models.classifier import TextClassifier
from utils.models.encoder import TextEncoder
from utils.models.fast_steps import FastSteps
from utils.models.gap_filler import GapFiller, KeptGapFiller, as_read, load_gap_filler
from utils.models.language_model import CausalBlock, GELUNetwork, LanguageModel, RMSNorm, SwiGLU
from utils.models.llama import llama_settings, llama_weights, to_llama
from utils.models.minilm import (
    UNUSED,
    WEIGHT_NAMES,
    embed_texts,
    load_minilm,
    load_weights,
    mean_pool,
    read_weights,
)
from utils.models.ngrams import NGramModel, compressed_bits, join_texts
from utils.models.sampling import (
    apply_temperature,
    best_token,
    draw_token,
    keep_top_k,
    keep_top_p,
    penalize_repetition,
    write,
)
from utils.models.transformer import DecodingState, Transformer
from utils.models.transformer_from_torch import copy_from_torch
from utils.models.writer import Writer, load_writer
from utils.models.writing import beam_search, greedy
