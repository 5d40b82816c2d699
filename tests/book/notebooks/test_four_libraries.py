"""Appendix A1, one layer in three libraries, executed where JAX and Keras are installed."""

import json
from importlib.util import find_spec

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from tools.notebooks import ROOT, run

PATH = ROOT / "notebooks" / "A1-four-libraries.ipynb"
MISSING = [name for name in ("jax", "keras") if find_spec(name) is None]
# Asked in the appendix's own kernel after its last cell: sizes and masks that it does not show.
QUESTION = """
import json

def differences(query, key, value, blocked):
    by_head = torch.from_numpy(blocked.repeat(H, axis=0))  # (B * H, T, S)
    inputs = [torch.from_numpy(x) for x in (query, key, value)]
    with torch.no_grad():
        right = layer(*inputs, attn_mask=by_head)[0].numpy()
    options = {"attention_mask": ~blocked, "return_attention_scores": True}
    others = {
        "JAX": in_jax(query, key, value, ~blocked[:, None]),
        "Keras": in_keras(query, value, key, **options)[0],
    }
    return {n: float(np.abs(x - right).max()) for n, x in others.items()}

rng = np.random.default_rng(1)
worst = {}
for T, S in ((1, 6), (5, 2)):
    asks = rng.standard_normal((3, T, D), np.float32)
    gives = rng.standard_normal((2, 3, S, D), np.float32)
    some = rng.random((3, T, S)) < 0.5
    some[..., 0] = False  # no query without a key
    for mask in (np.zeros_like(some), some):
        for name, gap in differences(asks, *gives, mask).items():
            worst[name] = max(worst.get(name, 0.0), gap)
print(json.dumps(worst))
"""


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(bool(MISSING), reason="not installed: pip install -e '.[appendix]'")
def test_the_three_are_one_function():
    nb = nbformat.read(PATH, as_version=4)
    nb.cells.append(new_code_cell(QUESTION))
    try:
        run(nb, PATH)
    except SystemExit as stopped:  # it says which cell failed
        pytest.fail(str(stopped), pytrace=False)
    worst = json.loads(nb.cells[-1].outputs[-1].text)
    assert worst.keys() == {"JAX", "Keras"}
    assert all(0.0 < gap < 1e-5 for gap in worst.values()), worst
