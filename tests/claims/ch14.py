"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says

# Keys.
with says("By hardly anything (at random, the right byte would cost $\\ln 256 = 5.5$)."):
    usual = loss_with(ROPE)
    claim(loss_with(Sparse(8, ROPE)) - usual, 0, 0.03)
    claim(loss_with(Window(8, ROPE)) - usual, 0, 0.08)
with says("most heads give most weight\nto the last few; some look back for something."):
    claim((last >= 0.5).sum(), at_least=9)
    claim((last < 0.5).sum(), at_least=1)
with says(
    "with the last eight its loss is 1.497 instead of 1.450, with the best eight 1.454 (means of eight seeds)."
):
    claim(abs(loss["all"][0] - 1.45), at_most=0.0005)
    claim(abs(loss[8][0] - 1.497), at_most=0.0005)
    claim(abs(loss[8][1] - 1.454), at_most=0.0005)
    eight = [on_texts("GGGG", keys=way, number=8)["loss 128"] for way in ("best", "last")]
    claim((full["loss 128"] < eight[0]).all() and (eight[0] < eight[1]).all())  # in all eight

# Distances.
ahead = pd.DataFrame({name: rows["loss 512"] for name, rows in AHEAD.items()})
with says(
    "a model that reads all is lost: its loss is 2.83. With windows of 128, added without retraining, it is 1.43 (means of eight seeds)."
):
    claim(ahead["all keys"].mean(), 2.82, 2.835)
    claim(ahead["windows of 128"].mean(), 1.425, 1.435)
    claim(len(ahead) == 8)
with says(
    "with the best eight its loss is still 2.84, while with clamped distances it reads them all, and the loss is 1.44."
):
    claim(best["loss 512"].mean(), 2.835, 2.845)
    claim(ahead["all keys, distances clamped"].mean(), 1.435, 1.45)
with says("a model that reads all\nkeys is soon lost beyond them."):
    claim(curves["all keys"]["192"], at_least=2)
with says("With windows of 128 it reads on, and so it does\nwith all keys"):
    for name in ("windows of 128", "all keys, distances clamped"):
        claim(curves[name]["512"] - curves[name]["128"], at_most=0.1)
with says("RoPE for distances up to T - 1"), torch.no_grad():
    clamped, usual = Clamped(64, 4), MultiHeadAttention(64, 4, positions=ROPE)
    clamped.load_state_dict(usual.state_dict())
    x = torch.randn(1, T, 64)
    two = [each(x, x, x, attn_mask=~causal_mask(T, T))[0] for each in (clamped, usual)]
    claim((two[0] - two[1]).abs().max(), at_most=1e-5)

# Trained with windows.
at = {n: texts.pivot(index="seed", columns="layers", values=f"loss {n}") for n in (128, 512)}
with says("cut its cache, at 512 bytes, to about a quarter:"):
    claim(short, 0.25, 0.28)
with says("Within 128 bytes the loss is no higher than without windows. Beyond, it rises to 1.48"):
    claim((at[128]["WWWG"] - at[128]["GGGG"]).mean(), at_most=0)
    claim(at[512]["WWWG"].mean(), 1.475, 1.485)
with says("no distance is new, and the loss stays at 1.43:"):
    claim(at[512]["WWWN"].mean(), 1.425, 1.435)
    claim((at[512]["WWWN"] - at[128]["WWWN"]).mean(), at_most=0)
with says("Windows in all layers keep even less, and do as well"):
    claim((at[512]["WWWW"] - at[512]["WWWN"]).mean(), at_most=0.01)
with says("loses 0.02 here, and fails on longer texts, too."):
    claim((at[128]["PPPP"] - at[128]["GGGG"]).mean(), 0.015, 0.025)
    quarter = texts[texts["layers"] == "PPPP"].mean(numeric_only=True)
    claim(quarter["256"] - quarter["128"], at_most=0.05)
    claim(quarter["352"], at_least=3)
with says("at a learning rate of 0.008, the best of three (a higher one may be better still)"):
    tried = [{"layers": a, "lr": lr, "steps": 1500, "keys": "as trained", "number": 0} for a in at[512] for lr in (0.002, 0.004, 0.008)]  # fmt: skip
    chosen = run_all(on_text, tried, range(8), "results/14-text.csv", "text")
    chosen = chosen.groupby(["layers", "lr"])["choice"].mean().unstack()
    claim((chosen.idxmin(axis=1) == 0.008).all())

# The state.
with says("and adds only what is missing."), torch.no_grad():
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
    "With a state of 256 numbers, the gated delta rule recalls 0.93 to 0.97 of the last values; gated sums with 1,024 recall 0.72 to 0.78 (eight seeds)."
):
    for rows, low, high in (
        (kept("gated delta"), 0.93, 0.97),
        (kept("gated sum", H=4), 0.72, 0.78),
    ):
        claim(rows["recall"].min(), low - 0.005, low + 0.005)
        claim(rows["recall"].max(), high - 0.005, high + 0.005)
    claim(kept("gated sum", H=4, lr=0.015)["recall"].max(), at_most=0.785)
with says(
    "the delta rule recalls at least 0.92 with its 256, the sums at most 0.85 with their 1,024."
):
    claim(kept("gated delta", D=64)["recall"].min(), at_least=0.92)
    for lr in (0.015, 0.03):
        claim(kept("gated sum", H=4, D=64, lr=lr)["recall"].max(), at_most=0.85)
with says("At half the learning rate, four heads with sums do no better."):
    half, usual = (kept("gated sum", H=4, lr=lr)["recall"] for lr in (0.015, 0.03))
    claim(half.max() <= usual.max())
with says("Here the window loses what lies further back, and sparse attention loses nothing"):
    everything, one = kept("softmax"), kept("softmax", keys="best", number=1)
    claim((one["recall"] - everything["recall"]).min(), at_least=-0.005)
    claim(recall(trained, "last", 4, **task), at_most=0.7)
with says("64 numbers for each pair; after 100,000 pairs, 6.4 million."):
    claim(2 * 32 == 64 and 64 * 100_000 == 6_400_000 and 4 * 64 == 256 and 17 * 64 == 1_088)
with says("Only a cache recalls all"):
    states = [kept(kind, H=H) for kind in ("gated sum", "gated delta") for H in (1, 4)]
    claim(kept("softmax")["recall"].min() > pd.concat(states)["recall"].max())
with says("with sixteen keys in place of eight, this one recalls 0.81 to 0.87."):
    claim(kept("gated delta", n=32)["recall"].min(), 0.805, 0.815)
    claim(kept("gated delta", n=32)["recall"].max(), 0.865, 0.875)
with says("a cache can be as small, with a head of 8 numbers, and recalls more."):
    claim(kept("narrow softmax")["recall"].min() > kept("gated delta")["recall"].max())
