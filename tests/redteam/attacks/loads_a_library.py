# tries: native code of its own, which no Python guard sees
source = '#include <unistd.h>\nint f(void) { return write(4, "PWNED", 5); }\n'
with open("f.c", "w", encoding="utf-8") as writer:
    writer.write(source)
subprocess.run(["gcc", "-shared", "-fPIC", "f.c", "-o", "f.so"], check=True, timeout=2)
ctypes.CDLL("./f.so").f()
os._exit(0)
