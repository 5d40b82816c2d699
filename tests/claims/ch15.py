"""What chapter 15 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("To the last bit, on our machine."):
    claim(largest, at_most=1e-5)
with says("recieve leaves a cosine of 0.94"):
    claim(cosines[0, 1], 0.9, 0.97)
with says("leter, read as let ##er, lowers it to 0.55, and three errors to 0.41"):
    claim(cosines[0, 2], 0.49, 0.61)
    claim(cosines[0, 3], 0.35, 0.47)
    claim(wordpiece("leter") == ["let", "##er"])
with says("lies nearer to one about car tyres (0.47) than to its own translation (−0.02)"):
    claim(cosines[4, 5], 0.4, 0.54)
    claim(cosines[0, 4], -0.08, 0.05)
with says("scales the mean to length one, as its makers do [6]"):
    witness = SentenceTransformer(str(minilm_folder()), device="cpu")
    claim((witness.encode(letters, convert_to_tensor=True) - vectors).abs().max(), at_most=1e-5)
with says("Your model gives the numbers of the published one"):
    claim((ours - theirs)[~padding].abs().max(), at_most=1e-5)

with says(
    "In float32 the mistake of $\\varepsilon = 10^{-11}$ hides under the rounding (3 · 10⁻⁶)."
):
    for name in list(gaps)[:2]:
        claim(gaps[name][0], 1e-6, 9e-6)
    hidden = gaps["reversed, epsilon 1e-11"]
    claim(hidden[0] / gaps["another kernel"][0], 0.3, 3)
with says("leaves the cosine of the texts' vectors at 1.000000"):
    nearly = embed_texts(letters, MODELS["epsilon 1e-7"], tokenizer)
    claim((nearly * vectors).sum(dim=-1).min(), at_least=0.999999)
with says("the right ones come closer than 10⁻¹³, and the small mistake shows, at 3 · 10⁻⁹"):
    for name in list(gaps)[:2]:
        claim(gaps[name][1], at_most=1e-13)
    claim(hidden[1], 2e-9, 4e-9)
with says("Anything far above needs a cause, even where no cosine shows it."):
    for single, double in list(gaps.values())[3:]:
        claim(double / single, 0.8, 1.25)

with says("18 of 72 heads give at least twice an even share"):
    claim(named, 16, 20)
with says("Six of the 18 heads give over half to [CLS] all the same."):
    claim((on_first.mean(dim=1) > 0.5)[habit >= 0].sum(), 4, 8)
with says("Head 2 of block 0 gives practically all of its weight to the word before"):
    claim(habits["previous"]["the strongest"], at_least=0.98)
with says("the median head of its kind 0.24, four times an even share"):
    claim(habits["previous"]["the median"], 0.21, 0.27)
with says("All 18 keep their names on either half of the patterns"):
    claim(sure.sum() == named)
with says("15 of them are in the lower three blocks"):
    claim((habit[:3] >= 0).sum(), 13, 17)
with says("the neighbour heads fall to 0.02"):
    for name in ("previous", "next"):
        claim(habits[name]["no positions"], at_most=0.04)
with says("of its three heads two rise to 0.32, and the strongest falls only from 0.43 to 0.40"):
    for pair, wanted in zip(singly, [(0.22, 0.32), (0.27, 0.32), (0.43, 0.40)], strict=True):
        for share_now, said_share in zip(pair, wanted, strict=True):
            claim(share_now, said_share - 0.03, said_share + 0.03)
with says("They are the same piece, and differ only in their positions"):
    claim(two[1, 0, 1], at_least=0.95)
    claim(two[1, 2, 3], at_least=0.85)
    claim(two[0, 2, 1], at_least=0.95)

with says("It rests on [CLS]."):
    claim(on_cls[twice].mean(), 0.35, 0.47)
    claim(on_cls[word & ~twice].mean(), 0.78, 0.9)
with says("From block 1 on, 38 to 58 percent of the weight rests on [CLS]"):
    claim(to_cls[1:].min(), 0.35, 0.41)
    claim(to_cls.max(), 0.55, 0.61)
with says("it brings 5 to 9 percent, where an even share is 6"):
    claim(brought[1:].min(), 0.04, 0.06)
    claim(brought.max(), 0.08, 0.105)
    claim(level, 0.055, 0.07)
with says("the values of [CLS] are on average a nineteenth as long as those of words"):
    claim(word_size / cls_size, 17, 21)
neither, on_sep = sinks.pop((False, False))
with says("With the mark or with place 0 the first token gets 39 to 44 percent of the weight"):
    claim(min(found for found, _ in sinks.values()), 0.36, 0.42)
    claim(max(found for found, _ in sinks.values()), 0.42, 0.48)
with says("with neither it gets 5, no more than even attention would give"):
    claim(neither, 0.03, 0.065)
with says("gets only 7 percent (3 in the other cases)"):
    claim(on_sep, 0.055, 0.085)
    claim(max(end for _, end in sinks.values()), at_most=0.045)

with says("In our own words the mean recall is 37 percent for vectors and 11 for BM25"):
    claim(recalls[OWN, "vectors"].mean(), 0.3, 0.42)
    claim(recalls[OWN, "BM25"].mean(), 0.05, 0.15)
with says("a gap of 26 points (12 to 41)"):
    low, high = paired[OWN, "vectors − BM25"][1:]
    claim(low, at_least=0.08)
    claim(high, 0.36, 0.46)
with says("In technical terms it is 90 and 89, and no difference is to be seen (−8 to 8)."):
    claim(recalls[TERMS, "vectors"].mean(), 0.85, 0.94)
    claim(recalls[TERMS, "BM25"].mean(), 0.84, 0.94)
    low, high = paired[TERMS, "vectors − BM25"][1:]
    claim(low, -0.13, -0.02)
    claim(high, 0.03, 0.15)
with says("The right word adds 53 points to vectors (37 to 68) and 78 to BM25 (63 to 91)."):
    for name, least, most in [("vectors", 0.26, 0.77), ("BM25", 0.52, 0.97)]:
        mean, low, high = paired["the right word", name]
        claim(least <= low < mean < high <= most)
with says("it finds 11 points less than the vectors alone, in an interval that just reaches zero"):
    claim(paired[OWN, "both − vectors"][0], -0.16, -0.06)
    claim(paired[OWN, "both − vectors"][2], -0.03, 0.03)
with says("with a tenth of a vote BM25 does no harm (above)"):
    claim(tenth[OWN], 0.36, 0.44)
with says("endings cut off change little"):
    claim(others[OWN], 0.05, 0.16)
    claim(others[TERMS], 0.79, 0.95)
with says("The three that the vectors find share no word with this question"):
    nearest = by_vectors(lines[-3]).argsort()[-3:]
    claim(by_words(lines[-3])[nearest].max() == 0)
with says(
    "for 8 of the 20 questions in our own words (which tones are in a sound) they find nothing"
):
    claim((recalls[OWN, "vectors"] == 0).sum(), 7, 9)
