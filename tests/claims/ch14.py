"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says

# Keys.
with says(
    "with the best eight its loss is 1.454 instead of 1.450, with the last eight 1.497, with a random eight 3.383 (means of eight seeds)."
):
    told = {"all keys": 1.45, "the best 8": 1.454, "the last 8": 1.497, "random 8": 3.383}
    for name, said in told.items():
        claim(abs(loss[name] - said), at_most=0.0005)
        claim(len(READ[name]) == 8)
    each = pd.DataFrame({name: rows["loss 128"] for name, rows in READ.items()})
    claim((each.diff(axis=1).iloc[:, 1:] > 0).all(axis=None))  # in all eight, in this order

# Distances.
ahead = pd.DataFrame({name: rows["loss 512"] for name, rows in AHEAD.items()})
with says(
    "a model that reads all is lost: its loss is 2.83. With windows of 128, put on without more training, it is 1.43 (means of eight seeds)."
):
    claim(ahead["all keys"].mean(), 2.82, 2.835)
    claim(ahead["windows of 128"].mean(), 1.425, 1.435)
    claim(len(ahead) == 8)
with says(
    "Where RoPE takes any distance beyond 127 for 127, it reads them all, and its loss is 1.44."
):
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
with says("no distance is new, and the loss stays at 1.43."):
    claim(at[512]["WWWN"].mean(), 1.425, 1.435)
    claim((at[512]["WWWN"] - at[128]["WWWN"]).mean(), at_most=0)
with says("and do as well here"):
    claim((at[512]["WWWW"] - at[512]["WWWN"]).mean(), at_most=0.01)
with says("It costs 0.02, and the model reads twice as far before it is lost."):
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
    "With a state of 256 numbers, one head with the gated delta rule recalls 0.93 to 0.97 of the last values; gated sums with 1,024, 0.72 to 0.78 (eight seeds)."
):
    claim(kept("gated delta")["recall"].min(), 0.925, 0.935)
    claim(kept("gated sum", H=4)["recall"].min(), 0.715, 0.725)
    for lr in (0.015, 0.03):
        claim(kept("gated sum", H=4, lr=lr)["recall"].max(), at_most=0.785)
with says(
    "with twice as many, one head with the delta rule recalls at least 0.92, the sums at most 0.85."
):
    claim(kept("gated delta", D=64)["recall"].min(), at_least=0.92)
    for lr in (0.015, 0.03):
        claim(kept("gated sum", H=4, D=64, lr=lr)["recall"].max(), at_most=0.85)
with says("At half the rate the sums do no better."):
    half, usual = (kept("gated sum", H=4, lr=lr)["recall"] for lr in (0.015, 0.03))
    claim(half.max() <= usual.max())
with says("keeps 1,088 numbers for this text, and 64 more for each pair that follows"):
    claim(17 * 2 * 32 == 1_088 and 2 * 32 == 64)
with says("Softmax attention recalls more than these states, but its cache grows."):
    softmax = rows["kind"] == "softmax"
    claim(rows[softmax]["recall"].min() > rows[~softmax]["recall"].max())
with says("after 100,000 pairs, 6.4 million."):
    claim(64 * 100_000 == 6_400_000)
with says(
    "One cache is enough: alone or beside a state, which adds nothing to this task, it recalls at least 0.98, while two states with nearly as many numbers recall at most 0.94 (eight seeds"
):
    for kinds in ("softmax", "gated delta, softmax"):
        claim(kept(kinds, lr=0.01, n=32)["recall"].min(), at_least=0.98)
    for lr in (0.01, 0.03):
        claim(kept("gated delta, gated delta", H=4, lr=lr, n=32)["recall"].max(), at_most=0.945)
    mix = "gated delta, softmax"  # at its best of three rates, by one seed
    short = {lr: kept(mix, [0], lr=lr, n=32)["recall"][0] for lr in (0.003, 0.01, 0.03)}
    claim(max(short, key=short.get) == 0.01)
