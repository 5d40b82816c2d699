"""What chapter 5 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("All 500 texts are now politics. Only those that really are about politics come"):
    found = together.argmax(dim=-1)
    claim(found.bincount().max(), 490, on=NEWS)
    claim((found == labels).double().mean(), 0.1, 0.35, on=NEWS)
    claim(favourite == names[found.bincount().argmax()])
with says("They weigh as one key whose score is $\\ln n$ higher"):
    shortcut = with_padding(models[0], openings, longest - LENGTH)
    claim((shortcut - together).abs().max(), at_most=1e-3)
with says("It takes its share of the weight, and each text has 1,343 of them:"):
    claim(on_padding.median(), 0.97, 1, on=NEWS)
with says("In all eight models the class that wins is the class of [PAD] alone"):
    claim(sum(same_class), 8, on=NEWS)
with says("it gets at least 460 of the 500 texts."):
    claim(min(collapsed), 250, 499, on=NEWS)
    claim(sum(n >= 480 for n in collapsed), 5, on=NEWS)
with says("With the mask of the next section none loses anything."):
    claim(max(max(line) - min(line) for line in masked_curves), at_most=0.002)

with says("Without a mask, [PAD] takes $2.03 / 5.06 = 0.40$ of the weight."):
    claim(scores.softmax(dim=-1)[0, 2], 0.395, 0.405)
with says("the words get $2.03 / 3.03 = 0.67$ and $1 / 3.03 = 0.33$."):
    by_hand = torch.tensor([0.67, 0.33, 0.0])
    claim((masked.softmax(dim=-1)[0] - by_hand).abs().max(), at_most=0.005)
with says("every text gets the answer that it gets alone."):
    claim(same, len(openings) - 1)
    claim(shares[:, 0, LENGTH:].sum(), at_most=0)
with says("put into the first of these models, it leaves 0.98 of the weight on the padding."):
    zeros = zeroed(fast[0])
    votes, zero_weights = classify(zeros, padded)
    claim(zero_weights[:, 0, LENGTH:].sum(dim=-1).median(), 0.96, 0.995, on=NEWS)
with says("The answer keeps its direction but shrinks to 0.02 of its size"):
    unpadded, _ = classify(fast[0], openings)
    claim((votes - zeros[3]).norm() / (unpadded - zeros[3]).norm(), 0.005, 0.05, on=NEWS)
with says("Without it, 0.90 of the answers would be right."):
    claim(share_right(votes - zeros[3]), 0.82, on=NEWS)
with says("Training on padded texts nearly works."):
    claim(min(lines["trained on it"][0]), 0.83, on=NEWS)
    claim(min(lines["both"][0]), 0.82, on=NEWS)
with says("a few answers, 1 to 12 of 500, still depend on how long a neighbour in the batch is."):
    claim(sum(lines["trained on it"][1]), 8, 100, on=NEWS)
    claim(sum(lines["both"][1]), 15, 150, on=NEWS)
with says("With a mask, none does; that is what a mask is for."):
    claim(max(lines["a mask"][1]), at_most=1)

with says("may attend: F.scaled_dot_product_attention and ours"):
    claim(from_function[0, 0].tolist() == [1, 0, 0])
with says("blocked: nn.MultiheadAttention and our layers"):
    claim(from_layer[0, 0].tolist() == [0, 0.5, 0.5])
with says("Turned round, the mask hides every word, and [PAD] has all of the weight."):
    turned, turned_weights = classify(models[0], padded, slips["turned round"][:, None, :])
    claim(turned_weights[:, 0, LENGTH:].sum(dim=-1).min(), at_least=0.999)
    claim(turned.argmax(dim=-1).bincount().max(), len(openings))
with says("so a word gains 1, and [PAD] still has 0.98 of the weight."):
    claim(on_pad.median(), 0.9, 1, on=NEWS)
with says("as integers could mean either, so PyTorch's function and ours refuse them."):
    for function in (F.scaled_dot_product_attention, scaled_dot_product_attention):
        try:
            function(q, k, v, only_first.long())
        except (RuntimeError, TypeError):
            continue
        claim(False)

with says("Floats looks like no mask. Turned round hides the words."):
    claim(torch.equal(used["floats"], used["no mask"]))
    claim(torch.equal(used["turned round"], ~meant))
with says("hides everything from the padding, and nothing from the words."):
    claim(used["wrong axis"][:3].all() and not used["wrong axis"][3:].any())
with says("it is read as (T, S), and query $t$ gets the length of text $t$."):
    by_length = attempts["axis missing"]
    claim(torch.equal(used["axis missing"], by_length))
    five = F.scaled_dot_product_attention(*[x.expand(5, 5, 8)] * 3, by_length)
    alone_b = F.scaled_dot_product_attention(x, x, x, by_length)
    claim((five - alone_b).abs().max(), at_most=1e-12)
with says("All six run without an error, and only the right one passes the test."):
    claim([name for name, found in used.items() if torch.equal(found, meant)] == ["right"])
with says("Adding 1 everywhere is not enough: many models first subtract each token's mean."):

    def centred(q, k, v):
        q, k, v = (t - t.mean(dim=-1, keepdim=True) for t in (q, k, v))
        return scaled_dot_product_attention(q, k, v, meant)[0]

    claim((centred(x, x + 1, x + 1) - centred(x, x, x)).abs().max(), at_most=1e-12)
    claim(torch.equal(moved(centred, x), meant))
with says("But look at the first three rows: for the words, the lengths change nothing."):
    claim(torch.equal(both[1, :3], causal[:3]))

with says("weights come out equal, and the query reads the mean of what it must not see."):
    for low in (-1e9, torch.finfo(torch.float32).min):
        even = (three + torch.zeros(2, 3).masked_fill(blocked, low)).softmax(dim=-1)
        claim((even[1] - 1 / 3).abs().max(), at_most=1e-6)
        claim(even[0].tolist() == [1, 0, 0])
with says("With $-\\infty$ the softmax is $0 / 0$: NaN"):
    claim(weights[1].isnan().all())
with says("-1e9 becomes $-\\infty$, and so does finfo.min when a score of -20 is added."):
    claim(torch.tensor(-1e9).half().isinf())
    lowest = torch.tensor(torch.finfo(torch.float16).min).half()
    claim((lowest + torch.tensor(-20.0).half()).isinf())
with says("fill with it and set the blocked weights to 0 after the softmax"):
    filled = three.masked_fill(blocked, torch.finfo(torch.float32).min).softmax(dim=-1)
    claim(filled.masked_fill(blocked, 0.0).tolist() == [[1, 0, 0], [0, 0, 0]])
with says("The output is clean, and still every entry of the gradient is NaN."):
    claim(broken["NaN set to 0"][0] == 0 and broken["NaN set to 0"][1] == 1)
with says("but a scale that is learned between fill and softmax still gets NaN."):
    logits, scale = torch.zeros(T, T).requires_grad_(), torch.ones(1).requires_grad_()
    filled = logits.masked_fill(~left_padded, -torch.inf) * scale
    filled.softmax(dim=-1).nan_to_num().square().sum().backward()
    claim(logits.grad.isfinite().all() and scale.grad.isnan().all())
with says("then nothing ever becomes NaN"):
    claim(sum(broken["ours"]) == 0)

with says("So eval() alone changes nothing."):
    claim(nan_rows == {"weights": 2, "function": 0, "shortcut": 2})
with says("self-attention has a route of its own, whatever need_weights says."):
    by_default = by_layer(x, "shortcut", attn_mask=~left_padded, need_weights=True)
    claim(by_default.isnan().any(dim=-1).sum() == 2)
with says("(under no_grad(), or with frozen parameters)"):
    layer.requires_grad_(False)
    frozen = by_layer(x, "function", attn_mask=~left_padded)
    claim(frozen.isnan().any(dim=-1).sum() == 2)
with says("But a model with need_weights=False trains without a NaN"):
    layer.requires_grad_(True).train()
    claim(by_layer(x, "function", attn_mask=~left_padded).isfinite().all())
    layer.eval()
with says("Only the first: the triangle starts at the upper left corner."):
    claim(one_row.flatten().tolist() == [1, 0, 0, 0, 0])
with says("causal_lower_right(T, S) of torch.nn.attention.bias is the mask"):
    show = torch.zeros(1, 2, 4), keys, values
    last_two = F.scaled_dot_product_attention(*show, causal_lower_right(2, 5))[0] > 0
    claim(last_two.tolist() == [[True] * 4 + [False], [True] * 5])


def raises(layer, batch):
    try:
        with torch.no_grad():
            layer.eval()(batch, batch, batch, is_causal=True)
    except RuntimeError as error:
        return "attn_mask" in str(error)
    return False


with says("every token reads what comes after it, all 25 pairs, without an error or a warning."):
    claim(obeyed["no mask", "shortcut"].all())
    unmasked = by_layer(x, "shortcut")
    for wanted in (True, False):
        options = {"is_causal": True, "need_weights": wanted}
        claim(torch.equal(by_layer(x, "shortcut", **options), unmasked))
with says("the layer raises an error in training, and in eval() with gradients on."):
    claim(("no mask", "weights") not in obeyed and ("no mask", "function") not in obeyed)
with says("Among its other conditions are batch_first=True, biases"):
    sizes = {"dtype": x.dtype}
    claim(not raises(layer, x[None]))
    claim(raises(nn.MultiheadAttention(8, 2, **sizes), x[None]))
    claim(raises(nn.MultiheadAttention(8, 2, batch_first=True, bias=False, **sizes), x[None]))
with says("and an even number of heads"):
    claim(raises(nn.MultiheadAttention(8, 1, batch_first=True, **sizes), x[None]))
with says("the layer drops your mask for its own triangle, 15 pairs"):
    claim(torch.equal(obeyed["itself", "function"], causal))
with says("On the shortcut it uses yours, 5 pairs"):
    claim(torch.equal(obeyed["itself", "shortcut"], itself))
with says("(Given as floats, it is dropped there as well.)"):
    as_floats = torch.zeros(T, T, dtype=x.dtype).masked_fill(~itself, -torch.inf)
    claim(torch.equal(moved(hinted, x, "shortcut", as_floats), causal))
with says("as attn_mask, in every call, and is_causal=True beside it or not at all."):
    for route in nan_rows:
        for options in ({}, {"is_causal": True}):
            right = {"route": route, "attn_mask": ~causal, **options}
            claim(torch.equal(moved(lambda q, k, v, o=right: by_layer(v, **o), x), causal))
with says("set_fastpath_enabled(False) closes the shortcut, and the error is back."):
    for fastpath in (False, True):
        torch.backends.mha.set_fastpath_enabled(fastpath)
        claim(raises(layer, x[None]) != fastpath)
