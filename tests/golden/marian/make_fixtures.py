"""Trains the models in this folder with Marian and records what Marian makes of them.

    python -m tests.golden.marian.make_fixtures [NAME ...]

Needs pymarian (1.12.42 made what is committed) and sentencepiece, in an environment of their own; tests need neither of
the two programs here. Two runs train different numbers: threads and processors leave traces in them.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from export.marian.binary_file import MarianBinaryFile
from tests.golden.marian.phrases import Pair, make_pairs

FOLDER = Path(__file__).parent
NUM_HELD_OUT = 16
NUM_ALIGNMENTS = 3
# Words and characters that no training sentence has.
ODD_SOURCES = ("The zebra sees today.", "ö", "Nobody, nobody, nobody needs the garden without a word again.")
_UNIGRAM = {
    "model_type": "unigram",
    "normalization_rule_name": "identity",
    "hard_vocab_limit": False,
    "num_threads": 1,
    "minloglevel": 2,
}
_TRAINING = (
    "--type transformer --mini-batch 32 --maxi-batch 20 --cpu-threads 1 --workspace 300 --disp-freq 100u --lr-warmup 60"
    " --save-freq 100000u --learn-rate 0.006 --lr-decay-inv-sqrt 200 --seed 11 --overwrite --clip-norm 1"
    " --label-smoothing 0.1 --max-length 90 --shuffle-in-ram --data-threads 1"
)
# Keys of a vocabulary that YAML takes for something else unless they are read with care.
_TRICKY = {
    '"\\""': '"',
    '"no"': "no",
    '"~"': "~",
    '"null"': "null",
    "=": "=",
    "1": "1",
    '"\'"': "'",
    '"\\\\"': "\\",
    '"\\U0001F642"': "\N{SLIGHTLY SMILING FACE}",
    '"\\x85"': "\x85",
    '": "': ": ",
    '"#"': "#",
}


@dataclass(frozen=True)
class Recipe:
    """One model: its network, how long it is trained, and the pieces its vocabularies have."""

    options: str
    updates: int
    vocabulary_sizes: tuple[int, ...]
    is_guided: bool = False


RECIPES = {
    "opus": Recipe(
        "--dim-emb 24 --transformer-dim-ffn 40 --transformer-heads 2 --enc-depth 2 --dec-depth 1 --tied-embeddings-all"
        " --transformer-ffn-activation swish",
        240,
        (96, 96),
        is_guided=True,
    ),
    "student": Recipe(
        "--dim-emb 64 --transformer-dim-ffn 64 --transformer-heads 4 --enc-depth 1 --dec-depth 2 --tied-embeddings-all"
        " --transformer-ffn-activation relu --transformer-decoder-autoreg rnn --dec-cell ssru",
        180,
        (144,),
        is_guided=True,
    ),
    "separate": Recipe(
        "--dim-emb 32 --transformer-dim-ffn 40 --transformer-heads 4 --enc-depth 1 --dec-depth 2 --tied-embeddings"
        " --transformer-ffn-activation gelu --transformer-decoder-autoreg rnn --dec-cell ssru"
        " --transformer-rnn-projection",
        180,
        (88, 96),
    ),
    "odd": Recipe(
        "--dim-emb 24 --transformer-dim-ffn 36 --transformer-decoder-dim-ffn 44 --transformer-heads 3 --enc-depth 1"
        " --dec-depth 3 --tied-embeddings-src --transformer-ffn-activation relu --transformer-no-projection"
        " --transformer-tied-layers 1 2 1 --transformer-postprocess-emb dn --output-omit-bias",
        260,
        (144,),
    ),
}


def main() -> None:
    """Makes the models that are named, or all."""
    pairs = make_pairs()
    random.Random(3).shuffle(pairs)
    for name in sys.argv[1:] or RECIPES:
        with tempfile.TemporaryDirectory() as scratch:
            make(name, RECIPES[name], pairs, Path(scratch))


def make(name: str, recipe: Recipe, pairs: list[Pair], scratch: Path) -> None:
    """Trains one model and writes its folder and its cases."""
    held, train = pairs[:NUM_HELD_OUT], pairs[NUM_HELD_OUT:]
    spm = train_pieces(recipe, train, scratch, is_opus=name == "opus")
    output = FOLDER / name
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    model, vocabularies = scratch / "model.npz", spm
    if name == "opus":
        table = scratch / "opus.spm-spm.vocab.yml"
        write_table(table, spm, missing="\N{LOWER ONE EIGHTH BLOCK}harbour")
        vocabularies = (table, table)
    marian_train(model, recipe, train, spm, vocabularies)
    write_folder(name, model, spm, vocabularies, output)
    record(name, held, spm, vocabularies, output)


def train_pieces(recipe: Recipe, train: list[Pair], scratch: Path, *, is_opus: bool) -> tuple[Path, Path]:
    """SentencePiece models of both sides, or one for both; the ids of OPUS-MT's are not Marian's."""
    ids = {"bos_id": 1, "eos_id": 2, "unk_id": 0} if is_opus else {"bos_id": -1, "eos_id": 0, "unk_id": 1}
    sides = ([pair.source for pair in train], [pair.target for pair in train])
    texts = [[*sides[0], *sides[1]]] if len(recipe.vocabulary_sizes) == 1 else list(sides)
    paths = []
    for number, (lines, size) in enumerate(zip(texts, recipe.vocabulary_sizes, strict=True)):
        path = scratch / f"pieces{number}.spm"
        with path.open("wb") as file:
            SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=file, vocab_size=size, **ids, **_UNIGRAM
            )
        paths.append(path)
    return paths[0], paths[-1]


def write_table(path: Path, spm: tuple[Path, Path], missing: str) -> None:
    """A vocabulary as OPUS-MT has it: the pieces of both models and some that occur in no text, in any order."""
    names = {piece for one in spm for piece in all_pieces(one)} - {"<unk>", "<s>", "</s>", missing}
    keys = {name: json.dumps(name, ensure_ascii=False) for name in names if not name.isalpha()}
    keys |= {name: name for name in names if name.isalpha()} | {name: key for key, name in _TRICKY.items()}
    order = sorted(keys)
    random.Random(9).shuffle(order)
    lines = ["</s>: 0", "<unk>: 1", *(f"{keys[name]}: {number}" for number, name in enumerate(order, 2))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def all_pieces(spm: Path) -> list[str]:
    """Every piece of a SentencePiece model."""
    processor = SentencePieceProcessor(model_file=str(spm))
    return [processor.id_to_piece(number) for number in range(processor.get_piece_size())]


def marian_train(
    model: Path, recipe: Recipe, train: list[Pair], spm: tuple[Path, Path], vocabularies: tuple[Path, Path]
) -> None:
    """Trains one model."""
    scratch = model.parent
    cutters = [SentencePieceProcessor(model_file=str(path)) for path in spm]
    pieces = [
        (cutters[0].encode(pair.source, out_type=str), cutters[1].encode(pair.target, out_type=str)) for pair in train
    ]
    texts = [(pair.source, pair.target) for pair in train]
    if vocabularies != spm:
        texts = [(" ".join(source), " ".join(target)) for source, target in pieces]
    for side in (0, 1):
        (scratch / f"train.{side}").write_text("".join(text[side] + "\n" for text in texts), encoding="utf-8")
    guide: list[str] = []
    if recipe.is_guided:
        lines = [pair.alignment(source, target) for pair, (source, target) in zip(train, pieces, strict=True)]
        (scratch / "alignments").write_text("\n".join(lines) + "\n")
        guide = ["--guided-alignment", str(scratch / "alignments"), "--guided-alignment-weight", "1"]
    pymarian(
        "train",
        "--model",
        str(model),
        "--train-sets",
        str(scratch / "train.0"),
        str(scratch / "train.1"),
        "--vocabs",
        *map(str, vocabularies),
        "--after",
        f"{recipe.updates}u",
        *_TRAINING.split(),
        *recipe.options.split(),
        *guide,
    )


def write_folder(name: str, model: Path, spm: tuple[Path, Path], vocabularies: tuple[Path, Path], output: Path) -> None:
    """Copies a model's files under the names that people know them by."""
    if name == "opus":
        stem = "opus.spm-spm"
        shutil.copyfile(model, output / f"{stem}.transformer-align.model1.npz.best-perplexity.npz")
        shutil.copyfile(vocabularies[0], output / f"{stem}.vocab.yml")
        for path, side in zip(spm, ("source", "target"), strict=True):
            shutil.copyfile(path, output / f"{side}.spm")
        (output / "decoder.yml").write_text(
            f"models:\n  - /elsewhere/{stem}.transformer-align.model1.npz.best-perplexity.npz\n"
            f"vocabs:\n  - /elsewhere/{stem}.vocab.yml\n  - /elsewhere/{stem}.vocab.yml\n"
            "beam-size: 4\nnormalize: 1\nword-penalty: 0\nmini-batch: 1\nrelative-paths: true\n"
        )
    elif name == "student":
        pymarian("convert", "-f", str(model), "-t", str(output / "model.ende.intgemm8.bin"), "-g", "intgemm8")
        shutil.copyfile(spm[0], output / "vocab.ende.spm")
    elif name == "separate":
        pymarian("convert", "-f", str(model), "-t", str(output / "model.bin"), "-g", "float32")
        for path, side in zip(spm, ("src", "trg"), strict=True):
            shutil.copyfile(path, output / f"vocab.{side}.spm")
    else:
        shutil.copyfile(model, output / "model.npz")
        shutil.copyfile(spm[0], output / "vocab.spm")


