"""What chapter 10 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says(
    "PyTorch's own operators take about a sixtieth of the time that its layer takes", timed=True
):
    claim(middle["as called"] / middle["one row, by hand"], 25, 120, on=NEWS)

with says("and with the brackets moved less than half of that", timed=True):
    claim(middle["one row, by hand"] / middle["brackets moved"], 1.6, 3.5, on=NEWS)
    claim(interval(cheap, "one row, by hand", "brackets moved")[0], at_least=0.9, on=NEWS)

with says(
    "The backward pass of our layer takes off about a fifth of what is left then.", timed=True
):
    claim(middle["brackets moved"] / middle["our layer"], 1.05, 2.5, on=NEWS)
    claim(interval(cheap, "brackets moved", "our layer")[0], at_least=0.9, on=NEWS)

with says("The result is still about three times a step without any attention.", timed=True):
    claim(middle["our layer"] / middle["no attention"], 1.8, 5, on=NEWS)

with says("The GPU's ridge is farther to the right.", timed=True):
    claim(ridge, 1.5, 15, on=NEWS)

with says("The GPU's ridge is farther to the right."):
    claim(gpu_ridge, 19.9, 20.1)

with says(
    "two to three microseconds, in which the GPU could do more than a hundred million", timed=True
):
    claim(call * 1e6, 0.8, 5, on=NEWS)
    claim(call * GPU["operations"], 0.5e8, 3.5e8, on=NEWS)

with says("move as many bytes as one row, and take longer all the same", timed=True):
    possible = min(four["intensity"] * moved.max(), operations.max()) / 1e9
    claim(four["rate"], at_most=0.8 * possible, on=NEWS)
    single = points[points["kind"] == "thin"].iloc[0]
    claim(four["seconds"] / single["seconds"], 1, 8, on=NEWS)

with says("the operations are divided by 76 and the bytes by 54"):
    asked = table.loc["as called"] / table.loc["our layer"]
    claim(asked["operations"], 75.5, 76.5, on=NEWS)
    claim(asked["moved"], 53, 55, on=NEWS)

with says("the operations are divided by 76 and the bytes by 54", timed=True):
    claim(rate["our layer"] / rate["as called"], 1.6, 4, on=NEWS)

with says("The step did not become a hundred times as fast by running faster.", timed=True):
    claim(middle["as called"] / middle["our layer"], 100, 600, on=NEWS)

with says("But the first two steps take about ten times their floors", timed=True):
    claim(above[DEAR].min(), 5, 20, on=NEWS)
    claim(above[DEAR].max(), 5, 20, on=NEWS)
    claim(above[DEAR].min() / above[CHEAP[:-1]].max(), at_least=1, on=NEWS)

with says("The weights of a step are $B H T^2$ numbers, 256 MiB."):
    claim(4 * B * H * T**2 / 2**20, 255.9, 256.1, on=NEWS)

with says("That is most of the 3,216 MiB in the first row"):
    claim(table.at["as called", "moved"] / 2**20, 3215, 3217, on=NEWS)

with says("In user time the two ways are about equal.", timed=True):
    calm, hurt = spending.loc["without weights"], spending.loc["as called"]
    claim(hurt["user"] / calm["user"], 0.6, 1.6, on=NEWS)

with says("What as called has more is system time, for about a gibibyte of new pages", timed=True):
    claim(hurt["system"] / hurt["user"], 0.15, 2, on=NEWS)
    claim(calm["system"] / calm["user"], at_most=0.15, on=NEWS)
    claim(4096 * hurt["pages"] / 2**30, 0.6, 1.6, on=NEWS)

with says("It moves an eighth of the bytes, and does more operations"):
    asked = table.loc["as called"] / table.loc["without weights"]
    claim(asked["moved"], 7, 9, on=NEWS)
    claim(asked["operations"], at_most=1, on=NEWS)

with says("and take ten times as long as at the peak, or more", timed=True):
    products = suits["products, 8 heads of 8"]
    claim(products / hurt["user"], 0.5, 1.3, on=NEWS)
    claim(products / at_best, 8, 25, on=NEWS)

with says(
    "In heads twice as wide they take about a fifth of the time, and so does the kernel.",
    timed=True,
):
    for part in ("products", "kernel"):
        ratio = suits[f"{part}, 4 heads of 16"] / suits[f"{part}, 8 heads of 8"]
        claim(ratio, 0.1, 0.4, on=NEWS)

with says("Operations are divided by eleven, bytes by less than two."):
    asked = table.loc["without weights"] / table.loc["one row"]
    claim(asked["operations"], 10.5, 11.5, on=NEWS)
    claim(asked["moved"], 1.5, 2, on=NEWS)

with says("It is the largest factor of the three moves.", timed=True):
    gain = {end: middle[start] / middle[end] for _, start, end in MOVES}
    claim(gain["one row"], at_least=11, on=NEWS)
    claim(max(gain, key=gain.get) == "one row", on=NEWS)

with says(
    "the last profile of this chapter finds about as much time in copies and sums", timed=True
):
    few = shares["one row"]
    claim(few["copies, sums"] / few["products"], 0.5, 2.5, on=NEWS)

with says("and moves about half of the bytes"):
    claim(table.at["one row, by hand", "moved"] / table.at["one row", "moved"], 0.4, 0.65, on=NEWS)

with says("So the layer counts, and takes the cheaper order."):
    claim(sum(absorbs), 8, 9)
    claim(absorbs == sorted(absorbs, reverse=True))

with says("Their product with 512 tokens of 64 numbers has 3.5 operations a byte."):
    claim(2 * H * D * T / (4 * (H * D + D * T + H * T)), 3.45, 3.55, on=NEWS)

with says("yet our products take about three times as long as at the peak", timed=True):
    claim((in_products - bare) / at_peak, 1.8, 5, on=NEWS)

with says("and attention still takes a good part of a millisecond of its step", timed=True):
    claim(1e3 * overhead, 0.2, 2.5, on=NEWS)

with says("A call costs many times the two microseconds of a bare product", timed=True):
    claim(overhead / calls / call, at_least=4, on=NEWS)

with says("So the less work a step has, the less a second core can take over", timed=True):
    claim(max(gained.values()), 0.9, 2.2, on=NEWS)
    claim(gained["no attention"], at_most=1.6, on=NEWS)

with says("The bag takes little more than half of our layer's time.", timed=True):
    claim(quicker, 1.4, 3.5, on=NEWS)
    claim(low, at_least=0.9, on=NEWS)
