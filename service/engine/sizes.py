"""Sizes of arrays that the engine keeps one of for each size: few of them, so that it seldom makes another."""


def one_of_few(count: int) -> int:
    """Returns the next number from `count` on that is a power of two, or one and a half times one."""
    step = 1 << max(0, (count - 1).bit_length() - 2)
    return -(-count // step) * step