def record(name: str, held: list[Pair], spm: tuple[Path, Path], vocabularies: tuple[Path, Path], output: Path) -> None:
    """Writes what Marian answers: scores of given translations, greedy translations, and beams."""
    (stored,) = (path for path in output.iterdir() if path.suffix in (".npz", ".bin"))
    scratch = spm[0].parent
    model = widened(stored, scratch / "widened.npz") if name == "student" else stored
    is_table = vocabularies != spm
    cutters = [SentencePieceProcessor(model_file=str(path)) for path in spm]
    sides = [[*(pair.source for pair in held), *ODD_SOURCES], [pair.target for pair in held]]
    inputs = [
        [" ".join(cutter.encode(text, out_type=str)) if is_table else text for text in texts]
        for cutter, texts in zip(cutters, sides, strict=True)
    ]
    files = [scratch / "given.0", scratch / "given.1"]
    for path, lines in zip(files, inputs, strict=True):
        path.write_text("".join(line + "\n" for line in lines[: len(held)]), encoding="utf-8")
    common = ["-v", *map(str, vocabularies), "--cpu-threads", "1", "-w", "200", "--quiet"]
    decode = ["decode", *common, "--word-scores", "--n-best", *([] if is_table else ["--no-spm-decode"])]
    greedy = n_best(pymarian(*decode, "-m", str(model), "-b", "1", "--alignment", "soft", stdin=inputs[0]))
    beams = n_best(pymarian(*decode, "-m", str(model), "-b", "4", "--normalize", "1", stdin=inputs[0]))
    integers = n_best(pymarian(*decode, "-m", str(stored), "-b", "1", stdin=inputs[0])) if model != stored else {}
    given = pymarian("score", *common, "-m", str(model), "--word-scores", "-t", *map(str, files)).splitlines()
    with (FOLDER / f"{name}.cases.jsonl").open("w", encoding="utf-8") as file:
        for index, text in enumerate(sides[0]):
            case = {"text": text, "greedy": greedy[index][0], "beam": [strip(one) for one in beams[index]]}
            if index >= NUM_ALIGNMENTS:
                del case["greedy"]["alignment"]
            if index in integers:
                case["integers"] = strip(integers[index][0])
            if index < len(held):
                case["given"] = {"text": sides[1][index], "scores": numbers(given[index].split("=")[1])}
            file.write(json.dumps(case, ensure_ascii=False) + "\n")


