# tries: to pass off a crash as code that isn't written yet, with inputs in its text
raise NotImplementedError(f"PWNED {keys.tolist()}")
