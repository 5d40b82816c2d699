"""What chapter 13 says, asserted (see `tools/claims.py`)."""

import re

from tools.claims import claim, says

# One cut at a time, and what the process has written meanwhile, as Linux counts it.
MEASURE = """
import torch
from chapters import ch13_step, ch13_talk

def written():
    return int(open("/proc/self/io").read().split("wchar: ")[1].split()[0]) / 8

rank, N = ch13_talk.join()
for cut in ch13_step.by_heads, ch13_step.by_texts, ch13_step.by_tokens:
    whole, x = ch13_step.Block(), torch.randn(ch13_step.B, ch13_step.T, ch13_step.D)
    before = written()
    ch13_talk.counted["numbers"] = 0
    cut(whole, x, rank, N)
    ch13_step.dist.barrier()
    more = (written() - before) / ch13_talk.counted["numbers"]
    if rank == 0:
        print("measured", more, flush=True)
ch13_step.dist.destroy_process_group()
"""


def started(N, *arguments):
    """What a worker prints."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={N}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def printed(N, *arguments):
    """What the run of a step says of each cut: how far off it is, and what it sends."""
    text = started(N, "-m", "chapters.ch13_step", *arguments)
    rows = re.findall(r"by_(\w+) +off by (\S+), sends ([\d,]+) numbers", text)
    return {cut: (float(far), int(sent.replace(",", ""))) for cut, far, sent in rows}


step = printed(4)

with says("Four processes that share a block by heads, texts or tokens get the output"):
    claim(len(step) == 3)
    claim(max(far for far, _ in step.values()), at_most=1e-13)

with says("The program above counts by this formula ($N = 4$, $BT = 4D$)."):
    claim(B * T == 4 * D)
    claim(step["heads"][1] == 8 * B * T * D * 3 / 4)
    claim(step["texts"][1] == 24 * D**2 * 3 / 4)
    claim(step["tokens"][1] == (24 * D**2 + 6 * B * T * D) * 3 / 4)

with says("really write to their sockets: less than 3 percent more"):
    if Path("/proc/self/io").exists():
        (folder / "measure.py").write_text(MEASURE)
        measured = re.findall(r"measured (\S+)", started(4, folder / "measure.py"))
        claim(len(measured) == 3)
        claim(min(map(float, measured)), at_least=1)
        claim(max(map(float, measured)), at_most=1.03)

with says("A batch of more than $3D$ tokens sends more when it is cut between heads"):
    claim(8 * 3 * D * D == 24 * D**2)
    claim(step["heads"][1] > step["texts"][1])
    short = printed(2, 32)  # 128 tokens, less than 192
    claim(short["heads"][1] < short["texts"][1])

with says(
    "the model ends with the same bits as if nothing had happened; without the state or the step it does not."
):
    claim(off["nothing"] == 0)
    claim(off["optimizer"], at_least=0.01)
    claim(off["step"], at_least=0.01)

with says("are 133 GB, and its GPUs had 32. Eight that shared the heads held 17 each."):
    claim(16 * 8.3, 132.5, 133.5)
    claim(16 * 8.3 / 8, 16.5, 17.5)

with says("to other servers all 16 together had 100, about 6 each"):
    claim(100 / 16, 5.5, 6.5)
