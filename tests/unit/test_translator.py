"""The use case around the model: windows, the queue, deadlines, cancelling, details, languages that are the same."""

import asyncio
import threading
import time

import pytest

from service.errors import (
    DeadlineExceededError,
    EngineError,
    InvalidOptionError,
    QueueFullError,
    UnsupportedPairError,
)
from service.scheduler.pool import Dispatch, Share
from service.scheduler.sequence import Sequence as DecodeSequence
from service.scheduler.sequence import SequenceResult, Submission
from service.search.hypothesis import StopReason
from service.search.options import PartialOptions
from service.text.document import Document, Gap, Placeholder, Segment, Span
from service.translation.translation import Details, TranslationRequest
from service.translation.windows import Stopwatch
from tests.doubles.word_model import dropping_last, identity, word_translator

SENTENCES = " ".join(f"This is sentence number {number} of them." for number in range(100))


def request_of(*texts, target="de", **options) -> TranslationRequest:
    return TranslationRequest(texts=texts, source="en", target=target, **options)


async def dispatched(model, count: int) -> None:
    async with asyncio.timeout(20):
        while len(model.pool.submissions) < count:  # noqa: ASYNC110  # the pool of the test knows no loop
            await asyncio.sleep(0.005)


def translated(translator, *texts, **options):
    return asyncio.run(translator.translate(request_of(*texts, **options)))


def test_a_long_document_is_dispatched_in_windows_and_put_together_in_order():
    translator, model = word_translator()
    result = translated(translator, SENTENCES, "One more.")
    assert [one.text for one in result.translations] == [SENTENCES, "One more."]
    assert len(model.pool.asked) == 13
    assert max(map(len, model.pool.asked)) == model.segments_in_window


def in_shares(model, end):
    """Makes the pool of a model hand out each sequence in a share of its own; `end` is given their submissions."""

    def dispatch(sequences, deadline):
        submissions = [Submission([sequence], deadline) for sequence in sequences]
        threading.Thread(target=end, args=(submissions,)).start()
        shares = (Share(model.pool, submission, (index,)) for index, submission in enumerate(submissions))
        return Dispatch(tuple(shares), len(sequences))

    model.pool.dispatch = dispatch


def test_the_first_failure_of_a_share_ends_the_request_though_others_go_on():
    translator, model = word_translator()

    def fail_last(submissions):
        submissions[-1].fail(submissions[-1].sequences[0], StopReason.ERROR, EngineError("a graph failed"))

    in_shares(model, fail_last)
    with pytest.raises(EngineError):
        asyncio.run(asyncio.wait_for(translator.translate(request_of("One thing. Two things.")), 20))
    assert model.pool.cancelled == 2


def test_shares_may_end_in_any_order():
    translator, model = word_translator()
    together = model.pool.dispatch

    def end_backwards(submissions):
        for submission in reversed(submissions):
            sequence = submission.sequences[0]
            (future,) = together([DecodeSequence(sequence.source_ids, sequence.task)], None).futures
            (result,) = future.result()
            submission.complete(sequence, StopReason.END_TOKEN, result)

    in_shares(model, end_backwards)
    text = "One thing. Two things. Three things."
    assert translated(translator, text).translations[0].text == text


def test_a_refused_request_is_refused_before_anything_of_it_was_decoded():
    translator, model = word_translator()
    model.pool.refusals = [True] * 3
    with pytest.raises(QueueFullError):
        translated(translator, SENTENCES)
    assert model.pool.asked == []


def test_once_a_window_was_taken_the_others_wait_for_room():
    translator, model = word_translator()
    model.pool.refusals = [False, True, True, True, False, True]
    assert translated(translator, SENTENCES).translations[0].text == SENTENCES


def test_waiting_for_room_ends_with_the_deadline():
    translator, model = word_translator()
    model.pool.refusals = [False, *[True] * 10_000]
    started = time.monotonic()
    with pytest.raises(DeadlineExceededError):
        translated(translator, SENTENCES, deadline_seconds=0.2)
    assert time.monotonic() - started < 5


