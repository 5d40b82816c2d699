"""What chapter 11 says, asserted (see `tools/claims.py`)."""

from scipy import stats

from tools.claims import claim, says

with says("At 16,384 tokens they fill 1 GiB for a single head"):
    claim(16_384**2 * 4 == 2**30)

with says("9.89 / 3.53 = 2.80, the average over all nine keys."):
    nine = torch.tensor([0.7, 0.2, 1.1, 2.0, 0.4, 0.9, 0.3, 1.6, 0.8])
    held = torch.tensor([1.0, 3.0, 2.0, 5.0, 0.0, 1.0, 4.0, 2.0, 3.0])
    claim(walk(nine, held, tile=3)[0], 2.795, 2.805)
    claim(nine.softmax(dim=0) @ held, 2.795, 2.805)
    claim(walk(nine[:3], held[:3], tile=3)[0], 1.865, 1.875)

with says("In the code the three are top, total and mixed:"):
    rows = {"random": torch.randn(1000), "large": 100 * torch.randn(1000)}
    rows["rising"] = torch.linspace(-50, 50, 1000)
    rows["first tiles blocked"] = torch.randn(1000)
    rows["first tiles blocked"][:300] = -math.inf
    lots = torch.randn(1000, 64)
    for row in rows.values():
        for tile in (1, 64, 300, 2000):
            got, behind = walk(row, lots, tile)
            claim((got - row.softmax(dim=0) @ lots).abs().max(), at_most=1e-5)
            torch.testing.assert_close(behind, row.logsumexp(dim=0))

with says("Because $e^{89}$ is too large for float32, and $e^{12}$ for float16."):
    claim(torch.tensor(89.0).exp() == math.inf)
    claim(torch.tensor(12.0).half().exp() == math.inf)

with says("and $-\\infty - (-\\infty)$ is NaN."):
    claim((torch.tensor(-math.inf) - torch.tensor(-math.inf)).isnan())

with says("any number of parts, in any order, merge into the attention over all, up to rounding."):
    q, k, v = (x.detach() for x in (q, k, v))
    every = torch.ones(100, 100).bool()
    some = torch.rand(100, 100) < 0.1  # some rows may see nothing in most parts
    for mask in (every, causal, some | every.tril(0) & every.triu(0)):
        wanted, behind = attend(q, k, v, mask)
        s = (q @ k.mT / 8).masked_fill(~mask, -math.inf)
        claim((wanted - s.softmax(dim=1) @ v).abs().max(), at_most=1e-12)
        for size in (1, 9, 50):
            cut = zip(k.split(size), v.split(size), mask.split(size, dim=1), strict=True)
            cut = [attend(q, *part) for part in cut]
            for order in (cut, cut[::-1], cut[1::2] + cut[::2]):
                again, lse_again = reduce(merge, order)
                claim((again - wanted).abs().max(), at_most=1e-12)
                claim((lse_again - behind).abs().max(), at_most=1e-12)

with says("Keep the log-sums in float32, even where the outputs are bfloat16."):
    q2, k2, v2 = torch.randn(100, 64), torch.randn(4096, 64), torch.randn(4096, 64)
    every = torch.ones(100, 4096).bool()
    exact = attend(q2, k2, v2, every)[0]
    cut = zip(k2.split(64), v2.split(64), every.split(64, dim=1), strict=True)
    cut = [attend(q2, *part) for part in cut]
    halves = [(o.bfloat16().float(), lse) for o, lse in cut]
    claim((reduce(merge, halves)[0] - exact).norm() / exact.norm(), at_most=0.01)
    rounded = torch.cat([lse for _, lse in cut]).bfloat16().float()
    claim((rounded - torch.cat([lse for _, lse in cut])).abs().max(), at_least=0.01)

with says("Both vectors are known before the first tile is read."):
    claim(max(gaps), at_most=1e-12)

with says("take $12\\,T^2$ bytes, 768 MiB; all that tiles take is less than a fiftieth of that."):
    claim(12 * 8192**2 == 768 * 2**20)
    if not math.isnan(peaks["stored"]):
        claim(peaks["stored"], 700, 900)
        claim(peaks["tiled"], at_most=768 / 50)

with says("One layer looks back $w - 1$ places, and $L$ layers $L (w - 1)$."):
    one = window_mask(40, WINDOW).long()
    seen = one
    for L in range(2, 8):
        seen = (seen @ one).clamp(max=1)
        claim(torch.equal(seen.bool(), window_mask(40, L * (WINDOW - 1) + 1)))

with says("of the answers at 6 to 10 places, taken together, 0.96 or more are right."):
    two = reach[reach["layers"] == 2]
    claim(recall(two, range(6, 11)).mean(axis=1).min(), at_least=0.955)

with says("Three layers get 0.66 to 0.89 at their last place, the fifteenth."):
    last_place = recall(reach[reach["layers"] == 3], [15])
    claim(last_place.min(), 0.655, 0.665)
    claim(last_place.max(), 0.885, 0.895)

with says("beyond it all our models guess."):
    for L in (1, 2, 3):
        beyond = recall(reach[reach["layers"] == L], range(L * (WINDOW - 1) + 1, TOKENS))
        claim(beyond.mean(axis=1).min(), 0.09, 0.16)  # guessing is 0.125
        claim(beyond.mean(axis=1).max(), 0.09, 0.16)
    claim(recall(many, range(11, TOKENS)).mean(axis=1).max(), 0.09, 0.16)

with says("two runs of two layers get only 0.60 and 0.72 at 6 to 10 places"):
    claim(recall(many, range(6, 11)).mean(axis=1).min(), 0.595, 0.605)
    claim(recall(many, range(6, 11)).mean(axis=1).max(), 0.715, 0.725)

with says(
    "A window of 32 that is put on after training adds 0.166 nats to the loss of a character"
):
    ends = stats.t.interval(0.95, 7, costs["window"].mean(), stats.sem(costs["window"]))
    claim(np.round([costs["window"].mean(), *ends], 3).tolist() == [0.166, 0.087, 0.246])

with says("if it keeps the first key, less than 0.01 in each."):
    claim(costs["window, first key kept"].max(), at_most=0.01)

with says("and the window adds less than 0.01 to each."):
    claim(len(costs["window, no BEGIN"]) == 8)
    claim(costs["window, no BEGIN"].max(), at_most=0.01)

with says("The ninth key does not replace it."):
    claim(abs(costs["window, ninth key kept"] - costs["window"]).max(), at_most=0.01)

with says(
    "(seed 1) BEGIN gets more than five percent, and the ninth key less than half a percent."
):
    trained, Plain = [], Model

    class Model(Plain):
        """The same, and remembered."""

        def __init__(self, *sizes):
            super().__init__(*sizes)
            trained.append(self)

    run_begin("yes", 600, 1)
    Model = Plain  # noqa: F811
    texts = excerpts(read_texts()[1]["test"], 100, torch.Generator().manual_seed(1000))
    texts = F.pad(texts, (1, 0), value=BEGIN)[:, :-1]
    hidden = ~MASKS["everything"]
    with torch.no_grad():
        embedded = trained[0].embedding(texts)
        found = trained[0].blocks[0](embedded, attn_mask=hidden, need_weights=True)[1]
    found = found.reshape(100, -1, LENGTH, LENGTH)[:, :, -64:].mean(dim=(0, 1, 2))
    claim(found[0], at_least=0.05)
    claim(found[8], at_most=0.005)

with says("read everything as well (a loss of 1.75 against 1.76)"):
    claim(alone["no"], 1.745, 1.755)
    claim(alone["yes"], 1.755, 1.765)
