# tries: compiled files that later tests would prefer to the sources
import py_compile

with open("right.py", "w", encoding="utf-8") as source:
    source.write("def copying_query(keys, j):\n    return 100.0 * keys[j]\n")
for folder in (PACKAGE, str(TREE / "src" / "grading"), os.path.dirname(np.__file__)):
    with suppress(OSError, py_compile.PyCompileError):
        os.makedirs(f"{folder}/__pycache__", exist_ok=True)
        target = f"{folder}/__pycache__/attention_exploration.cpython-311.pyc"
        py_compile.compile("right.py", target, doraise=True)
