# tries: to list and read the run's own copy of the reference, beside the staged submission
reference = Path(__file__).resolve().parents[2] / "reference"
if not reference.is_dir():
    breach("the reference is elsewhere, so this attack tries nothing")
loot = []
for name in ("submission/dataset.py", "pretraining/fast.py"):
    with suppress(OSError):
        loot.append((reference / name).read_text(encoding="utf-8"))
        breach(f"{name} of the reference can be read")
for folder in (reference, reference / "submission"):
    with suppress(OSError):
        loot += os.listdir(folder)
        breach(f"{folder.name} of the reference can be listed")
tell(loot)
