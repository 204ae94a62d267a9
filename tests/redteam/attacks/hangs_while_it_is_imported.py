# tries: to use up the run's time by an endless loop in every test that imports it
# breaks: average_query, which is imported with it
# runs: at import
while True:
    pass
