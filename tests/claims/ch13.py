"""What chapter 13 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("but it is only a part of the sum."):
    claim(gap, at_most=2e-14)
    claim((first - whole).abs().max(), at_least=0.1)

with says("differ from those of one process by less than 1e-13"):
    claim(one_or_two, at_most=1e-13)

with says("Killed and started again, they have the same bits as if nothing had happened."):
    claim(lost == 0)

with says("Without it the loss after ten steps is 0.269 instead of 0.265: too little to notice."):
    claim(forgot, 1e-3, 0.3)

with says("Each is a tensor (B, T, D). Two of the four make the sums"):
    messages = [tuple(message) for message in cuts["heads"][1]]
    claim(messages == 4 * [("all_reduce", 8 * B * T * D)])

with says("All three have the gradients of one process."):
    claim(worst, at_most=1e-12)

with says(
    "Each process holds 1,600 kB if texts are cut, and half of that if their weights are split as "
    "well. If heads are cut it is a little more than half"
):
    together = held["together"]
    claim(together["texts"], 1.59e6, 1.61e6)
    claim(together["texts, weights split"] / together["texts"], 0.5, 0.502)
    claim(together["heads"] / together["texts"], 0.5, 0.51)

with says("numbers, and a little for biases and norms."):
    size = 8 * (12 * D**2 + 13 * D)  # bytes of weights, with biases and norms
    claim(travels["heads"] == 8 * 8 * B * T * D / 2)
    claim(travels["texts"] == size == all_reduce_bytes(size, 2))
    claim(travels["texts, weights split"] == 1.5 * size)

with says("A single token takes 36 ms instead of 8, and two texts 135 instead of 96.", timed=True):
    for name, most in (("1 token", 100), ("2 texts of 256", 5)):
        medians = rows[name].median()
        best = medians[["one thread", "two threads"]].min()
        claim(medians["half of the heads each"] / best, 0.9, most)

with says("and such pairs merge exactly (chapter 11)"):
    claim(ring_gap, at_most=1e-13)

with says("of the pairs of its queries with another process's keys each process computes exactly"):
    claim(counts == [[10, 26, 42, 58], [34] * 4])

with says("has the outputs and gradients of one process, to less than 1e-12"):
    claim(max(difference for difference, *_ in rings), at_most=1e-12)

with says("Each process stores half of what one would, and in the forward pass sends its keys"):
    for _, stored, by_one_process, bytes_sent in rings:
        claim(2 * stored == by_one_process)
        claim(bytes_sent == 8 * 2 * 1024 * 64 / 2)

with says("With 512 GPUs the model says 75 percent, and 74 were measured."):
    claim(at_512, 0.745, 0.755)

with says("with 8 it says 87, and 77 were measured"):
    claim(at_8, 0.865, 0.875)

with says("With Adam the whole model takes 133 GB, and a GPU has 32."):
    claim(adam, 132.5, 133.5)

with says("With heads cut 8 ways 4,096 can be, at 37 percent; even at 27 they would be twice as"):
    claim(thin, 0.365, 0.38)
    claim(8 * (thin - 0.1), at_least=2)
