"""What chapter A1 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says(
    "True means blocked in PyTorch's layer, and allowed in the other three. The last token, "
    "which then may attend to nothing, gets zeros from one and equal shares from two."
):
    claim(not weights_of["PyTorch's layer"][mask].any())
    for name in ("PyTorch's function", "JAX's function", "Keras's layer"):
        claim(not weights_of[name][:3][~mask[:3]].any())
    claim(not weights_of["PyTorch's function"][3].any())
    for name in ("JAX's function", "Keras's layer"):
        claim(np.abs(weights_of[name][3] - 0.25).max(), at_most=1e-6)

with says("Of the masks for a batch, 6 of 12 mix-ups raise an error"):
    claim(counts["a mask for a batch"] == (6, 2, 4))

with says("it is wrong, in 6 of 12 mix-ups, and nothing complains"):
    claim(counts["(T, S)"] == (0, 6, 6))

with says("as True wherever the number is not 0: the reverse"):
    turned = in_keras(query, value, key, attention_mask=blocked)
    claim(np.abs(wrong["a mask to add"] - turned).max(), at_most=1e-6)

with says("the outputs of both are off by more, on average, than the outputs are large"):
    for output in wrong.values():
        claim(np.abs(output - right).mean() / np.abs(right).mean(), 1.1, 2)

with says("Keras marks the tokens, and JAX can be given their number"):
    claim(max(differences(outputs).values()), at_most=1e-5)

with says("Zeros, NaN or equal shares: three answers."):
    row = {name: w[1] for name, w in head_0.items()}  # of the query "you"
    claim(not row["NumPy"].any() and not row["Keras"].any())
    claim(np.isnan(row["PyTorch"]).all())
    claim(np.abs(row["JAX"] - 0.25).max(), at_most=0.001)
    others = [np.delete(w, 1, axis=0) for w in head_0.values()]
    claim(max(np.abs(w - others[0]).max() for w in others), at_most=1e-5)

with says("and gives NaN again. Keras goes from zeros to equal shares."):
    claim(behind["PyTorch"] == 0 and behind["Keras"] == 0.25)
    claim(np.isnan(behind["PyTorch, eval and no_grad"]))
