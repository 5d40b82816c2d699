"""Training: one loop, the classifier and the translator trained with it, and experiments.

``loop``         gradient steps, epochs, the classifier's training and its predictions
``translation``  the loss of a Transformer on pairs, and exact translations
``language``     train a language model, and measure it in bits a byte
``experiments``  many configurations, many seeds, one table with intervals
``group``        the processes that torchrun started: meet, share, tell one another
``distributed``  their batches: the losses of one process
"""

from utils.training.experiments import (
    fetch_results,
    mean_intervals,
    paired_differences,
    run_all,
)
from utils.training.language import (
    bits_per_byte,
    cut_pieces,
    language_loss,
    language_nats,
    piece_starts,
    train_language_model,
)
from utils.training.loop import (
    classification_loss,
    collect_logits,
    evaluate,
    gradient_steps,
    predict,
    train,
    train_epochs,
)
from utils.training.translation import (
    exact_matches,
    linear_rate,
    translation_loss,
)
