"""What chapter 6 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.positions import ALiBi, RotaryPositionalEncoding, SinusoidalPositionalEncoding

with says("Permute the words, and the answers are permuted, and otherwise the same"):
    claim((news - accident[:, order]).abs().max(), at_most=1e-5)
with says("The course has the three as modules, with the same numbers"):
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
with says("Without positions it can only guess, and is right half of the time."):
    ids, labels = texts(50, 20, torch.Generator().manual_seed(0))
    other = torch.where(ids < 2, 1 - ids, ids)  # dog and man exchanged
    with torch.no_grad():
        gap = (Reader("none")(ids) - Reader("none")(ids)).abs().max()
        bag = Reader("none")
        gap = (bag(ids) - bag(other))[labels >= 0].abs().max()
    claim(gap, at_most=1e-5)
with says("so that all clocks have the same 16 frequencies."):
    claim(angles(places, 32).shape[1] == 16 == readers["rotary"].q_proj.out_features // 8)

with says("At 32 words, as in training, all three are right nearly always."):
    claim(min(share(reader, 32) for reader in readers.values()), at_least=0.95)
with says("At 32 words all three are right nearly always; at 256 those with clocks are right half"):
    claim(found["at 32"].min(), at_least=0.95)
    for kind in ("sinusoidal", "rotary"):
        claim(means.loc[kind, "at 256"], 0.4, 0.56)
with says("as a coin would be (0.47 and 0.48), and ALiBi 0.71."):
    claim(means.loc["sinusoidal", "at 256"], 0.465, 0.475)
    claim(means.loc["rotary", "at 256"], 0.475, 0.485)
    claim(means.loc["ALiBi", "at 256"], 0.705, 0.715)
with says("Beyond the 32 words of training all three fall, ALiBi the least."):
    claim((means["at 64"] < means["at 32"]).all() and (means["at 256"] < means["at 128"]).all())
    claim(
        found.groupby("kind")["at 256"].min()["ALiBi"],
        found["at 256"][found["kind"] != "ALiBi"].max(),
    )


def row(kind, places):
    """How much of the last word's weight is at these places, in the head that is drawn."""
    with torch.no_grad():
        readers[kind](torch.full((1, 256), DOG))
    return readers[kind].weights[0, HEADS[kind], 255, places].sum()


with says("In training (the square) each head looks at what is near."):
    for kind, head in HEADS.items():
        with torch.no_grad():
            readers[kind](torch.full((1, 32), DOG))
        claim(readers[kind].weights[0, head, 31, 24:].sum(), at_least=0.35)  # evenly: 0.25
with says("stays at places near 30."):
    claim(row("sinusoidal", slice(20, 40)), at_least=0.2)  # evenly: 0.08
with says("But more than 100 words away another band appears"):
    claim(row("rotary", slice(0, 155)), at_least=0.2)
with says("It is short-sighted: two far words both get next to nothing."):
    claim(row("ALiBi", slice(0, 155)), at_most=0.01)

with says("and no step of training, all three are right 0.98 to 1.00 of the time at 256 words"):
    claim(found["slowed"].min(), at_least=0.975)
with says("nearer than any in training, and in these runs fewer are told apart."):
    claim((found["at 32, adjacent"] - found["slowed, adjacent"]).min(), at_least=0.005)
with says("(In texts of 32 words it is at least 0.99.)"):
    claim(means["at 32, adjacent"].min(), at_least=0.985)
with says("and each word gets the same answer as before, while the right answer is now the other."):
    Reader.causal, mirror = False, Reader("ALiBi")
    with torch.no_grad():
        gap = (mirror(ids.flip(1)).flip(1) - mirror(ids)).abs().max()
    Reader.causal = True
    claim(gap, at_most=1e-5)
with says(
    "0.5, but for the luck of 200 texts. Rotary knows on which side a key stands, and gets 0.99."
):
    Reader.causal = False
    told = {
        kind: share(train(kind, ask_all=True), 32, ask_all=True) for kind in ("ALiBi", "rotary")
    }
    Reader.causal = True
    claim(told["ALiBi"], 0.4, 0.6)
    claim(told["rotary"], at_least=0.97)
