"""The characters that LaTeX prints in the written part, and what to write instead of others.

pdflatex stops at a character that its fonts lack. The written part prints ASCII, what LaTeX's own
encodings contain, the two special characters of the assignment, and the letters that are a Latin
letter with accents, such as those of Vietnamese. What LaTeX doesn't know by itself is declared in
written/letters.tex, which the build of the sheet makes from `declared`.
"""

import unicodedata
from functools import cache
from itertools import groupby

# The letters of font encoding T1, and symbols that every LaTeX has.
KNOWN = (
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"
    "ĂăĄąĆćČčĎďĐđĘęĚěĞğİıĹĺĽľŁłŃńŇňŊŋŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž"
    "\u00a0¡¢£¤¥¦§¨©ª«¬®¯°±²³´µ¶·¸¹º»¼½¾¿×÷–—‘’‚“”„†‡•…‰‹›€←→␣"
)
# Slots of font encoding T5, in which Latin Modern has the letters of Vietnamese.
CAPITALS = ("ÀÁÃẢẠÂẦẤẪẨẬĂẰẮẴẲẶÈÉẼẺẸÊỀẾỄỂỆÌÍĨỈ", "ỊÒÓÕỎỌÔỒỐỖỔỘƠỜỚỠỞỢÙÚŨỦỤƯỪỨỮỬỰỲÝỸ")
T5 = {
    **dict(zip("ỶỷỴỵ", range(26, 30), strict=True)),
    **dict(zip("".join(h + h.lower() for h in CAPITALS), range(128, 256), strict=True)),
}
# Combining accents as LaTeX's commands.
ABOVE = {
    **{"\u0300": r"\`", "\u0301": r"\'", "\u0302": r"\^", "\u0303": r"\~", "\u0304": r"\="},
    **{"\u0306": r"\u", "\u0307": r"\.", "\u0308": r"\"", "\u030a": r"\r", "\u030b": r"\H"},
    **{"\u030c": r"\v"},
}
BELOW = {
    **{"\u0323": r"\d", "\u0326": r"\textcommabelow", "\u0327": r"\c", "\u0328": r"\k"},
    **{"\u0331": r"\b"},
}
OTHERS = {
    **{"Ħ": r"\crossed{H}", "ħ": r"\crossed{h}", "Ŧ": r"\crossed{T}", "ŧ": r"\crossed{t}"},
    **{"Ŀ": r"L\textperiodcentered", "ŀ": r"l\textperiodcentered", "ŉ": r"\textquoteright n"},
    **{"Ə": r"\turned{e}", "ə": r"\turned{e}", "ǝ": r"\turned{e}", "Ǝ": r"\turned{E}"},
    **{"ɔ": r"\turned{c}", "Ɔ": r"\turned{C}", "Ĳ": "IJ", "ĳ": "ij"},
    "™": r"\textsuperscript{TM}",  # the typewriter font lacks it
}
SPECIAL = {"⁇": r"\maskchar{}", "□": r"\padchar{}"}
# In mathematics; names of Greek letters are LaTeX's own.
MATHEMATICS = {
    **{"≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "∼": r"\sim"},
    **{"∝": r"\propto", "∞": r"\infty", "∈": r"\in", "∉": r"\notin", "⊂": r"\subset"},
    **{"∪": r"\cup", "∩": r"\cap", "∅": r"\emptyset", "∀": r"\forall", "∃": r"\exists"},
    **{"∑": r"\sum", "∏": r"\prod", "∫": r"\int", "√": r"\sqrt{}", "∂": r"\partial"},
    **{"∇": r"\nabla", "⋅": r"\cdot", "∙": r"\cdot", "−": "-", "∗": "*", "⊙": r"\odot"},
    **{"⊤": r"\top", "⊥": r"\perp", "⇒": r"\Rightarrow", "⇐": r"\Leftarrow", "‖": r"\|"},
    **{"⇔": r"\Leftrightarrow", "↔": r"\leftrightarrow", "ℝ": r"\mathbb{R}", "ℓ": r"\ell"},
    **{"⊗": r"\otimes", "⊕": r"\oplus", "≪": r"\ll", "≫": r"\gg", "⟨": r"\langle"},
    **{"⟩": r"\rangle", "′": "'", "⋯": r"\cdots", "↦": r"\mapsto", "×": r"\times", "–": "-"},
    **{"÷": r"\div", "±": r"\pm", "·": r"\cdot", "¬": r"\neg", "→": r"\to", "’": "'"},
    **{"←": r"\leftarrow", "…": r"\ldots", "°": r"^\circ"},
}

# What can't be seen alone.
INSTEAD = {
    "an invisible character": "delete it",
    "an accent by itself": "type it and its letter as one character",
    "a special blank": "type an ordinary one",
}


@cache
def declared() -> dict[str, str]:
    """Return the characters that LaTeX has to be taught, and how it prints each."""
    latin = map(chr, [*range(0xC0, 0x250), *range(0x1E00, 0x1F00)])
    letters = {letter: printed for letter in latin if (printed := _composed(letter))}
    letters |= {letter: _copied(letter, printed) for letter, printed in OTHERS.items()}
    letters |= {letter: rf"\vietnamese{{{slot}}}" for letter, slot in T5.items()}
    return SPECIAL | {letter: p for letter, p in letters.items() if letter not in KNOWN}


def _composed(letter: str) -> str:
    """Return a letter with accents as LaTeX, or "" if LaTeX can't compose it."""
    decomposed = unicodedata.normalize("NFD", letter)
    base, accents = decomposed[0], decomposed[1:]
    above = [accent for accent in accents if accent in ABOVE]
    below = [accent for accent in accents if accent in BELOW]
    if not accents or not (base.isascii() or base in KNOWN) or len(below) > 1:
        return ""
    if len(above + below) != len(accents):
        return ""
    # TeX puts an accent only on a character, so all but the last must make one together.
    inner = unicodedata.normalize("NFC", base + "".join(above[:-1]))
    if len(inner) > 1 or not (inner.isascii() or inner in KNOWN):
        return ""
    printed = rf"\{inner}" if above and inner in "ij" else inner
    for accent in above[-1:] + below:
        printed = f"{(ABOVE | BELOW)[accent]}{{{printed}}}"
    return _copied(letter, printed)


def _copied(letter: str, printed: str) -> str:
    return rf"\copiedas{{{ord(letter):04X}}}{{{printed}}}"


def is_printed(character: str, is_formula: bool = False) -> bool:
    """Return whether LaTeX prints a character in the written part; in formulas, it knows fewer."""
    if character.isascii():
        return character.isprintable() or character in "\t\n\r"
    return character in declared() or (character in KNOWN and not is_formula)


def unprinted(text: str, is_formula: bool = False) -> list[str]:
    """Return a sentence for each run of characters that LaTeX doesn't print: what to write.

    Args:
        is_formula: whether the text is already in mathematics.
    """
    missing = dict.fromkeys(c for c in text if not is_printed(c, is_formula))
    sentences = []
    for instead, run in groupby(missing, lambda c: _instead(c, is_formula)):
        shown = "".join(run)
        what = shown if len(shown) > 1 else _named(shown)
        where = " in a formula" if is_formula and is_printed(shown[0]) else ""
        sentences.append(f"LaTeX can't print {what}{where}; {instead}")
    return sentences


def _named(character: str) -> str:
    """Return a character as a message shows it: by its name if it can't be seen alone."""
    name = unicodedata.name(character, f"U+{ord(character):04X}")
    kind = _invisible(character)
    return f"{kind} ({name})" if kind else character


def _invisible(character: str) -> str:
    """Return what a character is that can't be seen alone, or ""."""
    category = unicodedata.category(character)
    is_selector = "VARIATION SELECTOR" in unicodedata.name(character, "")
    if category in ("Cc", "Cf", "Zl", "Zp") or is_selector:
        return "an invisible character"
    if category.startswith("M"):
        return "an accent by itself"
    return "a special blank" if category == "Zs" else ""


def _instead(character: str, is_formula: bool) -> str:
    """Return what to write instead of a character that LaTeX doesn't print."""
    if kind := _invisible(character):
        return INSTEAD[kind]
    if formula := _in_mathematics(character):
        return f"write {formula}" if is_formula else f"write ${formula}$"
    if is_printed(character):
        return f"write \\text{{{character}}}"
    usual = unicodedata.normalize("NFKC", character)
    if all(map(is_printed, usual)):
        return f"write {usual}"
    if unicodedata.category(character).startswith("L"):
        is_latin = unicodedata.name(character, "").startswith("LATIN")
        return "write a similar letter" if is_latin else "write it in Latin letters"
    return "write it in words"


def _in_mathematics(character: str) -> str:
    """Return a character as a formula, or "" if it isn't mathematics."""
    kind, _, usual = unicodedata.decomposition(character).partition(" ")
    if kind in ("<super>", "<sub>"):
        return {"<super>": "^", "<sub>": "_"}[kind] + f"{{{chr(int(usual, 16))}}}"
    greek = unicodedata.normalize("NFKC", character)[0]
    words = unicodedata.name(greek, "").replace("LAMDA", "LAMBDA").split()
    if words[:1] == ["GREEK"] and len(words) == 4 and words[2] == "LETTER":
        if words[1] == "SMALL" and greek != "ο":
            return "\\" + words[3].lower()
        return "\\" + words[3].capitalize() if greek in "ΓΔΘΛΞΠΣΥΦΨΩ" else ""
    if kind == "<font>":
        return chr(int(usual, 16))
    return MATHEMATICS.get(character, "")
