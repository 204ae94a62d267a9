# tries: to blow up the results file and the terminal with one long field
send(report("PWNED" * 600_000))
