"""What chapter 13 says, asserted (see `tools/claims.py`)."""

import math
import re

from tools.claims import claim, says


def printed(N, *arguments):
    """What the run of a step says of each cut: how far off it is, and what it sends."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={N}", "-m", "chapters.ch13_step", *map(str, arguments)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"by_(\w+) +off by (\S+), sends ([\d,]+|nan) numbers", text)
    return {cut: (float(far), float(sent.replace(",", ""))) for cut, far, sent in rows}


step = printed(4)
table = {"heads": 98_304, "texts": 73_728, "shards": 110_592, "tokens": 147_456}
linux = not math.isnan(step["heads"][1])  # where it is counted

with says(
    "Four processes that share a causal block by heads, by texts (plain or FSDP) or by tokens"
):
    claim(step.keys() == table.keys())
    claim(max(far for far, _ in step.values()), at_most=1e-13)

with says("The last column is for the run below: $N = 4$, $D = 64$ and $BT = 4D$ tokens."):
    claim(B * T == 4 * D and D == 64)
    claim(table["heads"] == 8 * B * T * D * 3 / 4)
    claim(table["texts"] == 24 * D**2 * 3 / 4)
    claim(table["shards"] == 36 * D**2 * 3 / 4)
    claim(table["tokens"] == (24 * D**2 + 6 * B * T * D) * 3 / 4)

with says("send what the table says, and up to two percent more for the messages' headers."):
    for cut in ("heads", "texts", "tokens"):
        if linux:
            claim(step[cut][1] / table[cut], 1, 1.02)

with says("FSDP sends a third more,"):
    if linux:
        claim(step["shards"][1] / table["shards"], 1.33, 1.39)

with says("a batch cut between heads sends more than one cut between texts from $3D$ tokens on"):
    claim(8 * 3 * D * D == 24 * D**2)
    claim(8 * 4.5 * D * D == 36 * D**2)
    claim(8 * 6 * D * D == 48 * D**2)
    if linux:
        claim(step["heads"][1] > step["texts"][1])
        short = printed(2, 32)  # 128 tokens, less than 192
        claim(short["heads"][1] < short["texts"][1])

with says("this model ends with the same bits as if nothing had happened; without the state"):
    claim(same == {"nothing": True, "optimizer": False, "step": False})

with says("the run that forgot its step ends with the lowest, as it has seen that batch before."):
    runs = {}
    for forgets in ("nothing", "optimizer", "step"):
        shutil.rmtree(folder / forgets)
        shutil.copytree(folder / "killed", folder / forgets)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node=2", "-m", training, str(folder / forgets), "0", forgets]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        runs[forgets] = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", text)]
    claim(runs["step"][-2] == min(run[-2] for run in runs.values()))

with says("On unseen batches it has the highest; but the run that forgot the state is within 0.01"):
    claim(runs["step"][-1] == max(run[-1] for run in runs.values()))
    claim(abs(runs["optimizer"][-1] - runs["nothing"][-1]), at_most=0.01)

with says("to other servers a GPU had about 6"):
    claim(100 / 16, 5.5, 6.5)
