"""What chapter 15 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("most of the wall is one column at the left edge"):
    claim(counts[3], 45, 60)
with says("heads the words look most at [CLS]"):
    claim(cls_first, 65, 69)
with says("Head 2 of block 0 is a blue line just below the diagonal"):
    claim(shown[0, 2].diagonal(-1)[1:-1].min(), at_least=0.95)
with says("unaffordable becomes una ##ff ##ord ##able"):
    claim(tokenizer.tokenize("unaffordable") == ["una", "##ff", "##ord", "##able"])
with says("gives the numbers of Hugging Face's BertModel, on our machine to the last bit"):
    claim((mine(minilm) - theirs(published)).abs().max(), at_most=1e-5)
with says("Swap query and key in the table, or give the model 6 heads instead of 12"):
    swapped = {
        old: new.replace("q_proj", "?").replace("k_proj", "q_proj").replace("?", "k_proj")
        for old, new in WEIGHT_NAMES.items()
    }
    wrong = MyEncoder(30_522, 384, 6, 1536, 6, max_length=512, eps=1e-12)
    load_weights(wrong, read_weights(), swapped)

right, small = gaps["eager attention"], gaps["epsilon 1e-11"]
with says("both rows differ by about 2 · 10⁻⁶"):
    for single, _ in (right, small):
        claim(single, 1e-6, 4e-6)
with says("the right model comes closer than 10⁻¹³; the wrong $\\varepsilon$ stays at 10⁻⁹"):
    claim(right[1], at_most=1e-13)
    claim(small[1], 5e-10, 5e-9)
with says("rounding shrinks more than a hundred million times, to about 10⁻¹⁴."):
    claim(right[0] / right[1], at_least=1e8)
    claim(right[1], 1e-15, 5e-14)
with says("A mistake that affects these texts stays"):
    for single, double in list(gaps.values())[2:]:
        claim(double / single, 0.99, 1.01)
with says("zero the vectors of all tokens that these texts lack, and nothing changes"):
    ruined = copy.deepcopy(minilm).double()
    ruined.tokens.weight.data[torch.isin(torch.arange(30_522), ids, invert=True)] = 0
    claim((mine(ruined) - exact).abs().max() == 0)

cls = [cosine_without(part, 0, ids) for part in ("value", "key")]
with says("hardly anything changes; a word's value is missed more"):
    claim(cls[0], at_least=0.99)
    for j in range(1, 8):  # whichever word
        claim(cosine_without("value", j, ids), at_most=cls[0])
weight, size, of_words = sinks["[CLS] at position 0"]
with says("from block 1 on, half of the weight rests on it"):
    claim(weight, 0.45, 0.55)
with says("its value is a sixteenth as long as a word's"):
    claim(of_words / size, 15, 18)
with says("hardly change (cosine 0.996), without its key they do (0.65)"):
    claim(cls[0], 0.9945, 0.9975)
    claim(cls[1], 0.62, 0.68)
with torch.no_grad():
    before, kept, up = (
        model(given, given == PAD)[torch.isin(given, MARKS, invert=True)]
        for model, given in ((minilm, ids), (moved(1), ids[:, 1:]), (moved(0), ids[:, 1:]))
    )
with says("this is the same as hiding its key"):
    claim(F.cosine_similarity(before, kept, dim=-1).mean() - cls[1], -1e-4, 1e-4)
with says("with a word at position 0 instead the others hardly change either (0.97)"):
    later = torch.arange(ids.shape[1]).expand_as(ids)[torch.isin(ids, MARKS, invert=True)] > 1
    claim(F.cosine_similarity(before, up, dim=-1)[later].mean(), 0.965, 0.975)
with says("and two words' outputs have 0.13 on average"):
    pairs = F.cosine_similarity(before.unsqueeze(0), before.unsqueeze(1), dim=-1)
    claim((pairs.sum() - len(before)) / (len(before) * (len(before) - 1)), 0.12, 0.14)
with says("the first becomes the sink"):
    claim(first_token(moved(0), ids[:, 1:])[0], at_least=0.4)
    claim(first_token(moved(1), ids[:, 1:])[0], at_most=0.15)
with says("Longer texts rest less on it: 0.31 with all eight sentences in one"):
    line = " ".join(texts)
    for text, low, high in ((line, 0.305, 0.315), (" ".join([line] * 4), 0.1, 0.25)):
        longer = tokenizer(text, return_tensors="pt")["input_ids"]
        claim(first_token(minilm, longer)[0], low, high)
*either, neither = sinks.values()
with says("the first token is still a sink, even if it is a word"):
    for weight, size, of_words in either:
        claim(weight, at_least=0.4)
        claim(size / of_words, at_most=0.3)
with says("it is a word like any other: a long value, and 5 percent of the weight"):
    claim(neither[0], 0.045, 0.055)
    claim(neither[1] / neither[2], 0.9, 1.15)
