"""What chapter A1 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("True means blocked in PyTorch's layer, and allowed in PyTorch's function and in JAX's."):
    claim(not weights_of["PyTorch's layer"][future].any())
    for name in ("PyTorch's function", "JAX's function", "Keras's layer"):
        claim(not weights_of[name][:3][~future[:3]].any())

with says("their outputs differ by less than $10^{-5}$"):
    claim(np.abs(jax_says - right).max(), at_most=1e-5)
    claim(np.abs(keras_says - right).max(), at_most=1e-5)
    none = np.zeros_like(blocked)
    with torch.no_grad():
        free = layer(*inputs)[0].numpy()
    claim(np.abs(in_jax(query, key, value, none) - free).max(), at_most=1e-5)
    claim(np.abs(in_keras(query, value, key) - free).max(), at_most=1e-5)

with says(
    "`bias`; an error in `mask` | none: 0 is read as False, blocked, and −∞ as True, allowed |"
):
    turned = in_keras(query, value, key, attention_mask=blocked)
    for low in (-1e9, -np.inf):
        to_add = np.where(blocked, low, 0).astype(np.float32)
        read = in_keras(query, value, key, attention_mask=to_add)
        claim(np.abs(read - turned).max(), at_most=1e-6)
    refused = False
    try:
        jax.nn.dot_product_attention(*project(query, key, value), mask=to_add[:, None])
    except ValueError:
        refused = True
    claim(refused)

with says("The first token sees the future and not itself."):
    claim(added[0, 0, 1:].abs().max(), at_most=1e-6)
    for options in ({}, {"return_attention_scores": True}):
        seen = keras_layer(q, v, k, attention_mask=numbers, **options)
        (seen,) = seen[:1] if options else (seen,)
        claim(np.asarray(seen)[0, 0, 0], at_most=1e-6)
        claim(np.asarray(seen)[0, 0, 1:].min(), at_least=0.05)

with says("NaN, zeros or equal shares: three answers"):
    last = {
        name: np.asarray(w.detach() if torch.is_tensor(w) else w).reshape(4, 4)[3]
        for name, w in found.items()
    }
    claim(np.isnan(last["PyTorch's layer"]).all())
    claim(not last["PyTorch's function"].any())
    for name in ("JAX's function", "Keras's layer"):
        claim(np.abs(last[name] - 0.25).max(), at_most=1e-6)

with says("In training, the answer of both layers depends on whether you ask for the weights."):
    claim(not last["the same, without weights"].any())
    claim(not last["Keras's layer, weights too"].any())

with says("In `eval()` without gradients it can be NaN both ways"):
    layer.eval()
    with torch.no_grad():
        for need_weights in (True, False):
            options = {"attn_mask": nothing, "need_weights": need_weights}
            text = inputs[0]  # self-attention: one tensor three times
            claim(layer(text, text, text, **options)[0][:, 3].isnan().all().item())
    layer.train()

with says("with the backend JAX, Keras's layer calls JAX's"):
    from unittest.mock import patch

    function = jax.nn.dot_product_attention
    with patch.object(jax.nn, "dot_product_attention", wraps=function) as spy:
        keras_layer(q, v, k, attention_mask=~empty)
    claim(spy.call_count == 1)

with says("then it does not call JAX's function but computes attention itself"):
    with patch.object(jax.nn, "dot_product_attention", wraps=function) as spy:
        options = {"attention_mask": ~blocked, "return_attention_scores": True}
        in_keras(query, value, key, **options)
    claim(spy.call_count == 0)

with says("the padding of the second text blocks keys of the second head, in both texts"):
    heads_of_jax = jax.nn.dot_product_attention(*project(query, key, value), mask=~blocked)
    off = np.abs(join(heads_of_jax) - right).max(axis=(1, 2))
    claim(off.min(), at_least=0.01)
    three = np.concatenate([blocked, blocked[:1]])
    refused = False
    try:
        jax.nn.dot_product_attention(*project(query, key, value), mask=~three)
    except (AssertionError, TypeError, ValueError):
        refused = True
    claim(refused)
