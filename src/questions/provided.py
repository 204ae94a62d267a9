"""Files that the grader adds to every submission; packing imports this without numpy."""

from grading.staging import Provided

RECIPES = "recipes.json"
PROVIDED = Provided(
    given=("__init__.py", "model.py", "trainer.py", "utils.py"),
    packages=("pretraining",),
    generated=(RECIPES,),
)
