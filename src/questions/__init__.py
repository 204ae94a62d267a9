"""The assignment's questions, a folder for each topic.

    TOPIC/tests*.py   what is asked, and what basic tests assert
    TOPIC/probe.py    what runs in a worker, with the submission's code; it judges nothing
    TOPIC/...         what only this topic needs: how its code is called, how its answers are read
    shared/           what several topics use
    course.py, provided.py, leaderboard.py: what the harness is told of this assignment

The harness, grading/, finds these folders by itself and imports none of them by name. What hidden
tests assert stands in staff's solutions/hidden/, in a module that has the topic's name. Numbers,
points and time limits are in assignment.toml. `python grader.py --where 1e-0-basic` says which
lines decide a test.
"""
