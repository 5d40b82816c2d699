"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says

# A window, or the best key.
with says("The answers are 6, 1 and 1."):
    _, answers, _ = examples(torch.Generator().manual_seed(0), n=4, B=1, keys=2)
    claim((answers[0, :3] + 1).tolist() == [6, 1, 1])
with says(
    "The window loses what lies further back: 0.35 of the values lie in the last eight lines, and a few are guessed."
):
    claim(1 / 6 + 5 / 6 * (1 - (31 / 32) ** 8), 0.345, 0.355)
    claim(recall(read_by(Window, model)), 0.34, 0.38)
with says("On this task sparse attention loses next to nothing"):
    claim(recall(read_by(Sparse, model)) / recall(model), at_least=0.99)

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
    "A layer that reads all 48 lines recalls 0.99 of the values. A window of eight lines recalls 0.36; a state of as many numbers recalls 0.69 with the delta rule and 0.49 with the sum: of values set in the last four lines 0.98 and 0.71, of those set more than 32 lines ago 0.29 and 0.15 (means of eight seeds)."
):
    claim(16 * 16 == 8 * 2 * 16 == 256)
    claim(all(len(found) == 8 for found in FOUND.values()))
    for kind, column, mean in (
        ("all lines", "recall", 0.99),
        ("last 8 lines", "recall", 0.36),
        ("delta rule", "recall", 0.69),
        ("sum", "recall", 0.49),
        ("delta rule", "1 to 4", 0.98),
        ("sum", "1 to 4", 0.71),
        ("delta rule", "33 to 48", 0.29),
        ("sum", "33 to 48", 0.15),
    ):
        claim(FOUND[kind][column].mean(), mean - 0.005, mean + 0.005)
with says(
    "the less a state of 256 numbers recalls of it, except for a sum that\nkeeps everything."
):
    for kind in ("delta rule", "sum"):
        means = [FOUND[kind][f"{a} to {b}"].mean() for a, b in AGO]
        claim(means == sorted(means, reverse=True))
with says("recalls what is in it and nothing else."):
    for a, b in AGO:
        found = FOUND["last 8 lines"][f"{a} to {b}"]
        claim(found.mean(), *((0.98, 1) if b <= 8 else (0, 0.03)))
with says("it recalls old values no worse than new ones, but only 0.28 of all."):
    kept = FOUND["sum, α = 1"]
    claim(kept["33 to 48"].mean() / kept["1 to 4"].mean(), at_least=1)
    claim(kept["recall"].mean(), 0.275, 0.285)
with says("The delta rule fades even with $\\alpha = 1$."):
    kept = FOUND["delta rule, α = 1"]
    claim(kept["33 to 48"].mean() / kept["1 to 4"].mean(), at_most=0.5)
# A global layer.
with says("computes the same as the loop for all tokens at once"), torch.no_grad():
    gated_sum = type("GatedSum", (GatedDelta,), {"rule": False})
    x, (blocked, *_) = torch.randn(2, 49, 64).double(), examples(torch.Generator(), 32)[0]
    for Loop, Once in ((GatedDelta, AtOnce), (gated_sum, SumAtOnce)):
        loop, at_once = Loop(64, 4).double(), Once(64, 4).double()
        at_once.load_state_dict(loop.state_dict())
        for mask in (blocked, ~causal_mask(49, 49)):
            ours, theirs = (each(x, x, x, attn_mask=mask)[0] for each in (loop, at_once))
            claim((ours - theirs).abs().max(), at_most=1e-9)
on_text = {kind: rows[["loss 0", "loss 32"]].mean(axis=1) for kind, rows in MODELS.items()}
with says(
    "On text, four windows are within 0.01 of four global layers. On programs they recall 0.57, where four global layers recall 1.00, and a global layer after three windows 0.98 (means of eight seeds)."
):
    claim(all(len(rows) == 8 for rows in (*MODELS.values(), *LONG.values())))
    claim(on_text["WWWW"].mean() - on_text["GGGG"].mean(), -0.01, 0.01)
    for letters, share in (("WWWW", 0.57), ("GGGG", 1.00), ("WWWG", 0.98)):
        claim(MODELS[letters]["recall"].mean(), share - 0.005, share + 0.005)
with says("0.57 is what a single window can see."):
    claim(1 / 4 + 3 / 4 * (1 - (7 / 8) ** 4), 0.55, 0.57)
with says("Four states have a loss that is higher by 0.11."):
    claim(on_text["SSSS"].mean() - on_text["GGGG"].mean(), 0.105, 0.115)
with says("On these programs they need no global layer"):
    claim(MODELS["SSSS"]["recall"].mean(), at_least=0.985)
with says("keeps 8,192 numbers, a layer with a window or with states 1,024"):
    claim(64 * 2 * 64 == 8_192 and Window.width * 2 * 64 == 4 * 16 * 16 == 1_024)
with says(
    "In the last 32 of 256 bytes, four global layers that were trained on 64 bytes have a loss of 3.6. With the same weights, read through windows of 64, it is 1.55 (means of eight seeds)."
):
    claim(MODELS["GGGG"]["loss 224"].mean(), 3.55, 3.65)
    claim(LONG["4 global, in windows"]["loss 224"].mean(), 1.545, 1.555)
with says("In the hybrid the loss rises to 2.0. Without RoPE in its global layer it stays at 1.7"):
    claim(MODELS["SSSG"]["loss 224"].mean(), 1.95, 2.05)
    without = LONG["same without RoPE"]
    claim(without["loss 224"].mean(), 1.65, 1.75)
    claim(without["loss 224"].mean() / without["loss 32"].mean(), at_most=1)
with says(
    "four states alone have 1.65, and four windows 1.54, against 1.61 with a global layer on top."
):
    for letters, mean in (("SSSS", 1.65), ("WWWW", 1.54), ("WWWG", 1.61)):
        claim(MODELS[letters]["loss 224"].mean(), mean - 0.005, mean + 0.005)

# The exercise.
with says("What share of the values will it recall?"):
    Wider = type("Wider", (Window,), {"width": 16})
    claim(recall(read_by(Wider, model)), 0.58, 0.62)
