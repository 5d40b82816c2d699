"""Checks of chapter 1."""

import torch

from exercises.exercise import Code, FaultError, call, check
from exercises.mistakes import soft


@check
def queries_by_hand(function: Code) -> None:
    """Check ``function()``: a matrix w_q (3, 2) that is set by hand.

    Its rows are what an action, a person and a thing look for; its columns meet "is it an action?" and "is it a person?"
    of the keys. "can" and "that" should give "you" at least 0.8 of their attention, and "you" each of the four words the same.
    """
    got = call(function)
    try:
        w_q = torch.as_tensor(got).detach().float()
    except (TypeError, ValueError, RuntimeError):
        raise FaultError(f"w_q should be a tensor (3, 2); got {type(got).__name__}.") from None
    if w_q.shape != (3, 2):
        turned = "w_q is (2, 3); a row for each of action, person, thing makes it (3, 2)."
        raise FaultError(turned if w_q.shape == (2, 3) else f"w_q has shape {tuple(w_q.shape)}; expected (3, 2).")
    if not w_q.isfinite().all():
        raise FaultError("w_q has numbers that are not finite; 3 or 4 is large enough.")
    x = torch.eye(3)[[0, 1, 0, 2]]  # can you can that, (T, D)
    weights = soft(x @ w_q @ x[:, :2].T)  # (T, T); a key is whether it is an action, and a person
    for t, word, kind, (action, person) in ((0, "can", "an action", w_q[0]), (3, "that", "a thing", w_q[2])):
        on_can, on_you = weights[t, :2].tolist()
        reasons = {
            "a negative number turns it away. What finds a person?": person < 0,
            "turning away from actions still leaves two words. What finds a person?": person == 0 and action < 0,
            "it looks for an action: the second number finds a person.": on_can > max(on_you, 0.26),
            f"it has no preference. Its row is that of {kind}.": on_you < 0.26,
            "make its number larger, so that the softmax decides.": True,
        }
        if on_you < 0.8:
            raise FaultError(f'"{word}" gives "you" only {on_you:.3f}; {next(said for said, holds in reasons.items() if holds)}')
    if (weights[1] - 0.25).abs().max() > 0.01:
        shares = ", ".join(f"{w:.2f}" for w in weights[1].tolist())
        raise FaultError(f'"you" gives the words {shares}; it gives all the same, 0.25, where its query fits no key better than another.')


@check
def stuck_starts(stuck: object) -> dict[str, bool]:
    """Check which starts get stuck: letters of A (3, 3.01), B (4, 4), C (3.5, 6) and D (4.5, 9)."""
    letters = {str(letter).upper() for letter in stuck} if isinstance(stuck, list | tuple | set | str) else {""}
    if not letters <= {*"ABCD"}:
        raise FaultError('stuck should be a list of letters from "A" to "D".')
    return {
        "A learns: its keys are all but equal, so their gradients differ a little, and what differs grows.": "A" in letters,
        "C learns: its border is at 4.75, among the long eruptions, and those near it listen to both keys.": "C" in letters,
        "another start gets stuck, too. Can two equal keys move apart?": "B" not in letters,
        "another start gets stuck, too. Whose border is far from every eruption, so that one key gets no share?": "D" not in letters,
    }
