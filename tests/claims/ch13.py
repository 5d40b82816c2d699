"""What chapter 13 says, asserted (see `tools/claims.py`)."""

import re

from tools.claims import claim, says


def printed(number, N, *arguments):
    """What the run of a worker says of each cut: how far off it is, and what it sends."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={N}", "-m", f"chapters.ch13_{number}", *map(str, arguments)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"by_(\w+) +off by (\S+), sends ([\d,]+) numbers", text)
    return {cut: (float(far), int(sent.replace(",", ""))) for cut, far, sent in rows}


step = printed("step", 4)

with says("Cut between heads, texts or tokens, four processes have the output and all gradients"):
    claim(len(step) == 3)
    claim(max(far for far, _ in step.values()), at_most=1e-13)

with says("With N = 4 and BT = 4D these are the numbers printed above."):
    claim(B * T == 4 * D)
    claim(step["heads"][1] == 8 * B * T * D * 3 / 4)
    claim(step["texts"][1] == 24 * D**2 * 3 / 4)
    claim(step["tokens"][1] == (24 * D**2 + 6 * B * T * D) * 3 / 4)

with says("A batch of more than 3D tokens sends more when it is cut between heads"):
    claim(8 * 3 * D * D == 24 * D**2)
    claim(step["heads"][1] > step["texts"][1])
    short = printed("step", 2, 32)  # 128 tokens, less than 192
    claim(short["heads"][1] < short["texts"][1])

with says("ends with the same bits as if nothing had happened"):
    claim(lost == 0)

with says(
    "Its 8.3 billion weights are 133 GB, and its GPUs had 32. Eight that shared the heads held 17 each."
):
    claim(16 * 8.3, 132.5, 133.5)
    claim(16 * 8.3 / 8, 16.5, 17.5)
