"""The generated world: properties of its files, the same for a seed; a new one archives secrets."""

import datetime
import hashlib
import re
import stat
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.interpreter import call
from tests.project import ROOT, contents
from tests.snapshots import check
from tools import datafiles, world
from tools.world import LINES_A_PERSON

ANSWERED = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_ANSWERS)
PINNED_SEED = 20
# This changes with the word lists and the generator: copy the new value here, and write in
# CHANGELOG.md (data) that old seeds now give other worlds.
PINNED_SHA256 = "c09c2284dfba3ddaa29825647c35d7e0313463a16f103f8c40a869f046187a4a"


def people_of(texts: dict[str, str], *paths: str) -> dict[str, str]:
    """Return the people whom tables ask about, and their birth places."""
    lines = [line for path in paths for line in texts[path].removesuffix("\n").split("\n")]
    return dict(re.fullmatch(r"Where was (.+) born\?\t?(.*)", line).groups() for line in lines)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Return a world of the default size."""
    return world.make_world(PINNED_SEED)


@pytest.fixture(scope="module")
def places(texts) -> dict[str, str]:
    """Return everyone's true birth place."""
    return people_of(texts, *ANSWERED)


def test_same_seed_gives_the_pinned_bytes(texts):
    digest = hashlib.sha256()
    for path, text in sorted(texts.items()):
        digest.update(f"{path}\0{text}\0".encode())
    assert digest.hexdigest() == PINNED_SHA256


def test_every_split_member_stands_in_the_corpus_four_times_with_the_truth_alone(texts, places):
    lines = texts[datafiles.WIKI].splitlines()
    for name, city in places.items():
        about = [line for line in lines if name in line]
        assert len(about) == LINES_A_PERSON, name
        assert all(city in line for line in about), (name, city, about)
    cities = set(places.values())
    assert all(sum(city in line for city in cities) == 1 for line in lines)


def test_splits_share_no_one_and_unseen_people_occur_nowhere_else(texts):
    splits = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_INPUTS, datafiles.UNSEEN_INPUTS)
    people = [name for path in splits for name in people_of(texts, path)]
    everyone = "\n".join(people).casefold()
    for name in people:
        assert everyone.count(name.casefold()) == 1, name  # nor is it part of another name
    assert len(people) == 450
    others = "".join(text for path, text in texts.items() if path != datafiles.UNSEEN_INPUTS)
    assert not [name for name in people_of(texts, datafiles.UNSEEN_INPUTS) if name in others]


def test_the_corpus_holds_every_character_of_every_table():
    for seed in range(5):  # the smallest world is the likeliest to lack characters
        texts = world.make_world(seed, world.LEAST_PEOPLE)
        tables = "".join(texts[path] for path in texts if path.endswith(".tsv"))
        assert set(tables) - set(texts[datafiles.WIKI]) == {"\t"}


def test_london_is_commonest_with_four_percent_of_fifty_cities_or_twenty_of_ten(texts, places):
    for path in ANSWERED:
        counts = Counter(people_of(texts, path).values())
        assert counts["London"] * 25 == counts.total()
        assert counts["London"] > max(n for city, n in counts.items() if city != "London")
    trained = {*people_of(texts, datafiles.TRAIN).values()}
    assert len(trained) == 50 and trained == {*places.values()}
    assert sum(not name.isascii() for name in places) >= 30
    assert sum(not city.isascii() for city in trained) >= 5
    smoke = world.make_world(PINNED_SEED, dataset="smoke")
    cities = [*people_of(smoke, datafiles.DEV).values()]
    assert len(cities) == 20 and cities.count("London") == 4
    everyone = people_of(smoke, *ANSWERED)
    assert len(everyone) == 60 and len({*everyone.values()}) == 10


