"""What chapter 6 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.positions import ALiBi, RotaryPositionalEncoding, SinusoidalPositionalEncoding

with says("permute the words, and the answers are permuted, and otherwise the same"):
    claim((news - accident[:, order]).abs().max(), at_most=1e-5)
with says("The course has the three as modules"):
    places, q = torch.arange(40), torch.randn(4, 40, 16)
    claim(
        (clock(places, 64) - SinusoidalPositionalEncoding(64).table(40)).abs().max(), at_most=1e-4
    )
    claim((rotate(q, places) - RotaryPositionalEncoding(16).rotate(q)).abs().max(), at_most=1e-4)
    claim((alibi(places, 4) - ALiBi(4).bias(40, 40)).abs().max(), at_most=1e-5)
with says("Only $j - t$ is left: how far the key is from the query, and on which side."):
    q, k = torch.randn(2, 5, 8).double()
    here, later = (rotate(q, t) @ rotate(k, t).mT for t in (torch.arange(5), torch.arange(5) + 90))
    claim((here - later).abs().max(), at_most=1e-4)
    claim((rotate(q[:1], places[:1]) @ rotate(k[:1], places[3:4]).mT
           - rotate(q[:1], places[3:4]) @ rotate(k[:1], places[:1]).mT).abs().max(), at_least=1e-3)  # fmt: skip
with says("It is that of the places alone"):
    claim((clock(places + 8, 8) * clock(places + 10, 8)
           - clock(places + 8, 8) * clock(places + 6, 8)).sum(dim=-1).abs().max(), at_most=1e-4)  # fmt: skip
with says("Without positions it can only guess."):
    ids, labels = texts(50, 20, torch.Generator().manual_seed(0))
    other = torch.where(ids < 2, 1 - ids, ids)  # dog and man exchanged
    bag = Reader("none")
    with torch.no_grad():
        gap = (bag(ids) - bag(other))[labels >= 0].abs().max()
    claim(gap, at_most=1e-5)
with says("so that all clocks have the same 16 frequencies."):
    claim(angles(places, 32).shape[1] == 16 == readers["rotary"].q_proj.out_features // 8)

with says("At 32 words all three are right nearly always. How does each *extrapolate*"):
    claim(min(share(reader, 32) for reader in readers.values()), at_least=0.95)
with says(
    "At 32 words all three are right nearly always; at 256 sinusoidal falls to 0.47, rotary to 0.48"
):
    claim(found["at 32"].min(), at_least=0.95)
    claim(means.loc["sinusoidal", "at 256"], 0.465, 0.475)
    claim(means.loc["rotary", "at 256"], 0.475, 0.485)
with says("and ALiBi, with its slopes of 1/4 to 1/256, to 0.71."):
    claim(means.loc["ALiBi", "at 256"], 0.705, 0.715)
    slopes = -alibi(torch.arange(2), 4)[:, 0, 1]
    claim((slopes - torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256])).abs().max(), at_most=1e-7)
with says("Beyond the 32 words of training all three fall, ALiBi the least."):
    claim((means["at 64"] < means["at 32"]).all() and (means["at 256"] < means["at 128"]).all())
    claim(
        found.groupby("kind")["at 256"].min()["ALiBi"],
        found["at 256"][found["kind"] != "ALiBi"].max(),
    )

near, far = asks["nearer"], asks["farther"]


def right(kind, where):
    """How often this reader is right, of the answers in the figure that are chosen."""
    return asks["right"][where & (asks["kind"] == kind)].mean()


with says("It is right in the corner, where both words stand there."):
    claim(right("sinusoidal", near >= 224), at_least=0.85)
    claim(right("sinusoidal", near < 224), 0.35, 0.6)
with says("Where both words are within 32 places, it is right 0.98 of the time"):
    claim(right("rotary", far < 32), 0.965, 0.995)
with says("it is right 0.05 of the time."):
    claim(right("rotary", (near >= 16) & (near < 48) & (far >= 32)), 0.02, 0.08)
with says("is always right where the nearer word is within 32 places."):
    claim(right("ALiBi", near < 32), at_least=0.995)
    claim(right("ALiBi", near >= 64), 0.4, 0.6)
with says("for ALiBi it makes the slopes an eighth as steep."):
    claim((alibi(places / 8, 4) - alibi(places, 4) / 8).abs().max(), at_most=1e-6)
with says("all three are right 0.99 to 1.00 of the time at 256 words, but where the two words"):
    claim(means["slowed"].min(), at_least=0.985)
    claim(found["slowed"].min(), at_least=0.97)
with says("are adjacent, 0.75 (sinusoidal), 0.76 (rotary) and 0.95 (ALiBi)."):
    claim(means.loc["sinusoidal", "slowed, adjacent"], 0.745, 0.755)
    claim(means.loc["rotary", "slowed, adjacent"], 0.755, 0.765)
    claim(means.loc["ALiBi", "slowed, adjacent"], 0.945, 0.955)
with says("nearer than any in training."):  # at 32 words, not slowed, they are told apart
    claim(means["at 32, adjacent"].min(), at_least=0.985)
with says("and each word gets the same answer as before, while the right answer is now the other."):
    mirror = Reader("ALiBi", causal=False)
    with torch.no_grad():
        gap = (mirror(ids.flip(1)).flip(1) - mirror(ids)).abs().max()
    claim(gap, at_most=1e-5)
with says("0.5, up to sampling noise. Rotary knows on which side a key stands, and gets 0.99."):
    told = {
        kind: share(train(kind, causal=False, ask_all=True), 32, ask_all=True)
        for kind in ("ALiBi", "rotary")
    }
    claim(told["ALiBi"], 0.4, 0.6)
    claim(told["rotary"], at_least=0.97)
