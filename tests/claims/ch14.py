"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says

# A window, or the best key.
with says("The answers are 6, 1 and 1."):
    _, answers, _ = examples(torch.Generator().manual_seed(0), n=4, B=1, keys=2)
    claim((answers[0, :3] + 1).tolist() == [6, 1, 1])
with says(
    "The window loses what lies further back: 0.60 of the values lie in the last sixteen lines."
):
    claim(1 / 3 + 2 / 3 * (1 - (31 / 32) ** 16), 0.595, 0.605)
    claim(recall(read_by(Window, model), programs(32)), 0.58, 0.63)
with says("Sparse attention loses next to nothing"):
    shares = [recall(each, programs(32)) for each in (read_by(Sparse, model), model)]
    claim(shares[0] / shares[1], at_least=0.99)

# A state.
with (
    says("and adds only what is missing, so the new value takes the place of the old one."),
    torch.no_grad(),
):
    delta, tokens = GatedDelta(D, 1), torch.randn(1, 9, D)
    how = {"need_weights": True, "is_causal": False}
    ours, _ = delta.attend(tokens, tokens, tokens, causal_mask(9, 9), **how)
    q, k, v = (project(tokens) for project in (delta.q_proj, delta.k_proj, delta.v_proj))
    keep, write = (delta.keep(tokens) + 4).sigmoid(), delta.write(tokens).sigmoid()
    qkv = (F.normalize(q, dim=-1), F.normalize(k, dim=-1), v)
    qkv = (each.view(1, 9, 1, D) for each in qkv)
    theirs, _ = modeling_qwen3_next.torch_recurrent_gated_delta_rule(*qkv, keep.log(), write)
    claim((ours - F.rms_norm(D**0.5 * theirs.view(1, 9, D), [D])).abs().max(), at_most=1e-4)
with says("`AtOnce`, folded, computes the same"), torch.no_grad():
    x = torch.randn(2, 49, D).double()
    loop, once = GatedDelta(D, 4).double(), AtOnce(D, 4).double()
    once.load_state_dict(loop.state_dict())
    ours, theirs = (each(x, x, x, attn_mask=~causal_mask(49, 49))[0] for each in (loop, once))
    claim((ours - theirs).abs().max(), at_most=1e-9)
with says("`Sum` is a gated sum"), torch.no_grad():
    added = Sum(D, 1).double()
    ours, _ = added.attend(x, x, x, None, need_weights=False, is_causal=False)
    q, k, v = (project(x) for project in (added.q_proj, added.k_proj, added.v_proj))
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    write, keep = (gate[:, 0, :, None] for gate in added.gates)  # (B, T, 1)
    matrix, theirs = torch.zeros(2, D, D).double(), []
    for t in range(49):
        matrix = keep[:, t, None] * matrix + (write * k)[:, t, :, None] * v[:, t, None]
        theirs.append((q[:, t, None] @ matrix)[:, 0])
    claim((ours - F.rms_norm(torch.stack(theirs, 1), [D])).abs().max(), at_most=1e-9)
with says(
    "has a state of $16 \\cdot 16 = 256$ numbers. A window of sixteen lines keeps sixteen keys and values, 512 numbers."
):
    claim(16 * 16 == 256 and Window.width * 2 * 16 == 512 and 32 * 32 == 1_024)
with says("(48 lines set about 30 of them)"):
    claim(48 * (1 - (47 / 48) ** 48), 30, 31)

# More to remember, or more to read.
few, many, long = (dict(zip(MODELS, rows, strict=False)) for rows in FOUND.values())
SMALL, LARGE = "delta rule, 16 dimensions", "delta rule, 32 dimensions"
with says(
    "A state of a head with 16 dimensions recalls 1.00 of the values of 16 variables with the delta rule, and 0.69 of those of 48. With a sum it recalls 0.94 and 0.53. A window of sixteen lines, which keeps twice as many numbers, recalls 0.77 and 0.52 (medians of eight seeds)."
):
    for name, *medians in (
        (SMALL, 1.00, 0.69),
        ("sum, 16 dimensions", 0.94, 0.53),
        ("last 16 lines", 0.77, 0.52),
    ):
        for found, median in zip((few[name], many[name]), medians, strict=True):
            claim(len(found) == 8)
            claim(found.median(), median - 0.005, median + 0.005)
with says(
    "Trained on programs of 48 lines with 16 variables, the delta rule recalls 1.00 of the values in 384 lines, too. Softmax attention over all lines falls from 1.00 to 0.13 (medians of eight seeds)."
):
    claim(long[SMALL].min(), at_least=0.995)
    claim(few["all lines"].median(), at_least=0.995)
    claim(long["all lines"].median(), 0.125, 0.135)
with says("the delta rule recalls more than 0.99 of the values of 48 variables."):
    claim(many[LARGE].min(), at_least=0.99)
with says("the small state recalls 0.46 in 384 lines."):
    claim(recalls(SMALL, 48)["384 lines"].median(), 0.455, 0.465)
with says("In the layers with a state a question could write, too; the gate learns not to."):
    inputs, *_ = programs(16)(torch.Generator().manual_seed(1))
    trained = train([state], programs(16), 0.015, 600, 0)
    trained(*inputs)
    write, _ = trained.mhas[0].gates  # (B, H, T)
    claim(write[..., -16:].mean() / write[..., 1:-16].mean(), at_most=0.1)
with says("To slow positions has a price in 48 lines, too"):
    claim(recall(slowed, programs(32)) / recall(model, programs(32)), at_most=0.9)
with says("It still reads all 384 lines, and now finds most of the values."):
    claim(recall(model, programs(32, lines=384)), at_most=0.3)
    claim(recall(slowed, programs(32, lines=384)), at_least=0.85)

# Mixed layers.
text_of, programs_of = (dict(zip(names, rows, strict=True)) for rows in MIXED.values())
with says(
    "On text two windows of sixteen bytes are within 0.01 of two global layers (1.71 nats per byte). On programs they recall 0.53 of the values, and two states 0.71 (medians of eight seeds). With a global layer above, both recall more than 0.99 in all eight runs."
):
    claim(all(len(found) == 8 for found in (*text_of.values(), *programs_of.values())))
    claim(text_of["2 global"].median(), 1.705, 1.715)
    claim(text_of["2 windows"].median() - text_of["2 global"].median(), -0.01, 0.01)
    for name, share in (("2 windows", 0.53), ("2 states", 0.71)):
        claim(programs_of[name].median(), share - 0.005, share + 0.005)
    for name in ("window, global", "state, global"):
        claim(programs_of[name].min(), at_least=0.99)
with says("(alone it recalls 0.99 as well, as you saw)"):
    claim(many["all lines"].median(), 0.985, 0.995)
with says(
    "a head of a global layer keeps 32,000 numbers, a window of sixteen 512 and a state 256."
):
    claim(1_000 * 2 * 16 == 32_000)
with says("the loss is 1.69."):
    claim(text_of["window, global"].median(), 1.685, 1.695)
with says("in programs of 384 lines the two mixed models recall 0.42 and 0.38."):
    for name, share in (("window, global", 0.42), ("state, global", 0.38)):
        claim(recalls(name, 48)["384 lines"].median(), share - 0.005, share + 0.005)
with says("Two windows of sixteen bytes reach 30 bytes back"):
    claim(2 * (Window.width - 1) == 30)

# The exercise.
with says("What share of the values will it recall?"):
    Wider = type("Wider", (Window,), {"width": 32})
    claim(recall(read_by(Wider, model), programs(32)), 0.86, 0.9)
