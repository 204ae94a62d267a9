"""The assignment's questions, a folder for each topic.

    TOPIC/tests.py    the tests' inputs, and the assertions of basic tests
    TOPIC/probe.py    runs the submission's code in a worker, and judges nothing
    TOPIC/...         at most one helper, such as the mathematics with which answers are compared
    shared/           helpers of several topics
    course.py, provided.py: this assignment, as the harness needs to know it

The harness, grading/, finds these folders by itself and imports none of them by name. The
assertions of hidden tests are in staff's solutions/hidden/, in a module named after the topic.
Numbers, points and time limits are in assignment.toml. `python grader.py --where 1e-0-basic`
prints which lines decide a test.
"""
