"""Measuring: how long, how much memory, how many operations.

``timing``    how long several things take, measured in turns
``memory``    the peak memory of a statement, in a process of its own
``counting``  what a computation does, counted without a clock: operations, bytes, calls
``parallel``  what processes send each other, counted; the time of a block on many, by a model
``costs``     what a layer must do at least, and what the machine can do at most
"""

from utils.measure.costs import Peak, kept_bytes, measure_peak, multiply_adds
from utils.measure.counting import Counts, count
from utils.measure.memory import COUNT_ANEW, peak_memory
from utils.measure.parallel import (
    BlockSeconds,
    Cluster,
    Message,
    all_reduce_bytes,
    block_seconds,
    count_messages,
)
from utils.measure.timing import interleave, quartiles, ratio, seconds, synchronize
