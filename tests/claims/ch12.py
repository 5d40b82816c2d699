"""What chapter 12 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("Sixteen times the arithmetic takes only two to three times as long.", timed=True):
    claim(longer, 1.1, 8)
    claim(np.median(rounds[256] / rounds[16]), at_least=3)

with says(
    "For a few tokens, reading the 50 MB of weights takes longer than the arithmetic", timed=True
):
    claim(weight_bytes / 1e6, 50, 51)
    claim(counting[1] < reading)

with says("from six to ten tokens on it is the other way round", timed=True):
    claim(cross, 1.5, 20)

with says("a step of one token takes one and a half times to twice as long", timed=True):
    claim(over, 1, 6)

with says("Nine tenths of that are the products", timed=True):
    claim(alone, 0.5, 1.1)

with says("yet they take about one and a half times as long as those of one row", timed=True):
    claim(few, 1, 4)

with says("What did the cache save?", timed=True):
    claim(saving, 15, 120)

with says(
    "at 64 tokens and at 4,096, and more than ten times as long as its arithmetic", timed=True
):
    claim(min(above), 0.7, 7)
    claim(max(above), 1, 9)
    claim(min(under), at_least=5)

with says("At 2,048 tokens the cache has as many bytes as the weights."):
    weights, cached = step_bytes(stack, 2048)
    claim(cached / weights, 0.99, 1.01)

with says("With 16 key heads, the higher floor is that of its bytes.", timed=True):
    claim(uses[16] == 0.5)
    claim(by_bytes[16] > by_uses[16])

with says("So the higher floor falls to an eighth or a tenth, not to a sixteenth"):
    claim(uses[1] == 8)

with says("So the higher floor falls to an eighth or a tenth, not to a sixteenth", timed=True):
    sixteen, four_heads, single, latent_price = mid
    claim(by_uses[1] > by_bytes[1])
    claim(higher[0] / higher[2], 4, 16.1)
    claim(sixteen / single, 1.5, 14)

with says(
    "four key heads are a quarter of the bytes, and cost about half of what 16 do", timed=True
):
    claim(sixteen / four_heads, 1.2, 6)

with says("and its cache costs about twice as much", timed=True):
    claim(uses["latent"] == 2 * uses[1])
    claim(latent_price / single, 1.05, 3.2)

with says("DeepSeek-V3, with 128 heads on one latent row, does 242 for each byte"):
    claim(2 * 128 * (512 + 64 + 512) / (2 * (512 + 64)), 241, 243)

with says("DeepSeek-V3 keeps 69 KiB a token, one part in 71."):
    claim(costs.iloc[3, 0], 68, 69)
    claim(costs.iloc[3, 2], 71, 72)

with says("the vectors of the last layer are off by one or two percent"):
    claim(found[127][0], 0.002, 0.04)
    claim(found[127][1] == 855)

with says("Given the true letters before, 789 of 855 are still right."):
    claim(found[7][0], 0.1, 0.45)
    claim(found[7][1], 740, 840)

with says("and what follows is lost: 13 of the first 100 stand where they should"):
    agrees = [a == b for a, b in zip(four[34:], ids[34:134], strict=True)]
    claim(agrees.index(False), 0, 20)
    claim(sum(agrees), 2, 40)

with says("is copied when a text writes into it, and free again when its last reader"):
    claim((used, alone_used) == (16, 28))
    for text in "abc":
        paged.drop(text)
    claim(sorted(paged.free) == list(range(20)))

with says("With room for the longest, about 80 percent is empty; with pages of 16 tokens, 3 to 5"):
    claim(empty_share[1024], 0.78, 0.83)
    claim(empty_share[16], 0.03, 0.045)

with says("535 passes write what took 822: 1.5 letters a pass"):
    claim(len(rights) == 535)
    claim(gains["our text"], 1.53, 1.55)

with says(
    "In time that gains little here, between a twentieth and a quarter from run to run", timed=True
):
    claim(speed_up, 0.7, 2)

with says(
    "a pass over four tokens takes 1.3 to 1.6 times as long as one over a single token", timed=True
):
    each = {k: took[k].median() / passes_of[k] for k in (0, 3)}
    claim(each[3] / each[0], 0.9, 2.5)

with says("How much there is to gain also depends on the text."):
    claim(gains["the source of textwrap"], 1.85, 2.2)
    claim(gains["random letters"], 1, 1.1)

with says("three to four times the tokens of one, where the floors would allow 6.6", timed=True):
    claim(gained[64, 16][0], 1.5, 7)
    for measured_gain, allowed, _ in gained.values():
        claim(measured_gain / allowed, 0.25, 1.3)

with says(
    "At token 2,048 with 16 key heads the gain is less than two, as the floors say", timed=True
):
    claim(gained[2048, 16][0], 1, 3)

with says("With a single key head the caches are small again", timed=True):
    claim(gained[2048, 1][0] / gained[2048, 16][0], at_least=1)

with says("keeps the slots 37 percent busy; taking each free slot at once, 84 percent"):
    claim(busy[True], 0.35, 0.39)
    claim(busy[False], 0.82, 0.86)

with says("waiting takes 2.2 times as many (1.8 to 2.7 for 95 percent of 1,000 draws)"):
    claim(gain, 2.2, 2.35)
    claim(np.quantile(fewer, 0.025), 1.7, 1.9)
    claim(np.quantile(fewer, 0.975), 2.6, 2.8)
