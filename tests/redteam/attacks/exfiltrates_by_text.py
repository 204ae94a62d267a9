# tries: to carry hidden inputs out in an exception's text, prints and warnings
import warnings

text = f"PWNED {keys.ravel()[:8].tolist()}"
print(text)
print(text, file=sys.stderr)
os.write(1, text.encode())
os.write(2, text.encode())
warnings.warn(text, stacklevel=1)
raise KeyError(text)
