"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says

# A window, or the best key.
with says("The answers are 6, 1 and 1."):
    _, answers, _ = examples(torch.Generator().manual_seed(0), n=4, B=1, again=True)
    claim((answers[0, :3] + 1).tolist() == [6, 1, 1])
with says("Sparse attention loses next to nothing"):
    everything, one = (
        kept(kind, lr=0.01, steps=2400)["recall"] for kind in ("softmax", "best key")
    )
    claim((one - everything).min(), at_least=-0.005)
    claim(len(one) == 8 and one.min() > 0.99)
    window = CURVES["window of 4"]["recall"]
    claim(window.min(), 0.56, 0.57)
    claim(window.max(), 0.56, 0.57)
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
with says("does what `GatedDelta` does without the loop"), torch.no_grad():
    loop, at_once = GatedDelta(64, 4).double(), AtOnce(64, 4).double()
    at_once.load_state_dict(loop.state_dict())
    x, (blocked, *_) = torch.randn(2, 49, 64).double(), examples(torch.Generator(), 32)[0]
    for mask in (blocked, ~causal_mask(49, 49)):
        ours, theirs = (each(x, x, x, attn_mask=mask)[0] for each in (loop, at_once))
        claim((ours - theirs).abs().max(), at_most=1e-9)
with says(
    "With a state of 256 numbers the delta rule recalls 0.96 of the values of 16 pairs, the sum 0.54; of 48 pairs, 0.73 and 0.41. The best key, with a cache that grows, recalls 0.99 of both (means of eight seeds)."
):
    claim(all(len(rows) == 8 for each in WAYS.values() for rows in each.values()))
    means = {
        n: {kind: rows["recall"].mean() for kind, rows in each.items()} for n, each in WAYS.items()
    }
    claim(means[16]["delta rule"], 0.955, 0.965)
    claim(means[16]["sum"], 0.535, 0.545)
    claim(means[48]["delta rule"], 0.725, 0.735)
    claim(means[48]["sum"], 0.405, 0.415)
    for n in (16, 48):
        claim(means[n]["best key"], 0.985, 0.995)
with says("where all 16 keys are different, the sum recalls about 0.9, too."):
    different = kept("gated sum", again=False)["recall"]
    claim(len(different) == 8)
    claim(different.min(), at_least=0.85)
    claim(different.max(), at_most=0.95)
with says("In each seed the delta rule is ahead of the sum"):
    for each in WAYS.values():
        claim(each["delta rule"]["recall"].min() > each["sum"]["recall"].max())
    other_rate = kept("gated sum", lr=0.03)["recall"]
    claim(other_rate.max() < WAYS[16]["delta rule"]["recall"].min())
with says(
    "A window recalls nothing beyond its four pairs. A sum loses most\nof the distant values and many near ones. The delta rule, with a state of the\nsame size, recalls most values at every distance."
):
    of = {name: rows[BACK].mean() for name, rows in CURVES.items()}
    claim(of["window of 4"][4:].max(), at_most=0.05)
    claim(of["sum"]["16"], at_most=0.3)
    claim(of["sum"].max(), at_most=0.75)
    claim(of["delta rule"].min(), at_least=0.75)
    claim(of["best key"].min(), at_least=0.95)

# Layers of several kinds.
with says(
    "For recall we report each model's best rate, for text 0.008, which is within 0.01 of the best for all."
):
    for letters in LOSS:
        chosen = [texts(letters, lr=lr)["choice"].mean() for lr in (0.004, 0.008, 0.016)]
        claim(chosen[1] - min(chosen), at_most=0.01)
    for letters, found in RECALL.items():
        rates = {lr: pairs(letters, lr=lr)["recall"].mean() for lr in (0.001, 0.003, 0.01)}
        claim(found.mean() == max(rates.values()))
with says(
    "are within 0.01 of global layers, also after three times the steps. On recall they get 0.33, where global layers get 1.00; if only the fourth layer is global, it is 0.99 (means of eight seeds)."
):
    mean = {letters: (LOSS[letters].mean(), RECALL[letters].mean()) for letters in LOSS}
    claim(mean["WWWW"][0] - mean["GGGG"][0], -0.01, 0.01)
    claim(mean["GGGG"][1], at_least=0.995)
    claim(mean["WWWW"][1], 0.325, 0.335)
    claim(mean["WWWG"][1], 0.985, 0.995)
    claim(share, 0.315, 0.325)
    claim(pairs("WWWG", steps=4000)["recall"].min(), at_least=0.98)
    claim(all(len(each) == 8 for each in (*LOSS.values(), *RECALL.values())))
    longer = [texts(letters, steps=4500)["loss 128"].mean() for letters in ("WWWW", "GGGG")]
    claim(longer[0] - longer[1], -0.01, 0.01)
with says("keeps 16,384 numbers, one with a window 2,048, one with a state 1,024."):
    claim(T * 2 * 64 == 16_384 and Bytes.width * 2 * 64 == 2_048 and 4 * 16 * 16 == 1_024)
with says("States lose a little on text."):
    for letters in ("SSSG", "SSSS"):
        claim(LOSS[letters].mean() - LOSS["GGGG"].mean(), 0.03, 0.07)
with says("On recall they do well without a global layer, too"):
    claim(RECALL["SSSS"].min(), at_least=0.95)
with says("at 0.01 this model, too, stays at 0.33."):
    claim(pairs("WWWG", lr=0.01)["recall"].mean(), 0.32, 0.335)
with says("Four windows of 16 reach 60 bytes back (chapter 11)."):
    claim(4 * (4 - 1) + 1 == 13 and 4 * (16 - 1) == 60)
with says(
    "the loss of four global layers rises to 2.83. With the same weights it is 1.43 through windows of 128, and 1.44 with all keys, but distances capped at 127 (means of eight seeds)."
):
    whole, through, clamped, *_ = LONG.values()
    claim(len(whole) == len(through) == len(clamped) == 8)
    claim(whole["loss 512"].mean(), 2.825, 2.835)
    claim(through["loss 512"].mean(), 1.425, 1.435)
    claim(clamped["loss 512"].mean(), 1.435, 1.445)
    for other in (through, clamped):  # on 128 bytes the same weights do the same
        claim((other["loss 128"] - whole["loss 128"]).abs().max(), at_most=1e-4)
with says(
    "In the model with a single global layer they do less, and almost none if that layer has no RoPE"
):
    claim(texts("WWWG")["loss 512"].mean(), 1.475, 1.485)
    for letters, gain in (("WWWG", (-0.07, -0.03)), ("WWWN", (0, 0.03))):
        each = texts(letters)  # on longer texts the last bytes have more to read
        claim((each["loss 128"] - each["loss 512"]).mean(), *gain)
with says("recall falls from 0.99 to 0.71."):
    claim(pairs("WWWN")["recall"].mean(), 0.7, 0.71)
    claim(pairs("WWWN", lr=0.001)["recall"].max(), at_most=0.72)

# The exercise.
with says("What share of the values will it recall?"):
    Wider = type("Wider", (Window,), {"width": 8})
    claim(recall(read_by(Wider, model)), 0.81, 0.85)
