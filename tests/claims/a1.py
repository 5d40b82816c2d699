"""What chapter A1 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says


def is_refused(*given):
    try:
        in_jax(*given)
    except (AssertionError, TypeError, ValueError):
        return True
    return False


with says("allowed in PyTorch's function, JAX's function and Keras's layer."):
    claim(not drawn["PyTorch's layer"][future].any())
    for name in ("PyTorch's function", "JAX's function", "Keras's layer"):
        claim(not drawn[name][:3][~future[:3]].any())

with says("their outputs differ by less than $10^{-5}$"):
    claim(np.abs(jax_says - right).max(), at_most=1e-5)
    claim(np.abs(keras_says - right).max(), at_most=1e-5)
    none = np.zeros_like(blocked)
    with torch.no_grad():
        free = layer(*inputs)[0].numpy()
    claim(np.abs(in_jax(query, key, value, ~none[:, None]) - free).max(), at_most=1e-5)
    claim(np.abs(in_keras(query, value, key) - free).max(), at_most=1e-5)

with says("`bias`; an error in `mask` | not added: 0 blocks; 1, −10⁹ and −∞ allow |"):
    turned = in_keras(query, value, key, attention_mask=blocked)
    for low in (-1e9, -np.inf):
        to_add = np.where(blocked, low, 0).astype(np.float32)
        read = in_keras(query, value, key, attention_mask=to_add)
        claim(np.abs(read - turned).max(), at_most=1e-6)
    claim(is_refused(query, key, value, to_add[:, None]))

with says("The first token sees the future and not itself."):
    claim(added[0, 0, 1:].abs().max(), at_most=1e-6)
    for options in ({}, {"return_attention_scores": True}):
        seen = keras_layer(q, v, k, attention_mask=numbers, **options)
        (seen,) = seen[:1] if options else (seen,)
        claim(np.asarray(seen)[0, 0, 0], at_most=1e-6)
        claim(np.asarray(seen)[0, 0, 1:].min(), at_least=0.05)

with says("NaN, zeros or equal shares: three answers"):
    last_rows = {
        name: np.asarray(w.detach() if torch.is_tensor(w) else w).reshape(4, 4)[3]
        for name, w in found.items()
    }
    claim(np.isnan(last_rows["PyTorch's layer"]).all())
    claim(not last_rows["PyTorch's function"].any())
    claim(np.abs(last_rows["JAX's function"] - 0.25).max(), at_most=1e-6)

with says("PyTorch's from zeros to NaN, Keras's from equal shares to zeros."):
    claim(not last_rows["PyTorch's layer, no weights"].any())
    claim(not last_rows["Keras's layer"].any())
    claim(np.abs(last_rows["Keras's layer, no weights"] - 0.25).max(), at_most=1e-6)

with says("0 with `return_attention_scores` or `dropout`"):
    dropping = keras.layers.MultiHeadAttention(1, 4, use_bias=False, dropout=0.5)
    dropping.build((None, None, 4), (None, None, 4), (None, None, 4))
    dropping.set_weights(keras_layer.get_weights())
    claim(not np.asarray(dropping(q, v, k, attention_mask=~empty))[0, 3].any())

with says("`key_mask`, allowed |"):
    kept = np.asarray([[True, True, False, False]])
    claim(not np.asarray(keras_layer(q, v, k, key_mask=kept))[0, :, 2:].any())

with says("`(B, H, T, D_head)` | `(B, T, H, D_head)`"):  # exchanged: no error
    claim(jax.nn.dot_product_attention(*[np.ones((2, 3, 5, 4))] * 3).shape == (2, 3, 5, 4))

with says("In `eval()` without gradients PyTorch's can be NaN both ways"):
    layer.eval()
    with torch.no_grad():
        for need_weights in (True, False):
            options = {**nothing, "need_weights": need_weights}
            text = inputs[0]  # self-attention: one tensor three times
            claim(layer(text, text, text, **options)[0][:, 3].isnan().all().item())
    layer.train()

with says("Keras runs on JAX here; but asked for its weights, it computes attention itself."):
    from unittest.mock import patch

    function = jax.nn.dot_product_attention
    with patch.object(jax.nn, "dot_product_attention", wraps=function) as spy:
        keras_layer(q, v, k, attention_mask=~empty)
        claim(spy.call_count == 1)
        keras_layer(q, v, k, attention_mask=~empty, return_attention_scores=True)
        claim(spy.call_count == 1)

with says("the padding of the second text blocks keys of the second head, in both texts"):
    off = np.abs(in_jax(query, key, value, ~blocked) - right).max(axis=(1, 2))
    claim(off.min(), at_least=0.01)
    three = [np.concatenate([x, x[:1]]) for x in (query, key, value, ~blocked)]
    claim(is_refused(*three))
