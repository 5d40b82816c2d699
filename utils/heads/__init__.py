"""The heads inside a model: reach them, weigh them, cut them out.

``hooks``       scale heads, average them, or record their weights, in a ``with`` block
``importance``  how much each head matters, by four measures
``patterns``    whether a head looks so many tokens away, or at or behind a copy of its token
``pruning``     a layer without some of its heads
"""

from utils.heads.hooks import (
    attention_layers,
    averaged_heads,
    changed_heads,
    recorded_weights,
    scaled_heads,
)
from utils.heads.importance import (
    ablation_importance,
    confidence,
    confidence_importance,
    document_losses,
    gradient_importance,
)
from utils.heads.patterns import at_offset, prefix_matching, previous_token, same_token
from utils.heads.pruning import prune_heads
