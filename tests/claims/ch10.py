"""What chapter 10 says, asserted (see `tools/claims.py`)."""

import os

from tools.claims import claim, says

os.environ["KINETO_LOG_LEVEL"] = "6"  # the profiler works without messages


def times(laps, slow, fast_one):
    return (laps[slow] / laps[fast_one]).median()


with says("on long texts, more than fifty times as fast", timed=True):
    claim(calls["as_called"].median() / few["absorption"].median(), at_least=50)
with says("PyTorch's layer takes less than a tenth of the time", timed=True):
    claim(times(calls, "as_called", "one_row"), at_least=10)
with says("At $D = 64$ this leaves a tenth of the multiply-adds."):
    claim((4 * T * D * D + 2 * T * T * D) / (2 * T * D * D + 2 * D * D + 2 * T * D), 9.5, 10)
    claim(gains[64, 8, 31][0], 9.5, 10)
with says("But the clock shows far more.", timed=True):
    claim(times(calls, "as_called", "one_row") / gains[64, 8, 31][0], at_least=2)
with says("The count is the same for any number of heads (chapter 9)."):
    claim(gains[64, 8, 31][0] == gains[64, 1, 31][0])
with says(
    "With one head of 64 numbers, one row saves no more time than the count says.", timed=True
):
    alone = times(gains[64, 1, 31][1], "as_called", "one_row")
    claim(alone / gains[64, 1, 31][0], at_most=1.05)
with says(
    "have about as many tables as 31 with one, and one row saves more than twice as much",
    timed=True,
):
    claim(times(gains[64, 8, 4][1], "as_called", "one_row") / alone, at_least=2)
    claim(times(gains[64, 8, 31][1], "as_called", "one_row") / alone, at_least=2)
with says(
    "A profile gives more than half of the time to the products that write and read the tables",
    timed=True,
):
    profiled = step(as_called, mha, x)
    with torch.profiler.profile() as seen_all:
        profiled()
    spent = {event.key: event.self_cpu_time_total for event in seen_all.key_averages()}
    products = sum(spent.get(name, 0) for name in ("aten::bmm", "aten::baddbmm"))
    claim(products / sum(spent.values()), at_least=0.5)
    softmax = sum(time for name, time in spent.items() if "softmax" in name)
    claim(softmax < products)
with says(
    "BERT's shape, the projections weigh more than the tables, and one row saves less", timed=True
):
    claim(times(gains[768, 12, 2][1], "as_called", "one_row"), at_most=5)
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
    claim(math.log(at[0] / at[1]) / math.log(at[0] / at[-1]), at_least=0.5)
with says("The weights of our step are $B H T^2$ numbers, 248 MiB."):
    claim(4 * B * H * T**2 / 2**20 == 248)
with says("FlashAttention does 13 % more operations, since its backward pass"):
    claim(all_rows["no_weights"].operations / all_rows["as_called"].operations, 1.125, 1.145)
with says("its calls read and write less than an eighth of the bytes"):
    claim(all_rows["as_called"].moved / all_rows["no_weights"].moved, at_least=8)
with says("Timed, the step takes less than two thirds as long.", timed=True):
    claim(times(quiet, "as_called", "no_weights"), at_least=1.5)
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
with says("at 32 texts FlashAttention's gain shrinks as well", timed=True):
    full = torch.randn(32, T, D, requires_grad=True)
    round_one = {way.__name__: step(way, mha, full) for way in (as_called, no_weights)}
    of_32 = times(in_turns(round_one, rounds=3), "as_called", "no_weights")
    claim(of_32 < times(quiet, "as_called", "no_weights"))
with says("What do scores and mixtures take then?"):
    quick = FastMultiHeadAttention.from_torch(mha)
    claim([always.absorbing_is_cheaper(n, 512) for n in (1, 8, 9, 512)] == [True] * 4)
    claim(
        [quick.absorbing_is_cheaper(n, 512) for n in (1, 8, 9, 512)] == [True, True, False, False]
    )
