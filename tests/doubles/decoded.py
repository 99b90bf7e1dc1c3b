"""What a dispatch gave, in a form that two ways of decoding can be compared by."""

from service.scheduler.pool import Dispatch


def contents(dispatch: Dispatch, seconds: float) -> list[list[tuple]]:
    """Returns all hypotheses of each sequence, with everything they hold; waits so long for each share."""
    results = dispatch.gather([future.result(seconds) for future in dispatch.futures])
    return [
        [
            (
                one.token_ids,
                one.token_log_probs,
                one.score,
                one.stop_reason,
                None if one.alignment is None else (one.alignment.dtype.str, one.alignment.tolist()),
            )
            for one in result.hypotheses
        ]
        for result in results
    ]
