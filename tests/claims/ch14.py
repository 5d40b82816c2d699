"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says

# A window, or the best key.
with says("The answers are 6, 1 and 1."):
    _, answers, _ = examples(torch.Generator().manual_seed(0), n=4, B=1, keys=2)
    claim((answers[0, :3] + 1).tolist() == [6, 1, 1])
with says("On this task sparse attention loses next to nothing"):
    one = kept("best key", 16, lr=0.01, steps=2400)
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
    "Of 48 pairs with 8 different keys, a state of 256 numbers recalls 0.95 of the values with the delta rule and 0.65 with the sum; with 32 keys 0.69 and 0.49. The best key, with a cache that grows, recalls 0.99 in both cases (means of eight seeds)."
):
    claim(all(len(found) == 8 for rows in FOUND.values() for found in rows.values()))
    for name, few, many in (
        ("delta rule", 0.95, 0.69),
        ("sum", 0.65, 0.49),
        ("best key", 0.99, 0.99),
    ):
        claim(FOUND[name][8].mean(), few - 0.005, few + 0.005)
        claim(FOUND[name][32].mean(), many - 0.005, many + 0.005)
with says("of 16 pairs with 8 keys the delta rule recalls 0.98, not much more than of 48."):
    few = kept("delta rule", 16)
    claim(len(few) == 8)
    claim(few.mean(), 0.98 - 0.005, 0.98 + 0.005)
with says("the sum recalls less still."):
    for keys in KEYS:
        claim(FOUND["delta rule"][keys].min() > FOUND["sum"][keys].max())
with says("The more different keys a text has, the less a state of 256\nnumbers recalls"):
    for name in ("delta rule", "sum"):
        means = [found.mean() for found in FOUND[name].values()]
        claim(means == sorted(means, reverse=True))
with says("Dashed: the\nshare of values in the last four pairs"):
    for n, share in zip(KEYS, near, strict=True):
        draw = torch.Generator().manual_seed(0)
        (_, ids, _), *_ = examples(draw, 48, B=4096, keys=n)
        shown, asked = ids[:, 45:49], ids[:, 49:]
        claim((asked[..., None] == shown[:, None]).any(-1).float().mean() - share, -0.01, 0.01)

# A global layer.
recalled = {letters: found.mean() for letters, found in RECALL.items()}
on_text = {letters: found["loss"].mean() for letters, found in TEXT.items()}
longer = {letters: found["longer"].mean() for letters, found in TEXT.items()}
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
with says("four windows of 8 reach 28 bytes back (chapter 11)"):
    claim(4 * (Bytes.width - 1) == 28)
with says("from thirteen pairs back, where 0.97 of the answers stand"):
    claim(4 * (Window.width - 1) + 1 == 13)
    claim(13 / 16 + 3 / 16 * (1 - (7 / 8) ** 13), 0.965, 0.975)
with says("States lose 0.05 to 0.1 on text."):
    for letters in ("SSSS", "SSSG"):
        claim(on_text[letters] - on_text["GGGG"], 0.05, 0.11)
with says("On this recall, with 8 keys, they need no global layer."):
    claim(RECALL["SSSS"].min(), at_least=0.98)
with says("keeps 8,192 numbers, a layer with a window or with states 1,024"):
    claim(T * 2 * 64 == 8_192 and Bytes.width * 2 * 64 == 4 * 16 * 16 == 1_024)
with says(
    "the loss of four global layers rises from 1.60 to 2.60. With the same weights, read through windows of 64 bytes, it is 1.56 (means of eight seeds)."
):
    claim(on_text["GGGG"], 1.595, 1.605)
    claim(longer["GGGG"], 2.595, 2.605)
    claim(TEXT["GGGG"]["longer, in windows"].mean(), 1.555, 1.565)
with says(
    "With windows below it, a single global layer copes; with states below it, less well (1.82)."
):
    claim(longer["WWWG"] - on_text["WWWG"], -0.02, 0.02)
    claim(longer["SSSG"] - on_text["SSSG"], 0.1, 0.3)
with says("our global layer is no better on longer texts, and recall falls to 0.88"):
    claim(longer["WWWN"] - longer["WWWG"], -0.01, 0.01)
    claim(recalled["WWWN"], 0.875, 0.885)

with says("are even ahead of four global layers, in each of the eight seeds."):
    claim((TEXT["WWWG"]["loss"] - TEXT["GGGG"]["loss"]).max(), at_most=0)

# The exercise.
with says("What share of the values will it recall?"):
    Wider = type("Wider", (Window,), {"width": 8})
    claim(recall(read_by(Wider, model)), 0.81, 0.85)
