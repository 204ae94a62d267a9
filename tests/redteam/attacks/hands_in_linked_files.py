# tries: to hand in a solution's module, or its parameters, as a link or as a hard link
# hands in: links
import os

REFUSED = r"^[\w/.]+ is a (link|hard link)"
NAMES = ("submission/attention_exploration.py", "submission/notes.txt", "vanilla.model.params")
UPLOADS = 2 * len(NAMES)


def build(upload, tree, number):
    name = NAMES[number // 2]
    (upload / "submission").mkdir()
    (upload / "submission" / "__init__.py").touch()
    make = os.link if number % 2 and name != "submission/notes.txt" else os.symlink
    make(tree / "solutions" / "submission" / "attention_exploration.py", upload / name)
