"""Grading on Gradescope: its folders and metadata in, its results.json out.

    python src/grader.py --gradescope /autograder        what run_autograder calls

    session.py     a run, from the upload to results.json
    document.py    results.json, by the documented format, checked against results.schema.json
    feedback.py    what a student reads about a test
    metadata.py    submission_metadata.json

The contract is gradescope-autograders.readthedocs.io, "Autograder Specifications".
"""
