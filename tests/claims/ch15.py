"""What chapter 15 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("most of the wall is one column at the left edge"):
    claim(counts[3], 45, 60)
with says("Head 2 of block 0 is a blue line just below the diagonal"):
    claim(shown[0, 2].diagonal(-1)[1:-1].min(), at_least=0.95)
with says("It cuts every word of the vocabulary as the library does."):
    for piece in vocabulary:
        text = piece.removeprefix("##")
        library = tokenizer.backend_tokenizer.model.tokenize(text)
        claim(wordpiece(text) == [token.value for token in library])
with says("What comes in goes on, turned a little"):
    claim(F.cosine_similarity(steps[0][0, 2], steps[4][0, 2], dim=0), at_least=0.75)
with says("gives the numbers of Hugging Face's BertModel, on our machine to the last bit."):
    claim((ours - outputs(published)).abs().max(), at_most=1e-5)
with says("Swap query and key in the table, or give the model 6 heads instead of 12"):
    swapped = {
        old: new.replace("q_proj", "?").replace("k_proj", "q_proj").replace("?", "k_proj")
        for old, new in WEIGHT_NAMES.items()
    }
    wrong = MyEncoder(30_522, 384, 6, 1536, 6, max_length=512, eps=1e-12)
    load_weights(wrong, read_weights(), swapped)

right, small = gaps["another kernel"], gaps["epsilon 1e-11"]
with says("both rows differ by about 2 · 10⁻⁶"):
    for single, _ in (right, small):
        claim(single, 1e-6, 4e-6)
with says("the right model comes closer than 10⁻¹³; the wrong $\\varepsilon$ stays at 10⁻⁹"):
    claim(right[1], at_most=1e-13)
    claim(small[1], 5e-10, 5e-9)
with says(
    "rounding shrinks more than a hundred million times, to about 10⁻¹⁴, and a mistake stays"
):
    claim(right[0] / right[1], at_least=1e8)
    claim(right[1], 1e-15, 5e-14)
    for single, double in list(gaps.values())[2:]:
        claim(double / single, 0.99, 1.01)
with says("leave about 10⁻⁶"):

    def in_float32(module, inputs, output):
        norm = (part.float() for part in (module.weight, module.bias))
        return F.layer_norm(inputs[0].float(), (384,), *norm, module.eps).double()

    cast = copy.deepcopy(minilm).double()
    for module in cast.modules():
        if isinstance(module, nn.LayerNorm):
            module.register_forward_hook(in_float32)
    claim((outputs(cast) - exact).abs().max(), 3e-7, 3e-6)

cls = [cosine_without(part, 0) for part in ("value", "key")]
with says("hardly anything changes; a word's value is missed more"):
    claim(cls[0], at_least=0.99)
    for j in range(1, 8):  # whichever word
        claim(cosine_without("value", j), at_most=cls[0])
weight, size, of_words = sinks["[CLS] at place 0"]
with says("from block 1 on, half of the weight rests on [CLS]"):
    claim(weight, 0.45, 0.55)
with says("whose value is a sixteenth as long as a word's"):
    claim(of_words / size, 15, 18)
with says("hardly change (cosine 0.996), without the token to rest on they do (0.65)"):
    claim(cls[0], 0.9945, 0.9975)
    claim(cls[1], 0.62, 0.68)
with says("as long as a word's value, and the cosine falls to 0.53"):
    loud, draw = copy.deepcopy(minilm), torch.Generator().manual_seed(0)
    noise = F.normalize(torch.randn(12, 32, generator=draw), dim=-1).flatten()

    def long_value(module, inputs, values):
        values[:, 0] = of_words * noise

    for block in loud.blocks:
        block.mha.v_proj.register_forward_hook(long_value)
    with torch.no_grad():
        far = F.cosine_similarity(minilm(ids, padding)[words], loud(ids, padding)[words], dim=-1)
    claim(far.mean(), 0.5, 0.56)
*either, neither = sinks.values()
with says("the first token remains a sink, a word as well"):
    for weight, size, of_words in either:
        claim(weight, at_least=0.4)
        claim(size / of_words, at_most=0.3)
with says("it is a word like any other: a long value, and 5 percent of the weight"):
    claim(neither[0], 0.045, 0.055)
    claim(neither[1] / neither[2], 0.9, 1.15)
