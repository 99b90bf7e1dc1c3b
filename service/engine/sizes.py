"""Sizes of arrays that are made anew for each size: few of them, so that each is made once."""


def one_of_few(count: int) -> int:
    """Returns the next number from `count` on that is a power of two, or one and a half times one."""
    step = 1 << max(0, (count - 1).bit_length() - 2)
    return -(-count // step) * step