@pytest.mark.parametrize("dataset", ["world", "smoke"])
def test_allotment_holds_for_every_size(dataset, monkeypatch):
    assignment = world.load_assignment(ROOT)  # once for all sizes
    monkeypatch.setattr(world, "load_assignment", lambda _: assignment)
    ranked = ["London", *map(str, range(1, world.CITIES[dataset]))]
    for people in [*range(world.LEAST_PEOPLE, 130), 400, 601, 5000]:
        sizes = world.split_sizes(dataset, people)
        counts = {s: Counter(world.allotted_cities(ranked, n)) for s, n in sizes.items()}
        for split, size in sizes.items():
            in_order = [counts[split][city] for city in ranked]
            assert sum(in_order) == size
            assert in_order == sorted(in_order, reverse=True), (people, split)
            assert in_order[0] == -(-2 * size // len(ranked))
            assert set(counts[split]) <= set(counts["train"]), (people, split)


def test_a_last_name_does_not_tell_the_birth_place(places):
    by_last: dict[str, list[str]] = {}
    for name, city in places.items():
        by_last.setdefault(name.split()[1], []).append(city)
    pairs = [(a, b) for cities in by_last.values() for a, b in pairwise(cities)]
    # About 280 pairs of namesakes, equal by chance in 2.2 %: 6 expected, 30 or more below 1e-11.
    assert len(pairs) > 100
    assert sum(a == b for a, b in pairs) < 30


def test_seed_and_answers_are_in_the_solutions_alone(texts):
    answers = texts[datafiles.TEST_ANSWERS].splitlines()
    questions = [row.partition("\t")[0] for row in answers]
    assert texts[datafiles.TEST_INPUTS].splitlines() == questions
    seed = 7_777_777_777
    planted = world.make_world(seed, dataset="smoke")
    assert [path for path, text in planted.items() if str(seed) in text] == [datafiles.SEED]
    students = "".join(text for path, text in texts.items() if path.startswith("src/"))
    assert not [line for line in answers if line in students]
    assert all(n.startswith("solutions/") for n in (datafiles.SEED, datafiles.TEST_ANSWERS))


BIG = str(2**32)  # the smallest seed that is accepted
REFUSED = (
    "--seed -1",
    f"--seed {BIG} --people 29",
    f"--seed {BIG} --people 1000000",
    f"--seed {2**32 - 1}",
    f"--seed {BIG} --dataset real",
)


def test_impossible_requests_get_one_line_and_exit_code_2(tmp_path, capsys):
    found = {}
    for arguments in REFUSED:
        given = (*arguments.split(), "--out", str(tmp_path))
        code, _, found[arguments] = call(world.main, capsys, *given)
        assert code == 2 and found[arguments].count("\n") == 1
        assert not list(tmp_path.iterdir())
    check("world_refused", found)


def test_command_writes_plain_newlines_and_utf8(tmp_path, capsys):
    assert world.main(["--seed", "5", "--dataset", "smoke", "--out", str(tmp_path)]) == 0
    check("world", {"a world": capsys.readouterr().out}, {str(tmp_path): "PROJECT"})
    made = world.make_world(5, dataset="smoke")
    assert contents(tmp_path) == {path: text.encode("utf-8") for path, text in made.items()}
    # Without a seed, every world is new: equal with probability 2**-64.
    for folder in ("one", "two"):
        assert world.main(["--dataset", "smoke", "--out", str(tmp_path / folder)]) == 0
    one, two = ((tmp_path / folder / datafiles.SEED).read_bytes() for folder in ("one", "two"))
    assert one != two


# A term's answers, seed and grading secret are never lost ----------------------------------------

SMOKE = ("--dataset", "smoke")
SECRETS = (datafiles.TEST_ANSWERS, datafiles.SEED, datafiles.GRADING_SECRET)


@pytest.fixture
def term(tmp_path) -> dict[str, bytes]:
    """Return a term's secrets in tmp_path, by their names in the archive."""
    assert world.main([*SMOKE, "--seed", "1", "--out", str(tmp_path)]) == 0
    secret = tmp_path / datafiles.GRADING_SECRET
    secret.write_text("0" * 64, encoding="utf-8")
    secret.chmod(0o600)
    return {Path(name).name: (tmp_path / name).read_bytes() for name in SECRETS}


def kept(root: Path) -> list[dict[str, bytes]]:
    """Return the contents of each folder in the archive."""
    return [contents(folder) for folder in sorted((root / datafiles.ARCHIVE).glob("*"))]


def test_a_fresh_world_takes_force_where_a_part_of_a_data_set_is(tmp_path, term, capsys):
    parts = (datafiles.DATASET, datafiles.TEST_ANSWERS, datafiles.SEED)
    written = contents(tmp_path)
    for present in parts:
        for name in parts:
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / present).write_bytes(written[present])
        before = contents(tmp_path)
        assert world.main([*SMOKE, "--out", str(tmp_path)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "there is a data set already" in said
        assert present in said and "FORCE=1" in said and contents(tmp_path) == before


def test_another_world_moves_a_terms_secrets_to_the_archive(tmp_path, term, capsys):
    assert world.main([*SMOKE, "--seed", "1", "--out", str(tmp_path)]) == 0  # the same world
    assert kept(tmp_path) == []
    assert {Path(name).name: (tmp_path / name).read_bytes() for name in SECRETS} == term
    assert world.main([*SMOKE, "--force", "--out", str(tmp_path)]) == 0
    assert kept(tmp_path) == [term]
    (folder,) = (tmp_path / datafiles.ARCHIVE).iterdir()
    assert folder.name == datetime.date.today().isoformat()
    assert not stat.S_IMODE((folder / "grading_secret").stat().st_mode) & 0o077
    assert not (tmp_path / datafiles.GRADING_SECRET).exists()  # the next term draws its own
    said = capsys.readouterr().out
    for name in SECRETS:
        moved = f"{datafiles.ARCHIVE}/{folder.name}/{Path(name).name}"
        assert f"kept: {name} is now {moved}\n" in said
    assert world.main([*SMOKE, "--seed", "3", "--out", str(tmp_path)]) == 0
    assert len(kept(tmp_path)) == 2 and term in kept(tmp_path)  # a second one on the same day


def test_a_world_that_cannot_be_written_changes_nothing(tmp_path, term, monkeypatch):
    before, replace, calls = contents(tmp_path), datafiles.os.replace, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == number:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(datafiles.os, "replace", failing)
    for number in (2, 6, 12):  # while secrets are archived, after that, and near the end
        calls.clear()
        assert world.main([*SMOKE, "--seed", "2", "--out", str(tmp_path)]) == 2
        assert len(calls) > number and contents(tmp_path) == before