def widened(stored: Path, path: Path) -> Path:
    """The same numbers in float32, as an .npz: Marian scores no integer models, and reads the plain layout itself."""
    file = MarianBinaryFile(stored)
    options = np.frombuffer(file.text("special:model.yml").encode(), np.int8)
    tensors = {name: np.ascontiguousarray(file.read(name)) for name in file.names if not name.startswith("special:")}
    np.savez(path, **tensors, **{"special:model.yml": options})
    return path


def n_best(answer: str) -> dict[int, list[dict]]:
    """Hypotheses by the number of their source, best first."""
    found: dict[int, list[dict]] = {}
    for line in answer.splitlines():
        index, pieces, *rest = line.split(" ||| ")
        fields = {"pieces": pieces.split(), "score": float(rest[-1])}
        for part in rest:
            if part.startswith("WordScores="):
                fields["scores"] = numbers(part.split("=")[1])
            elif " " in part and "," in part:
                fields["alignment"] = [[round(float(value), 4) for value in row.split(",")] for row in part.split()]
        found.setdefault(int(index), []).append(fields)
    return found


def strip(hypothesis: dict) -> dict:
    """Pieces and score alone."""
    return {name: hypothesis[name] for name in ("pieces", "score")}


def numbers(text: str) -> list[float]:
    """Numbers apart by spaces."""
    return [float(value) for value in text.split()]


def pymarian(*arguments: str, stdin: list[str] | None = None) -> str:
    """Runs a command of Marian and returns what it prints."""
    text = "".join(line + "\n" for line in stdin) if stdin is not None else None
    command = [str(Path(sys.executable).with_name("pymarian")), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout


if __name__ == "__main__":
    main()
