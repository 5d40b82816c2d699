"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says

# Keys.
with says(
    "with the best eight its loss is 1.46 instead of 1.45, with the last eight 1.50 (means of eight seeds)."
):
    for name, told in (("all keys", 1.45), ("the best 8", 1.46), ("the last 8", 1.5)):
        claim(abs(loss[name] - told), at_most=0.005)
        claim(len(READ[name]) == 8)
    claim((READ["the best 8"]["loss 128"] < READ["the last 8"]["loss 128"]).all())
    claim((READ["all keys"]["loss 128"] < READ["the best 8"]["loss 128"]).all())

# Windows.
at = {n: texts.pivot(index="seed", columns="layers", values=f"loss {n}") for n in (128, 512)}
with says("the cache shrinks to a third, and the loss does not rise."):
    claim(shares["WWWG"], 0.325, 0.345)
    claim((at[128]["WWWG"] - at[128]["GGGG"]).mean(), at_most=0)
with says("Pieces of 128 bytes, each read alone, cost 1.45."):
    claim(at[128]["GGGG"].mean(), 1.445, 1.455)
    claim(late["loss 512"].mean(), at_most=1.44)
with says(
    "a model that reads all is lost: its loss is 2.82. With windows of 128, put on without more training, it is 1.43 (means of eight seeds)."
):
    claim(at[512]["GGGG"].mean(), 2.81, 2.825)
    claim(late["loss 512"].mean(), 1.425, 1.435)
    claim(len(late) == 8)
with says(
    "With windows of 16 in all layers it reads on; in\nthree of four its loss rises a little."
):
    claim(curves.loc["GGGG", "192"], at_least=2)
    claim(curves.loc["WWWW", "512"] < curves.loc["WWWW", "128"])
    claim(curves.loc["WWWG", "512"] - curves.loc["WWWG", "128"], at_most=0.15)
with says("and its loss creeps up from 1.41 to 1.53."):
    claim(curves.loc["WWWG", "128"], 1.405, 1.415)
    claim(curves.loc["WWWG", "512"], 1.525, 1.535)
with says(
    "Without positions in that layer it still reads all keys, and the loss on 512 bytes is 1.43 instead of 1.48."
):
    claim(at[512]["WWWG"].mean(), 1.475, 1.485)
    claim(at[512]["WWWN"].mean(), 1.425, 1.435)
    claim((at[512]["WWWN"] < at[512]["WWWG"]).all())
    claim(curves.loc["WWWN", "512"] - curves.loc["WWWN", "128"], at_most=0.02)
with says("a model reads twice as far before it is lost, at a cost of 0.02 within 128 bytes."):
    claim((at[128]["PPPP"] - at[128]["GGGG"]).mean(), 0.015, 0.025)
    claim(curves.loc["PPPP", "256"] - curves.loc["PPPP", "128"], at_most=0.05)
    claim(curves.loc["PPPP", "352"], at_least=3)
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
    "With twice as many, one head with the delta rule recalls at least 0.92, the sums at most 0.85."
):
    claim(kept("gated delta", D=64)["recall"].min(), at_least=0.92)
    for lr in (0.015, 0.03):
        claim(kept("gated sum", H=4, D=64, lr=lr)["recall"].max(), at_most=0.85)
with says("keeps 1,088 numbers for this text, and 64 more for each pair that follows"):
    claim(17 * 2 * 32 == 1_088 and 2 * 32 == 64)
with says("Softmax attention recalls more than these states, with a cache that grows."):
    softmax = rows["kind"] == "softmax"
    claim(rows[softmax]["recall"].min() > rows[~softmax]["recall"].max())
with says(
    "A sum fills up with old values. Where keys are at right angles,\nfading is enough; where they are not, the delta rule recalls most."
):
    claim(after.loc["sum", "random keys"], at_most=0.2)
    claim(after.loc["sum that fades", "random keys"], 0.4, 0.7)
    claim(after.loc["delta rule", "random keys"], at_least=0.8)
    claim(after.loc["sum that fades", "keys at right angles"], at_least=0.98)
with says("after 100,000 pairs, 6.4 million."):
    claim(64 * 100_000 == 6_400_000)
with says(
    "One cache is enough: alone or beside a state, which adds nothing to this task, it recalls at least 0.98, while two states with nearly as many numbers recall at most 0.94 (eight seeds)."
):
    for kinds in ("softmax", "gated delta, softmax"):
        claim(kept(kinds, lr=0.01, n=32)["recall"].min(), at_least=0.98)
    for H, lr in ((1, 0.01), (1, 0.03), (4, 0.01), (4, 0.03)):
        claim(kept("gated delta, gated delta", H=H, lr=lr, n=32)["recall"].max(), at_most=0.945)
    mix = "gated delta, softmax"  # at its best of three rates, by one seed
    short = {lr: kept(mix, [0], lr=lr, n=32)["recall"][0] for lr in (0.003, 0.01, 0.03)}
    claim(max(short, key=short.get) == 0.01)