def test_cancelling_gives_up_every_window_that_is_at_work():
    translator, model = word_translator()
    model.pool.hold = True

    async def scenario():
        task = asyncio.create_task(translator.translate(request_of(SENTENCES)))
        await dispatched(model, 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    assert asyncio.run(scenario()) == 1
    assert model.pool.cancelled == 3


def test_a_failing_window_ends_the_others():
    translator, model = word_translator()
    model.pool.hold = True

    async def scenario():
        task = asyncio.create_task(translator.translate(request_of(SENTENCES)))
        await dispatched(model, 3)
        model.pool.submissions[1].future.set_exception(DeadlineExceededError("too late"))
        with pytest.raises(DeadlineExceededError):
            await task

    asyncio.run(scenario())
    assert model.pool.cancelled == 3


def test_segments_are_told_only_when_asked_for():
    translator, _ = word_translator()
    assert translated(translator, "One. Two.").translations[0].segments == ()
    segments = translated(translator, "One. Two.", details=Details(segments=True)).translations[0].segments
    assert [segment.source for segment in segments] == ["One.", "Two."]
    assert [segment.hypotheses[0].tokens for segment in segments] == [(), ()]
    assert segments[0].hypotheses[0].alignment == ()
    (segment,) = translated(translator, "One two.", details=Details(tokens=True)).translations[0].segments
    assert segment.source_tokens == segment.hypotheses[0].tokens == ("▁One", "▁two", ".", "</s>")


def test_words_are_linked_by_the_characters_of_source_and_text():
    translator, _ = word_translator(dropping_last)
    (segment,) = translated(translator, "The old house.", details=Details(alignments=True)).translations[0].segments
    (hypothesis,) = segment.hypotheses
    assert hypothesis.text == "The old house"
    linked = [
        (segment.source[link.source.start : link.source.end], hypothesis.text[link.target.start : link.target.end])
        for link in hypothesis.words
    ]
    assert linked == [("The", "The"), ("old", "old"), ("house", "house")]
    assert [len(row) for row in hypothesis.alignment] == [5] * 4
    assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in hypothesis.alignment)


@pytest.mark.parametrize(("source", "target"), [("en", "en"), ("en-GB", "en_US"), ("de", "DE"), ("deu", "de-AT")])
def test_a_language_is_not_translated_into_itself(source, target):
    translator, model = word_translator()
    request = TranslationRequest(texts=("A b.", ""), source=source, target=target, num_alternatives=2)
    result = asyncio.run(translator.translate(request))
    assert [(one.text, one.alternatives, one.score) for one in result.translations] == [
        ("A b.", (), None),
        ("", (), None),
    ]
    assert (result.model, result.source, result.target) == (None, source[:2], source[:2])
    assert model.pool.asked == []


@pytest.mark.parametrize(("source", "target"), [("xx", "xx"), ("de", "en"), ("en", "fr")])
def test_what_no_model_translates_is_refused(source, target):
    translator, _ = word_translator()
    with pytest.raises(UnsupportedPairError):
        asyncio.run(translator.translate(TranslationRequest(texts=("A.",), source=source, target=target)))


def test_more_results_than_alternatives_ask_for_are_refused():
    translator, _ = word_translator()
    with pytest.raises(InvalidOptionError):
        translated(translator, "A.", num_alternatives=2, options=PartialOptions(num_hypotheses=2))


@pytest.mark.parametrize("text", ["", " \n", "42", "...", "👍", "\u0301", "https://example.com", "{0} %1$s"])
def test_what_has_nothing_to_translate_never_reaches_the_model(text):
    translator, model = word_translator()
    result = translated(translator, text)
    assert result.translations[0].text == text
    assert result.translations[0].score is None
    assert model.pool.asked == []


def test_sentences_that_touch_get_a_space_in_languages_that_have_spaces():
    text = "It is out.Next is this."
    assert translated(word_translator()[0], text).translations[0].text == text
    assert translated(word_translator(dropping_last)[0], text).translations[0].text == "It is out Next is this"
    assert translated(word_translator(dropping_last, target="zh")[0], text, target="zh").translations[0].text == (
        "It is outNext is this"
    )


