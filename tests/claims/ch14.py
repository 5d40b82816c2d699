"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says

# A window, or the best key.
with says("The answers are 6, 1 and 1."):
    _, answers, _ = examples(torch.Generator().manual_seed(0), n=4, B=1, again=True)
    claim((answers[0, :3] + 1).tolist() == [6, 1, 1])
with says("On this task sparse attention loses next to nothing"):
    one = kept("best key", lr=0.01, steps=2400)
    claim(len(one) == 8 and one.min() > 0.99)
    claim(recall(read_by(Window, model)), 0.56, 0.575)
with says("0.56 of the values lie in the last four pairs."):
    claim(1 / 4 + 3 / 4 * (1 - (7 / 8) ** 4), 0.555, 0.565)

# A state.
with (
    says("and adds only what is missing, so the new value takes the place of the old one."),
    torch.no_grad(),
):
    D = 32
    delta, tokens = GatedDelta(D, 1), torch.randn(1, 9, D)
    how = {"need_weights": True, "is_causal": False}
    ours, _ = delta.attend(tokens, tokens, tokens, causal_mask(9, 9), **how)
    q, k, v = (project(tokens) for project in (delta.q_proj, delta.k_proj, delta.v_proj))
    keep, write = (delta.keep(tokens) + 4).sigmoid(), delta.write(tokens).sigmoid()
    qkv = (F.normalize(q, dim=-1), F.normalize(k, dim=-1), v)
    qkv = (each.view(1, 9, 1, D) for each in qkv)
    theirs, _ = modeling_qwen3_next.torch_recurrent_gated_delta_rule(*qkv, keep.log(), write)
    claim((ours - F.rms_norm(D**0.5 * theirs.view(1, 9, D), [D])).abs().max(), at_most=1e-4)
with says(
    "With a state of 256 numbers the delta rule recalls 0.96 of the values of 16 pairs and 0.73 of 48 (means of eight seeds), the sum in no seed more than 0.70 and 0.50. The best key, with a cache that grows, recalls 0.99 of both."
):
    claim(all(len(found) == 8 for of in (BEST, *STATE.values()) for found in of.values()))
    for n, mean, most in ((16, 0.96, 0.70), (48, 0.73, 0.50)):
        claim(STATE["delta rule"][n].mean(), mean - 0.005, mean + 0.005)
        claim(STATE["sum"][n].max(), at_most=most)
        claim(BEST[n].mean(), 0.985, 0.995)
with says(
    "where all 16 keys are different, the sum recalls about 0.9, too (at twice the learning rate)."
):
    different = kept("sum", again=False, lr=0.03)
    claim(len(different) == 8)
    claim(different.min(), at_least=0.85)
    claim(different.max(), at_most=0.95)
with says("The delta rule is ahead because it can replace a value"):
    for n in PAIRS:
        claim(STATE["delta rule"][n].min() > STATE["sum"][n].max())
    claim(kept("sum", lr=0.03).max() < STATE["delta rule"][16].min())
with says("with the sum about half."):
    for n in PAIRS:
        claim(STATE["sum"][n].mean(), 0.4, 0.6)
with says("the delta rule recalls less, the more keys there are."):
    means = [found.mean() for found in STATE["delta rule"].values()]
    claim(means == sorted(means, reverse=True))
with says("Dashed: the share of values in the last four pairs"):
    for n, share in zip(PAIRS, near, strict=True):
        draw = torch.Generator().manual_seed(0)
        (_, keys, _), *_ = examples(draw, n, B=4096, again=True)
        shown, asked = keys[:, n - 3 : n + 1], keys[:, n + 1 :]
        claim((asked[..., None] == shown[:, None]).any(-1).float().mean() - share, -0.01, 0.01)

# Layers of several kinds.
recalled = {letters: found["recall"].mean() for letters, found in RECALL.items()}
on_text = {letters: found["loss"].mean() for letters, found in TEXT.items()}
longer = {letters: found["loss, longer"].mean() for letters, found in TEXT.items()}
with says("does what `GatedDelta` does without the loop"), torch.no_grad():
    loop, at_once = GatedDelta(64, 4).double(), AtOnce(64, 4).double()
    at_once.load_state_dict(loop.state_dict())
    x, (blocked, *_) = torch.randn(2, 49, 64).double(), examples(torch.Generator(), 32)[0]
    for mask in (blocked, ~causal_mask(49, 49)):
        ours, theirs = (each(x, x, x, attn_mask=mask)[0] for each in (loop, at_once))
        claim((ours - theirs).abs().max(), at_most=1e-9)
with says(
    "On text, four windows are within 0.01 of four global layers. On recall they get 0.57, where global layers get 1.00 and a global layer after three windows 0.98 (means of eight seeds)."
):
    claim(all(len(each) == 8 for each in (*TEXT.values(), *RECALL.values())))
    claim(on_text["WWWW"] - on_text["GGGG"], -0.01, 0.01)
    for letters, share in (("WWWW", 0.57), ("GGGG", 1.00), ("WWWG", 0.98)):
        claim(recalled[letters], share - 0.005, share + 0.005)
with says("Four windows of 8 reach 28 bytes back (chapter 11)."):
    claim(4 * (Window.width - 1) + 1 == 13 and 4 * (Bytes.width - 1) == 28)
with says("States lose 0.05 to 0.1 on text."):
    for letters in ("SSSS", "SSSG"):
        claim(on_text[letters] - on_text["GGGG"], 0.05, 0.11)
with says("On recall they need no global layer"):
    claim(RECALL["SSSS"]["recall"].min(), at_least=0.98)
with says("keeps 8,192 numbers, one with a window or with states 1,024"):
    claim(T * 2 * 64 == 8_192 and Bytes.width * 2 * 64 == 4 * 16 * 16 == 1_024)
with says(
    "the loss of four global layers rises from 1.60 to 2.60. With the same weights, read through windows of 64 bytes, it is 1.56 (means of eight seeds)."
):
    claim(on_text["GGGG"], 1.595, 1.605)
    claim(longer["GGGG"], 2.595, 2.605)
    claim(TEXT["GGGG"]["longer, in windows"].mean(), 1.555, 1.565)
with says("on text they are even a little ahead."):
    claim((TEXT["WWWG"]["loss"] - TEXT["GGGG"]["loss"]).max(), at_most=0)
with says(
    "A single global layer copes with the new distances over windows, less well over states."
):
    claim(longer["WWWG"] - on_text["WWWG"], -0.02, 0.02)
    claim(longer["SSSG"] - on_text["SSSG"], 0.1, 0.3)
with says("That changes nothing for longer texts here, and recall falls to 0.88"):
    claim(longer["WWWN"] - longer["WWWG"], -0.01, 0.01)
    claim(recalled["WWWN"], 0.875, 0.885)

# The exercise.
with says("What share of the values will it recall?"):
    Wider = type("Wider", (Window,), {"width": 8})
    claim(recall(read_by(Wider, model)), 0.81, 0.85)
