"""A small text classifier around any attention layer."""

from __future__ import annotations

from torch import Tensor, nn


class TextClassifier(nn.Module):
    """Embed the tokens, let the first one attend to all, and classify what it gathers.

    The first token is the tokenizer's [CLS]. Only its row of the attention is used, so only that
    row is computed.

    Parameters
    ----------
    vocab_size : int, number of tokens
    embed_dim : int, width D of the embedding
    num_classes : int, C
    mha : nn.Module, called as ``torch.nn.MultiheadAttention`` with ``batch_first=True`` is
    hidden_dim : int, width of the hidden layer
    padding_idx : int or None, the id of the padding token, which is then masked; None lets the
        first token attend to padding as to any other token

    Raises
    ------
    ValueError
        if the layer has another width or is not batch first
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_classes: int,
        mha: nn.Module,
        hidden_dim: int = 128,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        if getattr(mha, "embed_dim", embed_dim) != embed_dim:
            raise ValueError(
                f"the attention layer is {mha.embed_dim} wide and the embedding {embed_dim}; "
                "both need the same embed_dim."
            )
        if not getattr(mha, "batch_first", True):
            raise ValueError("the attention layer must be built with batch_first=True.")
        self.vocab_size, self.padding_idx = vocab_size, padding_idx
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.mha = mha
        self.classifier = nn.Sequential(
            nn.Linear(embed_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, num_classes)
        )

    def forward(self, input_ids: Tensor) -> Tensor:
        """Give the logits of each class.

        Parameters
        ----------
        input_ids : Tensor of shape (B, T), int64

        Returns
        -------
        Tensor of shape (B, C)

        Raises
        ------
        ValueError
            if the ids are not two-dimensional
        """
        if input_ids.dim() != 2:
            raise ValueError(f"input_ids has shape {tuple(input_ids.shape)}; expected (B, T).")
        x = self.embedding(input_ids)  # (B, T, D)
        padding = None if self.padding_idx is None else input_ids == self.padding_idx  # (B, T)
        query = x[:, :1]  # (B, 1, D), whose gradient autograd writes into zeros of x's size
        if self.vocab_size < input_ids.numel():
            query = self.embedding(input_ids[:, :1])  # the same, with zeros of the table's size
        first, _ = self.mha(query, x, x, key_padding_mask=padding, need_weights=False)
        return self.classifier(first.squeeze(1))  # (B, 1, D) -> (B, D) -> (B, C)
