"""What chapter 10 says, asserted (see `tools/claims.py`)."""

import json
import os
from pathlib import Path

from tools.claims import claim, says

os.environ["KINETO_LOG_LEVEL"] = "6"  # the profiler works without messages


def times(laps, slow, fast_one):
    return (laps[slow] / laps[fast_one]).median()


with says("more than a hundred times as fast without changing what it computes", timed=True):
    claim(calls["as_called"].median() / few["absorption"].median(), at_least=100)
with says("asking for no weights about halves the time of PyTorch's layer", timed=True):
    claim(times(calls, "no_weights", "as_called"), 0.4, 0.6)
with says("asking for one row of 512 then leaves less than a fifteenth", timed=True):
    claim(times(calls, "no_weights", "one_row"), at_least=15)
with says("At $D = 64$ this leaves a tenth of the multiply-adds."):
    claim((4 * T * D * D + 2 * T * T * D) / (2 * T * D * D + 2 * D * D + 2 * T * D), 9.5, 10)
    claim(all_rows["as_called"].operations / counts["one row"].operations, 9.5, 10)
with says("But the clock shows a larger gain.", timed=True):
    counted = all_rows["no_weights"].operations / counts["one row"].operations
    claim(times(calls, "no_weights", "one_row") / counted, at_least=1.2)
with says("The count is the same for any number of heads (chapter 9)."):
    single = nn.MultiheadAttention(D, 1, batch_first=True)
    for way in ways:
        claim(count(step(way, single, x)).operations == count(step(way, mha, x)).operations)
one_head = shapes[64, 1, 31]
with says("With one head instead of eight, all rows take less than a third", timed=True):
    for name in ("as_called", "no_weights"):
        claim(one_head[name].median() / calls[name].median(), at_most=1 / 3)
with says("one row takes about as long as before", timed=True):
    claim(one_head["one_row"].median() / calls["one_row"].median(), 0.75, 1.25)
with says(
    "BERT's shape, the projections weigh more than the scores, and one row saves less", timed=True
):
    claim(times(shapes[768, 12, 2], "no_weights", "one_row"), at_most=5)
    claim(4 * T * 768**2 > 2 * T * T * 768)
with says("and moves half as many bytes, since PyTorch's layer makes copies"):
    claim(counts["chapter 4's layer"].operations == counts["one row"].operations)
    claim(counts["chapter 4's layer"].moved / counts["one row"].moved, 0.4, 0.6)
with says("absorption gives the same numbers from about an eighth of the operations"):
    claim(counts["chapter 4's layer"].operations / counts["absorption"].operations, 7.5, 8.5)
    claim(off, at_most=1e-4)
with says("in less than half of the time of the best call before it", timed=True):
    claim(times(few, "chapter 4's layer", "absorption"), at_least=2)
    claim(few["chapter 4's layer"].median() <= few["one row"].median())
with says("With heads of eight numbers, one row is most of the gain.", timed=True):
    claim(math.log(at[1] / at[2]) / math.log(at[0] / at[-1]), at_least=0.5)
with says("The weights of our step are $B H T^2$ numbers, 248 MiB."):
    claim(4 * B * H * T**2 / 2**20 == 248)
with says("FlashAttention does 13 % more operations, since its backward pass"):
    claim(all_rows["no_weights"].operations / all_rows["as_called"].operations, 1.125, 1.145)
with says("its calls read and write less than an eighth of the bytes"):
    claim(all_rows["as_called"].moved / all_rows["no_weights"].moved, at_least=8)
with says("Timed above, the step takes about half as long.", timed=True):
    claim(times(calls, "no_weights", "as_called"), 0.4, 0.6)
with says("13 % more operations, a ninth of the traffic, and 41.7 ms become 7.3 [2]"):
    claim(75.2 / 66.6, 1.125, 1.135)
    claim(40.3 / 4.4, 8.5, 9.5)
with says(
    "On a processor without dropout, and on a GPU in half precision, that runs FlashAttention"
):
    with torch.profiler.profile() as seen:
        no_weights(mha, x)
    claim(any("flash_attention_for_cpu" in event.key for event in seen.key_averages()))
with says("(nn.TransformerEncoderLayer asks for none.)"):
    block, asked = nn.TransformerEncoderLayer(D, H, batch_first=True), []
    block.self_attn.register_forward_pre_hook(
        lambda module, args, kwargs: asked.append(kwargs["need_weights"]), with_kwargs=True
    )
    block(x)
    claim(asked == [False])
with says("PyTorch's layer and chapter 4's call the same kernel."):
    with torch.profiler.profile() as seen_own:
        no_weights(own, x)
    claim(any("flash_attention_for_cpu" in event.key for event in seen_own.key_averages()))
with says("with 32 texts, 8,192 bytes."):
    claim(4 * 32 * D == 8192)
    strides = []
    original = F.scaled_dot_product_attention

    def spy(query, *args, **kwargs):
        strides.append(query.stride())
        return original(query, *args, **kwargs)

    F.scaled_dot_product_attention = spy
    try:
        no_weights(mha, x), no_weights(own, x)
    finally:
        F.scaled_dot_product_attention = original
with says("Chapter 4's layer keeps a text together, $D$ numbers from key to key"):
    claim([stride[2] for stride in strides] == [B * D, D])
    claim(q.stride()[2] == 32 * D)
with says(
    "In this run a text in a batch of 32 takes more than one and a half times as long as one in a batch of 31.",
    timed=True,
):
    a_text = {n: batches[f"PyTorch's layer, {n}"] / n for n in (31, 32, 33)}
    claim((a_text[32] / a_text[31]).median(), at_least=1.5)
    claim((a_text[32] / a_text[33]).median(), at_least=1.5)
with says("a copy into another order must cure it", timed=True):
    claim(times(copying, "as it lies", "with a copy"), at_least=1.5)
with says("What do scores and mixtures take then?"):
    quick = FastMultiHeadAttention.from_torch(mha)
    claim([always.absorbing_is_cheaper(n, 512) for n in (1, 8, 9, 512)] == [True] * 4)
    claim(
        [quick.absorbing_is_cheaper(n, 512) for n in (1, 8, 9, 512)] == [True, True, False, False]
    )

root = Path(checks.__file__).parents[1]
ran = json.loads((root / "benchmarks/results/training-cuda.json").read_text(encoding="utf-8"))
took_s = {row["variant"]: row["seconds"] for row in ran["tables"]["variants"]}
with says(
    "every way but a loop over heads takes within a fifth of the time of the documentation's"
):
    claim(ran["machine"]["gpu"] == "NVIDIA H200")
    for name in ("reshaped", "fused", "row", "ours", "bag"):
        claim(took_s[name] / took_s["torch"], 0.8, 1.2)
    claim(took_s["loop"] / took_s["torch"], at_least=1.2)
with says("the book's fast layer 1.12 s where that takes 1.00"):
    claim(took_s["ours"], 1.115, 1.125)
    claim(took_s["torch"], 0.995, 1.005)
layers = json.loads((root / "benchmarks/results/layers-cuda.json").read_text(encoding="utf-8"))
with says("On a GPU (an H200) the host's calls set the pace at these sizes"):
    at_size = {
        row["queries"]: row["ms"]
        for row in layers["tables"]["layers"]
        if row["case"] in ("(32, 512, 64, 8)", "(32, 1 of 512, 64, 8)")
        if (row["pass"], row["name"], row["asked"]) == ("forward", "ours", "none")
    }
    claim(at_size[1] / at_size[512], at_least=1)  # a 512th of the rows, and no faster
