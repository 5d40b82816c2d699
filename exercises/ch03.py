"""Checks of chapter 3: two heads by hand, what each head adds, and what more cards cost."""

from typing import Any

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, call, check, exercise, normal, refuse, require_parts
from exercises.mistakes import STRIDED, soft, strided, wrong_orders

B, T, H, D_HEAD = 2, 4, 3, 2
D = H * D_HEAD
SHARE = "this is the share that arrives; the error is the share that is lost."


@check
def couriers(function: Code) -> None:
    """Check two heads that are set by hand to win the game with the guests.

    ``function()`` returns ``heads``, two triples (w_q, w_k, w_v) of shapes (12, D_head),
    (6, D_head) and (6, D_value), and ``w_o``, (2 D_value, 12).
    """
    heads, w_o = _matrices(call(function))
    asked = torch.tensor([(a, c) for a in range(6) for c in range(6) if a != c])  # (T, 2)
    query = torch.eye(6)[asked].flatten(1)  # (T, 12)
    cards = normal(6)(64, 6, 6)  # (B, S, 6)
    weights = [soft(query @ w_q @ w_k.T / w_q.shape[1] ** 0.5) for w_q, w_k, _ in heads]
    brought = [w @ (cards @ w_v) for w, (_, _, w_v) in zip(weights, heads, strict=True)]
    answer = torch.cat(brought, dim=-1) @ w_o  # (B, T, 12)
    wanted = cards[:, asked].flatten(2)  # (B, T, 2, 6) -> (B, T, 12)
    error = (answer - wanted).square().mean().item()
    if error < 0.01:
        return
    for h, weight in enumerate(weights):
        on_names = weight.gather(1, asked).mean(dim=0)  # (2,)
        first, second = on_names.tolist()
        most = weight.max(dim=-1).values.min().item()
        faults = {
            f"head {h} hears both names, and gives them {first:.2f} and {second:.2f} of its weight; "
            "let it hear one of them: six of the twelve rows of its w_q are zero.": min(first, second) > 0.3,
            f"head {h} turns away from the name that it hears; the product of query and key should be largest, not smallest, "
            "where the names agree.": min(first, second) < 0.05 and max(first, second) < 0.3,
            f"for one question the largest weight of head {h} is only {most:.2f}; make its scores larger, "
            "so that the softmax decides.": most < 0.9,
        }
        refuse(faults)
    exchanged = (answer - wanted.roll(6, dims=-1)).square().mean().item() < 0.01
    faults = {
        "both heads go to the same guest; send one to each name.": torch.equal(*(weight.argmax(dim=-1) for weight in weights)),
        "the cards arrive in the wrong order; the first name's card comes first.": exchanged,
    }
    refuse(faults)
    more = "Each head goes to one guest; see that w_v and w_o bring all six numbers of the card to their place."
    raise FaultError(f"the error is {error:.2f}. {more}")


@exercise
def contributions_of_heads() -> Cases:
    """Check what each head adds to the output.

    ``function(outputs, w_o)`` takes a list of H tensors (B, T, D_head) and a matrix (D, D). It
    returns the contribution of each head, (H, B, T, D); their sum is the output without bias.
    """
    stacked, w_o = normal(5)(H, B, T, D_HEAD), normal(4)(D, D)
    blocks = w_o.view(H, 1, D_HEAD, D)
    right = stacked @ blocks  # (H, B, T, D)
    mistakes = {
        "this is the sum over the heads; keep them apart, (H, B, T, D).": right.sum(dim=0),
        "the axis of the heads should come first, (H, B, T, D).": right.transpose(0, 1),
        "head h takes columns of w_o; it should take rows.": stacked @ w_o.T.reshape(blocks.shape),
        STRIDED: stacked @ strided(w_o.T, H).mT.unsqueeze(1),
    } | wrong_orders(blocks, 0, lambda wrong: stacked @ wrong)
    yield Case((list(stacked), w_o), right, mistakes, "the tensor of contributions", ask=_contributions)


@exercise
def least_error() -> Cases:
    """Check the least mean squared error of a layer that is asked for several cards.

    ``function(heads, cards)`` returns what a layer with so many heads must lose at least, where the
    numbers on the cards have variance 1 and the heads are wide enough.
    """
    for heads, cards in ((1, 2), (1, 3), (2, 3), (3, 3), (2, 5), (4, 2)):
        wrong = {
            "half is lost where one head brings one card of two; count heads and cards.": 0.5,
            SHARE: heads / cards,
            SHARE + " You have capped it rightly at 1.": min(1, heads / cards),
            "a further head does not halve what is lost; it brings one more card.": 0.5**heads,
            "this is what one head loses; each further head brings one more card.": 1 - 1 / cards,
            "this is what each card is worth; count the cards that do not arrive.": 1 / cards,
            "with more heads than cards nothing is lost, and no error is below zero.": 1 - heads / cards,
        }
        form = f"with heads = {heads} and cards = {cards} the least error is {{right:.2f}}, not {{got:.4g}}."
        yield Case((heads, cards), max(0, 1 - heads / cards), wrong, "what you return", form=form)


def _contributions(function: Code, outputs: list[Tensor], w_o: Tensor) -> Any:
    try:
        return call(function, outputs, w_o)
    except FaultError as fault:
        try:  # w_o.split(H) runs only where H and D_head are the same number
            call(function, [torch.ones(B, T, 2) for _ in range(2)], torch.ones(4, 4))
        except FaultError:
            raise fault from None
        said = "w_o is cut into pieces of the wrong size. There are H pieces, and each has D_head rows: w_o.split(D_head), or w_o.chunk(H)."
        raise FaultError(said) from None


def _matrices(result: Any) -> tuple[list[tuple[Tensor, Tensor, Tensor]], Tensor]:
    """The heads and the last projection of the game, once their shapes are right."""
    require_parts(result, 2, "two things: the heads and w_o")
    heads, w_o = result
    if not isinstance(w_o, Tensor):
        raise FaultError(f"w_o should be a tensor of shape (12, 12); got {type(w_o).__name__}.")
    require_parts(heads, 2, "two heads")
    triples = []
    for h, head in enumerate(heads):
        require_parts(head, 3, f"three matrices for head {h}: w_q, w_k and w_v")
        if not all(isinstance(matrix, Tensor) and matrix.dim() == 2 for matrix in head):
            raise FaultError(f"each of the three matrices of head {h} should be a 2-d tensor.")
        w_q, w_k, w_v = (matrix.detach().to(w_o.dtype) for matrix in head)
        if (w_q.shape[0], w_k.shape, w_v.shape[0]) != (12, (6, w_q.shape[-1]), 6):
            shapes = ", ".join(str(tuple(w.shape)) for w in (w_q, w_k, w_v))
            raise FaultError(f"the matrices of head {h} have the shapes {shapes}; expected (12, D_head), (6, D_head) and (6, D_value).")
        triples.append((w_q, w_k, w_v))
    joined = sum(w_v.shape[1] for _, _, w_v in triples)
    if tuple(w_o.shape) != (joined, 12):
        raise FaultError(f"w_o has shape {tuple(w_o.shape)}; expected ({joined}, 12).")
    return triples, w_o.detach()
