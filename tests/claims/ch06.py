"""What chapter 6 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.positions import RotaryPositionalEncoding, SinusoidalPositionalEncoding

with says("permute the words, and the answers are permuted, and otherwise the same"):
    claim((news - accident[:, order]).abs().max(), at_most=1e-5)
with says("In brackets stands the right answer. Here are three cures."):
    places, q = torch.arange(40), torch.randn(4, 40, 16)
    claim(
        (clock(places, 64) - SinusoidalPositionalEncoding(64).table(40)).abs().max(), at_most=1e-4
    )
    claim((rotate(q, places) - RotaryPositionalEncoding(16).rotate(q)).abs().max(), at_most=1e-4)
with says("With four heads the slopes are 1/4, 1/16, 1/64 and 1/256"):
    slopes = -alibi(torch.arange(2), 4)[:, 0, 1]
    claim((slopes - torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256])).abs().max(), at_most=1e-7)
with says("Rotary keeps the product of a query and a key wherever they stand"):
    at, (q, k) = torch.arange(20, 81) / 10, torch.stack([query, key]).unsqueeze(1).expand(2, 61, 2)
    kept = {n: (rotate(q, at) * rotate(k, at + n / 10)).sum(dim=-1) for n in range(-20, 21)}
    claim(max(scores.std() for scores in kept.values()), at_most=1e-4)
with says("ten places before the query the key scores 2.47, ten after it −1.77, wherever"):
    claim([round(kept[n][0].item(), 2) for n in (-10, 10)] == [2.47, -1.77])
with says("the two hands turn alike as well, but what they are added to does not turn with them."):
    for hands in (torch.stack([clock(at, 2), clock(at + n / 10, 2)]) for n in kept):
        claim(hands.prod(dim=0).sum(dim=-1).std(), at_most=1e-4)
        a, b = torch.stack([q, k]) + hands
        angle, score = F.cosine_similarity(a, b, dim=-1).acos(), (a * b).sum(dim=-1)
        four = (a.norm(dim=-1), 1.9), (b.norm(dim=-1), 1.9), (score, 1.4), (angle, 0.9)
        for moving, least in four:
            claim(moving.max() - moving.min(), at_least=least)
with says("ALiBi's reader names the right one."):
    claim((answers == labels)[labels >= 0].all())
with says("Only $j - t$ is left: how far the key is from the query, and on which side."):
    q, k = torch.randn(2, 5, 8).double()
    here, later = (rotate(q, t) @ rotate(k, t).mT for t in (torch.arange(5), torch.arange(5) + 90))
    claim((here - later).abs().max(), at_most=1e-4)
    claim((rotate(q[:1], places[:1]) @ rotate(k[:1], places[3:4]).mT
           - rotate(q[:1], places[3:4]) @ rotate(k[:1], places[:1]).mT).abs().max(), at_least=1e-3)  # fmt: skip
with says("Without positions the reader guesses."):
    ids, labels = texts(50, 20, torch.Generator().manual_seed(0))
    other = torch.where(ids < 2, 1 - ids, ids)  # dog and man exchanged
    bag = Reader("none")
    with torch.no_grad():
        gap = (bag(ids) - bag(other))[labels >= 0].abs().max()
    claim(gap, at_most=1e-5)
    for name in texts_of:
        claim(means.loc["no positions", name], 0.44, 0.56)
with says("one layer sees which words came before, not in which order."):
    claim(bag.causal)
    claim(gap, at_most=1e-5)
with says("so that all clocks have the same 16 frequencies."):
    claim(angles(places, 32).shape[1] == 16 == reader.q_proj.out_features // 8)

cures, of_cures = found[found["kind"] != "no positions"], means.loc[KINDS]
with says("right nearly always; at 256, over all places, sinusoidal falls to 0.47, rotary to 0.48"):
    claim(cures["at 32"].min(), at_least=0.95)
    claim(means.loc["sinusoidal", "at 256"], 0.465, 0.475)
    claim(means.loc["rotary", "at 256"], 0.475, 0.485)
with says("and ALiBi, with its slopes of 1/4 to 1/256, to 0.71."):
    claim(means.loc["ALiBi", "at 256"], 0.705, 0.715)
with says("Beyond the 32 words of training all three cures fall, ALiBi the least."):
    claim((of_cures["at 64"] < of_cures["at 32"]).all())
    claim((of_cures["at 256"] < of_cures["at 128"]).all())
    claim(
        cures.groupby("kind")["at 256"].min()["ALiBi"],
        cures["at 256"][cures["kind"] != "ALiBi"].max(),
    )

spots = placed.groupby("kind", sort=False)[list(SPOTS)].mean()
by_kind = dict(tuple(placed.groupby("kind")))
with says(
    "At places that it never met, sinusoidal is right anywhere from 0.20 to 0.81 of the time"
):
    claim(by_kind["sinusoidal"][after[1:]].mean().min(), 0.195, 0.205)
    claim(by_kind["sinusoidal"][after[1:]].mean().max(), 0.805, 0.815)
with says("Rotary and ALiBi (their lines overlap) stay right."):
    for kind in ("rotary", "ALiBi"):
        claim(by_kind[kind][after].min().min(), at_least=0.9)
with says("It is right where both words stand at places that it met in training."):
    claim(spots.loc["sinusoidal", "both early"], at_least=0.9)
    claim(spots.loc["sinusoidal", ["both late", "one of each"]].max(), at_most=0.7)
with says("Where one is far, seeds differ: 0.51 to 0.93."):
    claim(by_kind["rotary"]["one of each"].min(), 0.505, 0.515)
    claim(by_kind["rotary"]["one of each"].max(), 0.925, 0.935)
with says("sinusoidal is first where both words are early, last where both are late."):
    claim(spots["both early"].idxmax() == "sinusoidal" == spots["both late"].idxmin())
with says("however late in the text."):
    claim(spots.loc["rotary", "both late"], at_least=0.95)
    claim(spots.loc["rotary", "both early"], at_most=0.65)
    claim(spots.loc["rotary", "one of each"], at_most=0.9)
with says("is right wherever at least one of the two is near."):
    claim(spots.loc["ALiBi", ["both late", "one of each"]].min(), at_least=0.99)
    claim(spots.loc["ALiBi", "both early"], at_most=0.75)
with says("all three are right 0.99 to 1.00 of the time at 256 words."):
    claim(of_cures["slowed"].min(), at_least=0.985)
    claim(cures["slowed"].min(), at_least=0.97)
with says("sinusoidal and rotary come to 0.75 and 0.76, ALiBi to 0.95."):
    claim(means.loc["sinusoidal", "slowed, adjacent"], 0.745, 0.755)
    claim(means.loc["rotary", "slowed, adjacent"], 0.755, 0.765)
    claim(means.loc["ALiBi", "slowed, adjacent"], 0.945, 0.955)
with says("slowing helps, too, but does not bring back what they had at 32 words"):
    for kind in KINDS:
        slowed = means.loc[kind, "slowed, adjacent"]
        claim(means.loc[kind, "at 256, adjacent"] + 0.1 < slowed)
        claim(slowed + 0.02 < means.loc[kind, "at 32, adjacent"])
with says("nearer than any in training."):  # at 32 words, not slowed, they are told apart
    claim(of_cures["at 32, adjacent"].min(), at_least=0.985)
with says("and each word gets the same answer as before, while the right answer is now the other."):
    mirror = Reader("ALiBi", causal=False)
    with torch.no_grad():
        gap = (mirror(ids.flip(1)).flip(1) - mirror(ids)).abs().max()
    claim(gap, at_most=1e-5)
with says(
    "0.5, up to the noise of 200 texts (0.03 or so). Rotary knows on which side a key stands"
):
    told = {
        kind: share(train(kind, causal=False, ask_all=True), 32, ask_all=True)
        for kind in ("ALiBi", "rotary")
    }
    claim(told["ALiBi"], 0.4, 0.6)
    claim(told["rotary"], at_least=0.97)
