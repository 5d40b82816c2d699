"""A learning rate that rises and falls, for a training whose end is known."""


def linear_rate(step: int, steps: int, highest: float, warmup: float = 0.1) -> float:
    """Rise to ``highest`` over a share ``warmup`` of the steps, then fall to nearly zero.

    The steps count from 1; a straight line both ways.
    """
    rise = max(1.0, warmup * steps)
    return highest * min(step / rise, (steps + 1 - step) / (steps + 1 - rise))