def test_a_document_that_was_taken_apart_already_is_taken_as_it_is():
    inner = Segment("A dog", Span(4, 9))
    image = Placeholder("alt=A dog", parts=(Gap("alt="), inner))
    parts = (Segment("See alt=A dog now & here", Span(0, 24), ("See ", image, " now & here")), Gap(" <end>"))
    document = Document(parts, lambda text: text.replace("&", "&amp;"))
    translator, _ = word_translator()
    assert translated(translator, document).translations[0].text == "See alt=A dog now & here <end>"
    translator, _ = word_translator(dropping_last)
    assert translated(translator, document).translations[0].text == "See alt=A now &amp; <end>"


def test_alternatives_are_whole_documents_that_differ():
    def ranked(ids, chance):
        return identity(ids, chance)[: chance.choice([1, 2, 3])]

    translator, _ = word_translator(ranked)
    options = PartialOptions(beam_size=4)
    (one,) = translated(translator, "A b c d. E f g h.", num_alternatives=3, options=options).translations
    assert one.alternatives
    assert len({one.text, *one.alternatives}) == 1 + len(one.alternatives)


def test_the_best_is_the_best_however_many_are_wanted():
    def ranked(ids, chance):
        return identity(ids, chance)[: chance.choice([1, 2, 3])]

    translator, _ = word_translator(ranked)
    wanted = [
        translated(translator, "A {0} c d.", options=PartialOptions(beam_size=4), num_alternatives=n) for n in (0, 3)
    ]
    assert wanted[0].placeholders == wanted[1].placeholders


def test_a_number_that_was_lost_or_added_is_asked_for_as_a_placeholder():
    def without_digits(ids, chance):
        pieces = model.package.source_tokenizer.pieces(ids)
        return [
            said for said, piece in zip(identity(ids, chance), pieces, strict=True) if not piece.strip("▁").isdigit()
        ]

    translator, model = word_translator(without_digits)
    text = "It has 12 doors and 1,250 windows."
    (translation,) = translated(translator, text, details=Details(segments=True)).translations
    assert [translation.text.count(number) for number in ("12 ", "1,250")] == [1, 1]
    assert translation.segments[0].treatment.retried[0] == "digits"


def test_where_a_lost_number_belongs_attention_is_not_asked():
    def words_alone(ids, chance):
        pieces = model.package.source_tokenizer.pieces(ids)
        return [said for said, piece in zip(identity(ids, chance), pieces, strict=True) if piece.strip("▁").islower()]

    translator, model = word_translator(words_alone)
    text = "it has 12 doors and 1,250 windows."
    (translation,) = translated(translator, text, details=Details(segments=True)).translations
    assert [translation.text.count(number) for number in ("12 ", "1,250")] == [1, 1]
    assert translation.segments[0].treatment.placeholders == "parts"
    asked = [sequence for submission in model.pool.submissions for sequence in submission.sequences]
    assert len(asked) > 3
    assert not any(sequence.task.with_alignment for sequence in asked)


@pytest.mark.parametrize(("rambles", "num_copied"), [(False, 2), (True, 1)])
def test_a_model_that_rambles_is_given_one_surrogate_to_copy(rambles, num_copied):
    def words_alone(ids, chance):
        pieces = model.package.source_tokenizer.pieces(ids)
        said = [said for said, piece in zip(identity(ids, chance), pieces, strict=True) if piece.strip("▁").islower()]
        return [*said, *(said[-1:] * 20 if rambles else [])]

    translator, model = word_translator(words_alone)
    (translation,) = translated(translator, "it has 12 doors", details=Details(segments=True)).translations
    assert translation.text.count("12") == 1
    assert ("repetition" in translation.segments[0].treatment.retried) == rambles
    tokenizer = model.package.source_tokenizer
    asked = {
        tokenizer.decode(sequence.source_ids.tolist()[:-1])
        for submission in model.pool.submissions
        for sequence in submission.sequences
    }
    assert len([text for text in asked if text.startswith("it has") and text.endswith("doors")]) == 1 + num_copied


def test_a_stage_takes_as_long_as_the_rounds_of_the_slowest_window():
    def result(queue, encode, decode):
        return SequenceResult((), queue, encode, decode)

    watch = Stopwatch()
    watch.decoded([[result(0.5, 1.0, 4.0), result(1.0, 0.5, 8.0)], [result(0.25, 0.25, 2.0)], []])
    watch.decoded([[result(2.0, 1.0, 4.0)]])
    assert (watch.queue, watch.encode, watch.decode) == (2.0, 1.25, 10.0)
