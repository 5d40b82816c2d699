"""The heads inside a model: reach them, weigh them, cut them out.

``hooks``       scale heads, or record their weights, for as long as a ``with`` block lasts
``importance``  how much each head matters, by four measures
``pruning``     a layer without some of its heads
"""

from utils.heads.hooks import attention_layers, changed_heads, recorded_weights, scaled_heads
from utils.heads.importance import (
    ablation_importance,
    confidence,
    confidence_importance,
    document_errors,
    document_losses,
    gradient_importance,
)
from utils.heads.pruning import prune_heads
